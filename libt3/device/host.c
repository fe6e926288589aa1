// SPDX-License-Identifier: MIT
/* The host of libt3: the process, the clock, and whether QEMU emulates the processor. */
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/device.h"

#if defined(__x86_64__) || defined(__i386__)
bool t3_cpu_emulated(void)
{
	const unsigned int leaf = 0x40000000, hypervisor = 1u << 31;
	unsigned int eax, ebx, ecx, edx;
	char name[12];

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & hypervisor))
		return false;
	__cpuid(leaf, eax, ebx, ecx, edx);
	memcpy(name, &ebx, 4);
	memcpy(name + 4, &ecx, 4);
	memcpy(name + 8, &edx, 4);
	return !memcmp(name, "TCGTCGTCGTCG", sizeof(name));
}
#else
bool t3_cpu_emulated(void)
{
	return false;
}
#endif

bool t3_is_maker(pid_t maker)
{
	return getpid() == maker;
}

int64_t t3_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

int64_t t3_deadline(uint64_t timeout_ns)
{
	int64_t now = t3_now_ns();

	return timeout_ns > (uint64_t)(INT64_MAX - now) ? INT64_MAX : now + (int64_t)timeout_ns;
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# valgrind 3.19.0 of Debian 12 (valgrind=1:3.19.0-1): the frame that a SIGSEGV handler is given
# holds no vector register. Its fpregs is not NULL, but XMM0 there is whatever the program had
# left on that piece of stack. The option that valgrind's manual names for such handlers,
# --vex-iropt-register-updates=allregs-at-mem-access, repairs general registers alone.
#
# Seen, of a handler that reads RAX and XMM0 at a store of them to a page without access:
#     alone:                        rax 1122334455667788, xmm0 8877665544332211
#     valgrind:                     rax 5a5a5a5a5a5a5a5a, xmm0 5a5a5a5a5a5a5a5a
#     valgrind, with this option:   rax 1122334455667788, xmm0 5a5a5a5a5a5a5a5a
# Before the stores, RAX and the stack held 5a in each byte. memcheck reports the two stores, and
# no use of undefined bytes. So a program that emulates stores by the frame's registers stores
# other values under valgrind, and nothing says so. valgrind 3.24.0 of Debian 13 does the same.
#
# The package is unpacked below a temporary folder, by the sources of this machine's apt, which
# must have Debian 12's. It needs gcc, libc6-dbg (for memcheck) and no root.
set -euo pipefail

VERSION=1:3.19.0-1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

(cd "$place" && apt-get -qq download "valgrind=$VERSION" 2>/dev/null && dpkg -x valgrind_*.deb root)
cat >"$place/frame.c" <<'C'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STALE 0x5a5a5a5a5a5a5a5aul

static volatile uint64_t rax, xmm0;
static sigjmp_buf back;

/* The handler leaves by a jump: after a return, valgrind goes on with the frame's registers. */
static void on_fault(int sig, siginfo_t *info, void *arg)
{
	const ucontext_t *context = arg;
	uint64_t low;

	(void)sig;
	(void)info;
	rax = (uint64_t)context->uc_mcontext.gregs[REG_RAX];
	memcpy(&low, &context->uc_mcontext.fpregs->_xmm[0], sizeof(low));
	xmm0 = low;
	siglongjmp(back, 1);
}

/* Leave known bytes on the stack, where the frame will be. */
__attribute__((noinline)) static void fill_stack(void)
{
	uint64_t words[8192];

	for (int i = 0; i < 8192; i++)
		words[i] = STALE;
	__asm__ volatile("" ::"r"(words) : "memory");
}

/* The jump ends the piece of code that valgrind translates at once. */
static void store_general(void *page)
{
	__asm__ volatile("movq %1, %%rax\n\t"
			 "leaq 1f(%%rip), %%rcx\n\t"
			 "jmp *%%rcx\n"
			 "1:\tmovq %2, %%rax\n\t"
			 "movq %%rax, (%0)\n\t"
			 "xorl %%eax, %%eax" ::"r"(page),
			 "r"(STALE), "r"(0x1122334455667788ul)
			 : "rax", "rcx", "cc", "memory");
}

static void store_vector(void *page)
{
	__asm__ volatile("movq %1, %%xmm0\n\t"
			 "movq %%xmm0, (%0)\n\t"
			 "pxor %%xmm0, %%xmm0" ::"r"(page),
			 "r"(0x8877665544332211ul)
			 : "xmm0", "memory");
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t general;

	if (page == MAP_FAILED || sigaction(SIGSEGV, &action, NULL))
		return 1;
	fill_stack();
	if (!sigsetjmp(back, 1))
		store_general(page);
	general = rax;
	fill_stack();
	if (!sigsetjmp(back, 1))
		store_vector(page);
	printf("rax %lx, xmm0 %lx\n", general, xmm0);
	return 0;
}
C
gcc -O1 -Wall -Wextra -Werror -o "$place/frame" "$place/frame.c"

export VALGRIND_LIB=$place/root/usr/libexec/valgrind
valgrind=$place/root/usr/bin/valgrind.bin
precise=--vex-iropt-register-updates=allregs-at-mem-access

expect() {
	echo "$1: $3"
	[ "$2" = "$3" ] || { echo "expected: $2" >&2 && exit 1; }
}

"$valgrind" --version
expect alone "rax 1122334455667788, xmm0 8877665544332211" "$("$place/frame")"
expect valgrind "rax 5a5a5a5a5a5a5a5a, xmm0 5a5a5a5a5a5a5a5a" \
	"$("$valgrind" -q --tool=none "$place/frame")"
expect "$precise" "rax 1122334455667788, xmm0 5a5a5a5a5a5a5a5a" \
	"$("$valgrind" -q --tool=none "$precise" "$place/frame")"
reports=$("$valgrind" -q "$precise" "$place/frame" 2>&1 | sed -n 's/^==[0-9]*== \([A-Z]\)/\1/p' |
	sort | uniq -c | sed 's/^ *//')
expect "memcheck's reports" "2 Invalid write of size 8" "$reports"

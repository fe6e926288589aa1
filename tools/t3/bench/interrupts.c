// SPDX-License-Identifier: MIT
/* Sets /proc/irq/N/smp_affinity_list for a device's messages. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/interrupts.h"

static FILE *affinity(unsigned int number, const char *mode)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/irq/%u/smp_affinity_list", number);
	return fopen(path, mode);
}

static void set(unsigned int number, const char *cpus)
{
	FILE *file = affinity(number, "we");

	if (!file)
		return;
	fputs(cpus, file);
	fclose(file);
}

static void move(struct bench_interrupts *irqs, unsigned int number, const char *cpus)
{
	char *before = irqs->before[irqs->count];
	FILE *file = affinity(number, "re");

	if (!file)
		return;
	if (fgets(before, sizeof(irqs->before[0]), file)) {
		irqs->number[irqs->count++] = number;
		set(number, cpus);
	}
	fclose(file);
}

void bench_interrupts_to(struct bench_interrupts *irqs, const char *bdf, unsigned int cpu)
{
	char path[128], cpus[16];
	struct dirent *entry;
	DIR *directory;

	memset(irqs, 0, sizeof(*irqs));
	snprintf(cpus, sizeof(cpus), "%u\n", cpu);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/msi_irqs", bdf);
	directory = opendir(path);
	if (!directory)
		return;
	while (irqs->count < BENCH_VECTORS && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			move(irqs, (unsigned int)strtoul(entry->d_name, NULL, 10), cpus);
	closedir(directory);
}

void bench_interrupts_back(const struct bench_interrupts *irqs)
{
	unsigned int i;

	for (i = 0; i < irqs->count; i++)
		set(irqs->number[i], irqs->before[i]);
}

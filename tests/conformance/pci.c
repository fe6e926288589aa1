// SPDX-License-Identifier: MIT
/* Finds T3 functions in sysfs, and binds them to vfio-pci on request. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

#define SYSFS "/sys/bus/pci/devices"

static unsigned long read_number(const char *bdf, const char *name)
{
	char path[64 + sizeof(SYSFS)], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), SYSFS "/%.15s/%s", bdf, name);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return strtoul(text, NULL, 0);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

const char conf_way[] =
	"Needs root, an IOMMU with interrupt remapping, and the modules vfio-pci and\n"
	"vfio_iommu_type1. Functions are each 1234:7433. They are reset, and whatever used them\n"
	"loses its state.\n";

unsigned conf_find(char (*bdfs)[16], unsigned limit)
{
	DIR *dir = opendir(SYSFS);
	struct dirent *entry;
	unsigned count = 0;

	while (dir && count < limit && (entry = readdir(dir))) {
		if (strlen(entry->d_name) >= sizeof(*bdfs) ||
		    read_number(entry->d_name, "vendor") != T3_PCI_VENDOR_ID ||
		    read_number(entry->d_name, "device") != T3_PCI_DEVICE_ID)
			continue;
		strcpy(bdfs[count++], entry->d_name);
	}
	if (dir)
		closedir(dir);
	qsort(bdfs, count, sizeof(*bdfs), by_name);
	return count;
}

/* The last component of a link of the function, or "" where there is none. */
static void read_link(const char *bdf, const char *name, char *text, size_t bytes)
{
	char path[64 + sizeof(SYSFS)], target[256];
	const char *slash;
	ssize_t length;

	snprintf(path, sizeof(path), SYSFS "/%.15s/%s", bdf, name);
	length = readlink(path, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	slash = strrchr(target, '/');
	snprintf(text, bytes, "%s", slash ? slash + 1 : "");
}

static int write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	int status;

	if (!file)
		return -1;
	status = fputs(text, file) < 0 ? -1 : 0;
	return fclose(file) ? -1 : status;
}

int conf_bind(const char *bdf)
{
	char path[64 + sizeof(SYSFS)], driver[64];

	read_link(bdf, "driver", driver, sizeof(driver));
	if (!strcmp(driver, "vfio-pci"))
		return 0;
	snprintf(path, sizeof(path), SYSFS "/%.15s/driver_override", bdf);
	if (write_text(path, "vfio-pci"))
		goto failed;
	snprintf(path, sizeof(path), SYSFS "/%.15s/driver/unbind", bdf);
	if (driver[0] && write_text(path, bdf))
		goto failed;
	if (!write_text("/sys/bus/pci/drivers_probe", bdf))
		return 0;
failed:
	fprintf(stderr, "t3-conformance: %s: cannot bind it to vfio-pci: %s\n", bdf,
		strerror(errno));
	return -1;
}

int conf_group(const char *bdf)
{
	char driver[64], group[64];

	read_link(bdf, "driver", driver, sizeof(driver));
	read_link(bdf, "iommu_group", group, sizeof(group));
	if (!strcmp(driver, "vfio-pci") && group[0])
		return atoi(group);
	if (read_number(bdf, "vendor") == 0)
		fprintf(stderr, "t3-conformance: no PCI function %s\n", bdf);
	else if (!group[0])
		fprintf(stderr, "t3-conformance: %s: it has no IOMMU, and VFIO needs one\n", bdf);
	else
		fprintf(stderr,
			"t3-conformance: %s: its driver is %s, not vfio-pci; --bind binds it\n",
			bdf, driver[0] ? driver : "none");
	return -1;
}

// SPDX-License-Identifier: MIT
/* Find T3 functions with libpci and their accel nodes in sysfs. */
#include <dirent.h>
#include <pci/pci.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"

#define T3_PCI_VENDOR 0x1234
#define T3_PCI_DEVICE 0x7433
#define T3_PCI_CLASS  0x1200 /* processing accelerator */
#define SYSFS_DEVICES "/sys/bus/pci/devices"
#define SCAN_RETRIES  3

struct t3_device_list {
	size_t count;
	struct t3_device_entry *entry;
};

/*
 * libpci's error callback must not return, gets no context, and by default ends the process, for
 * instance when a device is removed during the scan. So a scan keeps its jump buffer in
 * thread-local storage.
 */
static _Thread_local jmp_buf *scan_exit;

__attribute__((noreturn)) static void scan_error(char *msg, ...)
{
	(void)msg;
	longjmp(*scan_exit, 1);
}

static void scan_quiet(char *msg, ...)
{
	(void)msg;
}

/* Find the node of a function: the one entry accelN of its accel directory. */
static void find_node(struct t3_device_entry *entry)
{
	char path[sizeof(SYSFS_DEVICES) + sizeof(entry->bdf) + 8];
	struct dirent *ent;
	unsigned int minor;
	char tail;
	DIR *dir;

	snprintf(path, sizeof(path), SYSFS_DEVICES "/%s/accel", entry->bdf);
	dir = opendir(path);
	if (!dir)
		return;
	while ((ent = readdir(dir))) {
		if (sscanf(ent->d_name, "accel%u%c", &minor, &tail) != 1)
			continue;
		snprintf(entry->node, sizeof(entry->node), "/dev/accel/accel%u", minor);
		break;
	}
	closedir(dir);
}

static int collect(struct pci_access *pci, struct t3_device_list *list)
{
	struct t3_device_entry *entry;
	struct pci_dev *dev;

	pci_init(pci);
	pci_scan_bus(pci);
	for (dev = pci->devices; dev; dev = dev->next) {
		pci_fill_info(dev, PCI_FILL_IDENT | PCI_FILL_CLASS);
		if (dev->vendor_id != T3_PCI_VENDOR || dev->device_id != T3_PCI_DEVICE ||
		    dev->device_class != T3_PCI_CLASS)
			continue;
		entry = realloc(list->entry, (list->count + 1) * sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		list->entry = entry;
		entry += list->count++;
		memset(entry, 0, sizeof(*entry));
		snprintf(entry->bdf, sizeof(entry->bdf), "%04x:%02x:%02x.%u",
			 (unsigned int)dev->domain, dev->bus, dev->dev, dev->func & 7u);
	}
	return 0;
}

static int scan(struct t3_device_list *list)
{
	struct pci_access *pci = pci_alloc();
	jmp_buf env;
	int ret;

	if (!pci)
		return -ENOMEM;
	pci->method = PCI_ACCESS_SYS_BUS_PCI;
	pci->error = scan_error;
	pci->warning = scan_quiet;
	pci->debug = scan_quiet;
	scan_exit = &env;
	if (setjmp(env))
		ret = -EAGAIN;
	else
		ret = collect(pci, list);
	scan_exit = NULL;
	/* After an error libpci's state is unknown. A small leak is better than a crash. */
	if (ret != -EAGAIN)
		pci_cleanup(pci);
	return ret;
}

static int by_address(const void *a, const void *b)
{
	const struct t3_device_entry *x = a, *y = b;
	unsigned int p[4], q[4];
	int i;

	sscanf(x->bdf, "%x:%x:%x.%x", &p[0], &p[1], &p[2], &p[3]);
	sscanf(y->bdf, "%x:%x:%x.%x", &q[0], &q[1], &q[2], &q[3]);
	for (i = 0; i < 3 && p[i] == q[i]; i++)
		;
	return (p[i] > q[i]) - (p[i] < q[i]);
}

static void list_clear(struct t3_device_list *list)
{
	free(list->entry);
	list->entry = NULL;
	list->count = 0;
}

int t3_device_list(struct t3_device_list **out)
{
	struct t3_device_list *list;
	int ret, i;

	if (!out)
		return -EINVAL;
	if (access(SYSFS_DEVICES, R_OK | X_OK))
		return -ENOSYS;
	list = calloc(1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (i = 0; i < SCAN_RETRIES; i++) {
		ret = scan(list);
		if (ret != -EAGAIN)
			break;
		list_clear(list);
	}
	if (ret) {
		t3_device_list_free(list);
		return ret;
	}
	for (size_t entry = 0; entry < list->count; entry++)
		find_node(&list->entry[entry]);
	if (list->count)
		qsort(list->entry, list->count, sizeof(*list->entry), by_address);
	*out = list;
	return 0;
}

void t3_device_list_free(struct t3_device_list *list)
{
	if (!list)
		return;
	list_clear(list);
	free(list);
}

size_t t3_device_list_count(const struct t3_device_list *list)
{
	return list ? list->count : 0;
}

const struct t3_device_entry *t3_device_list_get(const struct t3_device_list *list, size_t index)
{
	return list && index < list->count ? &list->entry[index] : NULL;
}

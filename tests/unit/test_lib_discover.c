// SPDX-License-Identifier: MIT
/*
 * libt3: which functions of a bus are T3 devices, in which order, and their nodes. This file stands
 * for libpci and for sysfs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <pci/pci.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "t3.h"
#include "test.h"

#define FUNCTIONS 8u

/* ------------------------------------------------------------------- the host */

static struct host {
	struct pci_dev dev[FUNCTIONS]; /* vendor, device and class are told by pci_fill_info() */
	uint16_t vendor[FUNCTIONS], device[FUNCTIONS], class[FUNCTIONS];
	uint32_t count;
	uint32_t removals; /* scans in which a device goes away */
	uint32_t scans, cleanups;
	bool no_memory, no_sysfs;
	const char *folder;   /* that has entries: the accel directory of a function */
	const char *names[5]; /* the entries, up to a NULL */
	uint32_t next, closed;
} host;

static struct pci_access libpci;

struct pci_access *pci_alloc(void)
{
	memset(&libpci, 0, sizeof(libpci));
	return host.no_memory ? NULL : &libpci;
}

void pci_init(struct pci_access *pci)
{
	assert_int_equal(pci->method, PCI_ACCESS_SYS_BUS_PCI);
	pci->debug((char *)"debug");
	pci->warning((char *)"warning");
}

void pci_scan_bus(struct pci_access *pci)
{
	uint32_t i;

	host.scans++;
	for (i = 0; i < host.count; i++) {
		host.dev[i].next = pci->devices;
		host.dev[i].vendor_id = host.dev[i].device_id = host.dev[i].device_class = 0;
		pci->devices = &host.dev[i];
	}
}

int pci_fill_info(struct pci_dev *dev, int flags)
{
	uint32_t i = (uint32_t)(dev - host.dev);

	if (i == 0 && host.removals) {
		host.removals--;
		libpci.error((char *)"cannot open %s", "config");
	}
	if (flags & PCI_FILL_IDENT) {
		dev->vendor_id = host.vendor[i];
		dev->device_id = host.device[i];
	}
	if (flags & PCI_FILL_CLASS)
		dev->device_class = host.class[i];
	return flags;
}

void pci_cleanup(struct pci_access *pci)
{
	assert_ptr_equal(pci, &libpci);
	host.cleanups++;
}

int access(const char *path, int mode)
{
	assert_string_equal(path, "/sys/bus/pci/devices");
	assert_int_equal(mode, R_OK | X_OK);
	return host.no_sysfs ? -1 : 0;
}

DIR *opendir(const char *path)
{
	return host.folder && !strcmp(path, host.folder) ? (DIR *)&host : NULL;
}

struct dirent *readdir(DIR *dir)
{
	static struct dirent ent;

	assert_ptr_equal(dir, &host);
	if (!host.names[host.next])
		return NULL;
	strcpy(ent.d_name, host.names[host.next++]);
	return &ent;
}

int closedir(DIR *dir)
{
	assert_ptr_equal(dir, &host);
	host.closed++;
	return 0;
}

static struct pci_dev *add(int domain, uint8_t bus, uint8_t dev, uint8_t func)
{
	uint32_t i = host.count++;

	host.dev[i].domain = domain;
	host.dev[i].bus = bus;
	host.dev[i].dev = dev;
	host.dev[i].func = func;
	host.vendor[i] = 0x1234;
	host.device[i] = 0x7433;
	host.class[i] = 0x1200;
	return &host.dev[i];
}

static int start(void)
{
	memset(&host, 0, sizeof(host));
	return 0;
}

/* ---------------------------------------------------------------------- tests */

static struct t3_device_list *list;

static void expect(size_t i, const char *bdf, const char *node)
{
	const struct t3_device_entry *entry = t3_device_list_get(list, i);

	assert_non_null(entry);
	assert_string_equal(entry->bdf, bdf);
	assert_string_equal(entry->node, node);
}

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, NULL)

TEST("functions are in the order of their addresses")
{
	add(0, 0x10, 0, 0);
	add(0, 9, 0x1f, 7);
	add(0, 9, 0x1f, 6);
	add(0, 9, 3, 7);
	add(1, 0, 0, 0);
	add(0, 0xa, 0, 0);
	assert_int_equal(t3_device_list(&list), 0);
	assert_int_equal(t3_device_list_count(list), 6);
	expect(0, "0000:09:03.7", "");
	expect(1, "0000:09:1f.6", "");
	expect(2, "0000:09:1f.7", "");
	expect(3, "0000:0a:00.0", "");
	expect(4, "0000:10:00.0", "");
	expect(5, "0001:00:00.0", "");
	assert_null(t3_device_list_get(list, 6));
	assert_int_equal(host.cleanups, 1);
	t3_device_list_free(list);
}

TEST("other functions are left out")
{
	host.vendor[add(0, 1, 0, 0) - host.dev] = 0x1235;
	host.device[add(0, 2, 0, 0) - host.dev] = 0x7434;
	host.class[add(0, 3, 0, 0) - host.dev] = 0x0300;
	assert_int_equal(t3_device_list(&list), 0);
	assert_int_equal(t3_device_list_count(list), 0);
	assert_null(t3_device_list_get(list, 0));
	t3_device_list_free(list);
	add(0, 4, 0, 0);
	assert_int_equal(t3_device_list(&list), 0);
	assert_int_equal(t3_device_list_count(list), 1);
	expect(0, "0000:04:00.0", "");
	t3_device_list_free(list);
}

TEST("a node is named by its minor")
{
	add(0, 4, 0, 1);
	add(0, 4, 0, 2);
	host.folder = "/sys/bus/pci/devices/0000:04:00.2/accel";
	host.names[0] = "..";
	host.names[1] = "accel7x";
	host.names[2] = "accel12";
	host.names[3] = "accel13";
	assert_int_equal(t3_device_list(&list), 0);
	expect(0, "0000:04:00.1", "");
	expect(1, "0000:04:00.2", "/dev/accel/accel12");
	assert_int_equal(host.closed, 1);
	t3_device_list_free(list);
	host.next = 0;
	host.names[2] = NULL;
	assert_int_equal(t3_device_list(&list), 0);
	expect(1, "0000:04:00.2", "");
	t3_device_list_free(list);
}

/* Each scan begins anew. What libpci has after an error is left alone. */
TEST("a scan is made again when a device goes")
{
	add(0, 1, 0, 0);
	add(0, 2, 0, 0);
	host.removals = 2;
	assert_int_equal(t3_device_list(&list), 0);
	assert_int_equal(t3_device_list_count(list), 2);
	assert_int_equal(host.scans, 3);
	assert_int_equal(host.cleanups, 1);
	t3_device_list_free(list);
	list = NULL;
	host.removals = 3;
	assert_int_equal(t3_device_list(&list), -EAGAIN);
	assert_null(list);
	assert_int_equal(host.scans, 6);
	assert_int_equal(host.cleanups, 1);
	assert_int_equal(host.removals, 0);
}

TEST("a missing argument, memory or sysfs is an error")
{
	list = NULL;
	assert_int_equal(t3_device_list(NULL), -EINVAL);
	host.no_memory = true;
	assert_int_equal(t3_device_list(&list), -ENOMEM);
	host.no_sysfs = true;
	assert_int_equal(t3_device_list(&list), -ENOSYS);
	assert_null(list);
	assert_int_equal(t3_device_list_count(NULL), 0);
	assert_null(t3_device_list_get(NULL, 0));
	t3_device_list_free(NULL);
}

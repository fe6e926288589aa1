// SPDX-License-Identifier: MIT
/* Devices and their memory by VFIO, with one type-1 container for all groups. */
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run.h"

#define PCI_COMMAND	   0x04u
#define PCI_COMMAND_MEMORY 0x2u
#define PCI_COMMAND_MASTER 0x4u

static int complain(const char *what, const char *whom)
{
	fprintf(stderr, "t3-conformance: %s: %s: %s\n", whom, what, strerror(errno));
	return -1;
}

/* ------------------------------------------------------------------ regions */

int conf_region(struct conf_device *d, unsigned index, volatile uint8_t **base, uint64_t *bytes,
		uint64_t *offset)
{
	struct vfio_region_info info = { .argsz = sizeof(info), .index = index };

	if (ioctl(d->fd, VFIO_DEVICE_GET_REGION_INFO, &info) < 0)
		return complain("VFIO_DEVICE_GET_REGION_INFO", d->bdf);
	*bytes = info.size;
	*offset = info.offset;
	if (!base)
		return 0;
	if (!info.size || !(info.flags & VFIO_REGION_INFO_FLAG_MMAP)) {
		fprintf(stderr, "t3-conformance: %s: BAR%u cannot be mapped\n", d->bdf, index);
		return -1;
	}
	*base = mmap(NULL, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd,
		     (off_t)info.offset);
	return *base == MAP_FAILED ? complain("cannot map a BAR", d->bdf) : 0;
}

static int map_regions(struct conf_device *d)
{
	uint64_t offset;

	if (conf_region(d, T3_BAR_REGS, &d->regs, &d->regs_bytes, &offset) ||
	    conf_region(d, T3_BAR_MEMORY, &d->memory, &d->memory_bytes, &offset) ||
	    conf_region(d, T3_BAR_APERTURE, &d->aperture, &d->aperture_bytes, &offset))
		return -1;
	return 0;
}

/* ----------------------------------------------------------------- accesses */

uint64_t conf_read(const volatile uint8_t *base, uint64_t offset, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return base[offset];
	case 2:
		return *(const volatile uint16_t *)(base + offset);
	case 4:
		return *(const volatile uint32_t *)(base + offset);
	default:
		return *(const volatile uint64_t *)(base + offset);
	}
}

void conf_write(volatile uint8_t *base, uint64_t offset, unsigned bytes, uint64_t value)
{
	switch (bytes) {
	case 1:
		base[offset] = (uint8_t)value;
		break;
	case 2:
		*(volatile uint16_t *)(base + offset) = (uint16_t)value;
		break;
	case 4:
		*(volatile uint32_t *)(base + offset) = (uint32_t)value;
		break;
	default:
		*(volatile uint64_t *)(base + offset) = value;
		break;
	}
}

void conf_get(const volatile uint8_t *base, void *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)to)[i] = base[i];
}

void conf_put(volatile uint8_t *base, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		base[i] = ((const uint8_t *)from)[i];
}

void conf_idle(void)
{
	usleep(100);
}

/* ------------------------------------------------------------ configuration */

uint32_t conf_config(struct conf *c, struct conf_device *d, uint32_t offset, unsigned bytes)
{
	uint32_t value = 0;

	/* Configuration space is little-endian, and so is the host: see main(). */
	CHECK(c, pread(d->fd, &value, bytes, (off_t)(d->config_offset + offset)) == (ssize_t)bytes,
	      "cannot read configuration space at 0x%x: %s", offset, strerror(errno));
	return value;
}

void conf_config_write(struct conf *c, struct conf_device *d, uint32_t offset, unsigned bytes,
		       uint32_t value)
{
	CHECK(c, pwrite(d->fd, &value, bytes, (off_t)(d->config_offset + offset)) == (ssize_t)bytes,
	      "cannot write configuration space at 0x%x: %s", offset, strerror(errno));
}

void conf_bus_master(struct conf *c, struct conf_device *d, bool on)
{
	uint32_t command = conf_config(c, d, PCI_COMMAND, 2);

	command = on ? command | PCI_COMMAND_MASTER : command & ~PCI_COMMAND_MASTER;
	conf_config_write(c, d, PCI_COMMAND, 2, command | PCI_COMMAND_MEMORY);
}

void conf_flr(struct conf *c, struct conf_device *d)
{
	d->late = true;
	CHECK(c, !ioctl(d->fd, VFIO_DEVICE_RESET), "VFIO_DEVICE_RESET: %s", strerror(errno));
}

/* --------------------------------------------------------- groups, container */

static int open_group(struct conf *c, const char *bdf, int group)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/vfio/%d", group);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return complain("cannot open its VFIO group", bdf);
	if (ioctl(fd, VFIO_GROUP_GET_STATUS, &status) < 0 ||
	    !(status.flags & VFIO_GROUP_FLAGS_VIABLE)) {
		fprintf(stderr, "t3-conformance: %s: its group has other users\n", bdf);
		close(fd);
		return -1;
	}
	if (ioctl(fd, VFIO_GROUP_SET_CONTAINER, &c->container) < 0) {
		complain("VFIO_GROUP_SET_CONTAINER", bdf);
		close(fd);
		return -1;
	}
	return fd;
}

/* A group is opened once, however many devices it has. */
static int group_of(struct conf *c, struct conf_device *d, const int *groups, unsigned index)
{
	for (unsigned i = 0; i < index; i++)
		if (groups[i] == groups[index])
			return c->device[i].group_fd;
	return open_group(c, d->bdf, groups[index]);
}

static int open_device(struct conf_device *d)
{
	struct vfio_device_info info = { .argsz = sizeof(info) };
	uint64_t bytes;

	d->fd = ioctl(d->group_fd, VFIO_GROUP_GET_DEVICE_FD, d->bdf);
	if (d->fd < 0)
		return complain("VFIO_GROUP_GET_DEVICE_FD", d->bdf);
	if (ioctl(d->fd, VFIO_DEVICE_GET_INFO, &info) < 0)
		return complain("VFIO_DEVICE_GET_INFO", d->bdf);
	if (!(info.flags & VFIO_DEVICE_FLAGS_RESET)) {
		fprintf(stderr, "t3-conformance: %s: it cannot be reset\n", d->bdf);
		return -1;
	}
	return conf_region(d, VFIO_PCI_CONFIG_REGION_INDEX, NULL, &bytes, &d->config_offset);
}

static int enable_device(struct conf_device *d)
{
	uint16_t command = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;

	if (ioctl(d->fd, VFIO_DEVICE_RESET) < 0)
		return complain("VFIO_DEVICE_RESET", d->bdf);
	if (pwrite(d->fd, &command, 2, (off_t)(d->config_offset + PCI_COMMAND)) != 2)
		return complain("cannot enable it", d->bdf);
	return map_regions(d);
}

/* ------------------------------------------------------------- host memory */

size_t conf_page_stride(void)
{
	long host = sysconf(_SC_PAGESIZE);

	return host > (long)T3_PAGE_SIZE ? (size_t)host : T3_PAGE_SIZE;
}

uint8_t *conf_pages_at(uint64_t iova, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)iova;
	return at == MAP_FAILED ? NULL : at;
}

int conf_page_map(struct conf *c, unsigned page)
{
	struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map),
		.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.vaddr = (uintptr_t)conf_page_memory(c, page),
		.iova = conf_page_iova(page),
		.size = conf_page_stride(),
	};

	return ioctl(c->container, VFIO_IOMMU_MAP_DMA, &map);
}

int conf_page_unmap(struct conf *c, unsigned page)
{
	struct vfio_iommu_type1_dma_unmap unmap = { .argsz = sizeof(unmap),
						    .iova = conf_page_iova(page),
						    .size = conf_page_stride() };

	return ioctl(c->container, VFIO_IOMMU_UNMAP_DMA, &unmap);
}

/* -------------------------------------------------------------------- all */

static int open_container(struct conf *c)
{
	c->container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
	if (c->container < 0)
		return complain("no VFIO here; is vfio-pci loaded, and is this root?",
				"/dev/vfio/vfio");
	if (ioctl(c->container, VFIO_GET_API_VERSION) == VFIO_API_VERSION &&
	    ioctl(c->container, VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) > 0)
		return 0;
	fprintf(stderr, "t3-conformance: VFIO has no type 1 IOMMU: load vfio_iommu_type1\n");
	return -1;
}

int conf_open(struct conf *c, char *const *bdfs, unsigned count)
{
	int groups[T3_MAX_RANKS];

	if (open_container(c))
		return -1;
	for (unsigned i = 0; i < count; i++) {
		struct conf_device *d = &c->device[i];

		snprintf(d->bdf, sizeof(d->bdf), "%s", bdfs[i]);
		groups[i] = conf_group(d->bdf);
		if (groups[i] < 0)
			return -1;
		d->group_fd = group_of(c, d, groups, i);
		if (d->group_fd < 0)
			return -1;
		c->count = i + 1;
		if (i == 0 && ioctl(c->container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) < 0)
			return complain("VFIO_SET_IOMMU", d->bdf);
		if (open_device(d) || enable_device(d) || conf_identify(d) || conf_irq_open(d))
			return -1;
	}
	conf_order(c);
	return conf_pages_open(c);
}

/* The end of the process closes the files. The functions stay as a reset leaves them. */
void conf_close(struct conf *c)
{
	conf_inject_clear(c);
	for (unsigned i = 0; i < c->count; i++) {
		conf_irq_close(&c->device[i]);
		if (ioctl(c->device[i].fd, VFIO_DEVICE_RESET) < 0)
			complain("VFIO_DEVICE_RESET", c->device[i].bdf);
	}
}

/* VFIO shows no more than accesses, interrupts and memory. */
const struct conf_extra conf_extra = { NULL };

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The devices in a QEMU without a guest: this program makes the accesses by QEMU's qtest protocol.
 * There is all that a guest would see, but no IOMMU. T3_TEST_THREAD in the environment gives the
 * fabric a thread of its own, which an IOMMU would exclude. With T3_TOPOLOGY=switch the four devices
 * are on a switch and not on a ring.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include "hw/pci/pci_regs.h"
#include "qemu/atomic.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "tests/qtest/libqtest.h"

#include "../run.h"

#define RING	    4u
#define DEVICES	    (RING + 1)
#define FIRST_SLOT  4u
#define MEMORY	    0x10000000u
#define APERTURE    0x10000000u
#define RAM	    0x20000000u /* the guest's, which this process shares; pages.c's in its second half */
#define MESSAGES    0x4000000u /* where MSI-X messages are written: a word for each vector */
#define REGS_BASE   0xc0000000ull
#define REGS_WINDOW 0x1000000ull
#define GRACE_US    10000 /* the time after which a test takes an interrupt for not sent */

struct conf_host {
	QPCIDevice pci;
	uint64_t regs, memory, aperture; /* bus addresses */
	unsigned number;
};

static QTestState *qts;
static QPCIBus *bus;
static uint8_t *ram;
static struct conf_host devices[DEVICES];

/* ----------------------------------------------------------------- accesses */

/* What is no address of the shared memory is one of the bus. */
static bool is_shared(const volatile uint8_t *at)
{
	return at >= ram && at < ram + RAM;
}

uint64_t conf_read(const volatile uint8_t *base, uint64_t offset, unsigned bytes)
{
	const volatile uint8_t *at = base + offset;
	uint64_t bus_address = (uintptr_t)at, value = 0;

	if (is_shared(at)) {
		memcpy(&value, (const uint8_t *)at, bytes);
		return value;
	}
	switch (bytes) {
	case 1:
		return qtest_readb(qts, bus_address);
	case 2:
		return qtest_readw(qts, bus_address);
	case 4:
		return qtest_readl(qts, bus_address);
	default:
		return qtest_readq(qts, bus_address);
	}
}

void conf_write(volatile uint8_t *base, uint64_t offset, unsigned bytes, uint64_t value)
{
	volatile uint8_t *at = base + offset;
	uint64_t bus_address = (uintptr_t)at;

	if (is_shared(at)) {
		memcpy((uint8_t *)at, &value, bytes);
		return;
	}
	switch (bytes) {
	case 1:
		qtest_writeb(qts, bus_address, (uint8_t)value);
		break;
	case 2:
		qtest_writew(qts, bus_address, (uint16_t)value);
		break;
	case 4:
		qtest_writel(qts, bus_address, (uint32_t)value);
		break;
	default:
		qtest_writeq(qts, bus_address, value);
		break;
	}
}

void conf_get(const volatile uint8_t *base, void *to, size_t bytes)
{
	if (is_shared(base))
		memcpy(to, (const uint8_t *)base, bytes);
	else
		qtest_memread(qts, (uintptr_t)base, to, bytes);
}

void conf_put(volatile uint8_t *base, const void *from, size_t bytes)
{
	if (is_shared(base))
		memcpy((uint8_t *)base, from, bytes);
	else
		qtest_memwrite(qts, (uintptr_t)base, from, bytes);
}

void conf_idle(void)
{
	g_usleep(100);
}

/* ------------------------------------------------------------ configuration */

static void bar_write(struct conf_host *host, int bar, uint64_t address)
{
	qpci_config_writel(&host->pci, PCI_BASE_ADDRESS_0 + 4 * bar, (uint32_t)address);
	if (address >> 32)
		qpci_config_writel(&host->pci, PCI_BASE_ADDRESS_0 + 4 * bar + 4,
				   (uint32_t)(address >> 32));
}

static uint64_t message_of(const struct conf_host *host, unsigned vector)
{
	return MESSAGES + 8ull * (host->number * T3_MAX_VECTORS + vector);
}

/* The first `count` vectors are open, the others masked. */
static void set_vectors(struct conf_host *host, unsigned count)
{
	uint8_t cap = qpci_find_capability(&host->pci, PCI_CAP_ID_MSIX, 0);
	uint16_t flags = qpci_config_readw(&host->pci, cap + PCI_MSIX_FLAGS);
	uint64_t entry = host->regs + T3_MSIX_TABLE;
	unsigned i;

	for (i = 0; i < T3_MAX_VECTORS; i++, entry += PCI_MSIX_ENTRY_SIZE) {
		qtest_writel(qts, entry + PCI_MSIX_ENTRY_LOWER_ADDR, message_of(host, i));
		qtest_writel(qts, entry + PCI_MSIX_ENTRY_UPPER_ADDR, 0);
		qtest_writel(qts, entry + PCI_MSIX_ENTRY_DATA, 1);
		qtest_writel(qts, entry + PCI_MSIX_ENTRY_VECTOR_CTRL,
			     i < count ? 0 : PCI_MSIX_ENTRY_CTRL_MASKBIT);
	}
	qpci_config_writew(&host->pci, cap + PCI_MSIX_FLAGS, flags | PCI_MSIX_FLAGS_ENABLE);
}

/* What firmware and a driver's core would do, after power-on and after a reset. */
static void set_up(struct conf_host *host, unsigned vectors)
{
	bar_write(host, T3_BAR_REGS, host->regs);
	bar_write(host, T3_BAR_MEMORY, host->memory);
	bar_write(host, T3_BAR_APERTURE, host->aperture);
	qpci_config_writew(&host->pci, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	set_vectors(host, vectors);
}

uint32_t conf_config(struct conf *c, struct conf_device *d, uint32_t offset, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return qpci_config_readb(&d->host->pci, (uint8_t)offset);
	case 2:
		return qpci_config_readw(&d->host->pci, (uint8_t)offset);
	default:
		return qpci_config_readl(&d->host->pci, (uint8_t)offset);
	}
}

void conf_config_write(struct conf *c, struct conf_device *d, uint32_t offset, unsigned bytes,
		       uint32_t value)
{
	if (bytes == 1)
		qpci_config_writeb(&d->host->pci, (uint8_t)offset, (uint8_t)value);
	else if (bytes == 2)
		qpci_config_writew(&d->host->pci, (uint8_t)offset, (uint16_t)value);
	else
		qpci_config_writel(&d->host->pci, (uint8_t)offset, value);
}

void conf_bus_master(struct conf *c, struct conf_device *d, bool on)
{
	conf_config_write(c, d, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | (on ? PCI_COMMAND_MASTER : 0));
}

void conf_flr(struct conf *c, struct conf_device *d)
{
	uint8_t control = qpci_find_capability(&d->host->pci, PCI_CAP_ID_EXP, 0) + PCI_EXP_DEVCTL;
	uint16_t value = qpci_config_readw(&d->host->pci, control);

	d->late = true;
	qpci_config_writew(&d->host->pci, control, value | PCI_EXP_DEVCTL_BCR_FLR);
	set_up(d->host, d->vectors);
}

/* --------------------------------------------------------------- interrupts */

void conf_vectors(struct conf *c, struct conf_device *d, unsigned count)
{
	set_vectors(d->host, count);
	d->vectors = count;
}

/* 1: one or more, as a message leaves the same word each time. */
static uint64_t take(struct conf_device *d, unsigned vector)
{
	uint32_t *word = (uint32_t *)(ram + message_of(d->host, vector));

	return qatomic_xchg(word, 0);
}

uint64_t conf_interrupts(struct conf *c, struct conf_device *d, unsigned vector)
{
	struct conf_deadline deadline = conf_deadline(c);
	uint64_t count;

	do {
		count = take(d, vector);
	} while (!count && conf_pause(&deadline));
	return count;
}

uint64_t conf_interrupts_now(struct conf *c, struct conf_device *d, unsigned vector)
{
	g_usleep(GRACE_US);
	return take(d, vector);
}

void conf_irq_drain(struct conf_device *d)
{
	unsigned i;

	if (d->late)
		g_usleep(GRACE_US);
	d->late = false;
	for (i = 0; i < T3_MAX_VECTORS; i++)
		take(d, i);
}

/* ------------------------------------------------------------------- memory */

size_t conf_page_stride(void)
{
	return T3_PAGE_SIZE;
}

uint8_t *conf_pages_at(uint64_t iova, size_t bytes)
{
	return iova + bytes <= RAM ? ram + iova : NULL;
}

int conf_page_map(struct conf *c, unsigned page)
{
	return 0;
}

int conf_page_unmap(struct conf *c, unsigned page)
{
	conf_skip(c, "there is no IOMMU, which would keep devices from a page");
}

/* -------------------------------------------------------------------- all */

const char conf_way[] =
	"These are in a QEMU without a guest, QTEST_QEMU_BINARY in the environment. There is no\n"
	"IOMMU, so tests of that are skipped. T3_TEST_THREAD in the environment gives the fabric\n"
	"a thread of its own. With T3_TOPOLOGY=switch four devices are on a switch, else on a "
	"ring.\n";

unsigned conf_find(char (*bdfs)[16], unsigned limit)
{
	unsigned i;

	for (i = 0; i < MIN(limit, DEVICES); i++)
		snprintf(bdfs[i], sizeof(*bdfs), "0000:00:%02x.0", FIRST_SLOT + i);
	return i;
}

int conf_bind(const char *bdf)
{
	return 0;
}

static GString *options_of(const char *file)
{
	bool thread = g_getenv("T3_TEST_THREAD");
	const char *more = thread ? ",iothread=io,workers=2" : "";
	bool switched = g_strcmp0(g_getenv("T3_TOPOLOGY"), "switch") == 0;
	const char *topology = switched ? "switch,switch-entries=16" : "ring";
	GString *options = g_string_new(thread ? "-object iothread,id=io " : "");
	unsigned i;

	g_string_append_printf(options,
			       "-M q35,memory-backend=ram -nodefaults -m %uM -object "
			       "memory-backend-file,id=ram,mem-path=%s,size=%uM,share=on "
			       "-object t3-fabric,id=f0,topology=%s,timed=on,ranks=%u%s "
			       "-object t3-fabric,id=f1,topology=ring,timed=on,ranks=2%s ",
			       RAM >> 20, file, RAM >> 20, topology, RING, more, more);
	for (i = 0; i < DEVICES; i++)
		g_string_append_printf(options,
				       "-device t3,fabric=f%u,rank=%u,addr=%u,memory-size=%u,"
				       "aperture-size=%u%s ",
				       i / RING, i % RING, FIRST_SLOT + i, MEMORY, APERTURE,
				       i < RING ? ",guest-inject=on" : "");
	return options;
}

/* QEMU has the file open by the time that it answers. */
static bool start(void)
{
	g_autofree char *file = NULL;
	int fd = g_file_open_tmp("t3-conformance-XXXXXX", &file, NULL);
	GString *options;

	if (fd < 0 || ftruncate(fd, RAM))
		return false;
	ram = mmap(NULL, RAM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	options = options_of(file);
	qts = qtest_init(options->str);
	g_string_free(options, true);
	unlink(file);
	bus = qpci_new_pc(qts, NULL);
	return ram != MAP_FAILED;
}

static void place(struct conf_host *host, unsigned number)
{
	host->number = number;
	host->pci.bus = bus;
	host->pci.devfn = QPCI_DEVFN(FIRST_SLOT + number, 0);
	host->regs = REGS_BASE + number * REGS_WINDOW;
	host->memory = (0x40ull + number) << 32;
	host->aperture = host->memory + 0x40000000ull;
	set_up(host, T3_MAX_VECTORS);
}

static int open_one(struct conf_device *d, const char *bdf)
{
	unsigned long slot = strtoul(bdf + strlen("0000:00:"), NULL, 16);

	if (strncmp(bdf, "0000:00:", strlen("0000:00:")) || slot < FIRST_SLOT ||
	    slot >= FIRST_SLOT + DEVICES) {
		fprintf(stderr, "t3-conformance: no device %s: 0000:00:%02x.0 to 0000:00:%02x.0\n",
			bdf, FIRST_SLOT, FIRST_SLOT + DEVICES - 1);
		return -1;
	}
	snprintf(d->bdf, sizeof(d->bdf), "%s", bdf);
	d->host = &devices[slot - FIRST_SLOT];
	d->regs = (volatile uint8_t *)(uintptr_t)d->host->regs;
	d->memory = (volatile uint8_t *)(uintptr_t)d->host->memory;
	d->aperture = (volatile uint8_t *)(uintptr_t)d->host->aperture;
	d->regs_bytes = T3_BAR_REGS_SIZE;
	d->memory_bytes = MEMORY;
	d->aperture_bytes = APERTURE;
	d->vectors = T3_MAX_VECTORS;
	return conf_identify(d);
}

int conf_open(struct conf *c, char *const *bdfs, unsigned count)
{
	char name[] = "t3-conformance", *arguments[] = { name, NULL }, **all = arguments;
	int words = 1;
	unsigned i;

	g_test_init(&words, &all, NULL);
	if (!start()) {
		fprintf(stderr, "t3-conformance: no memory for a QEMU: %s\n", strerror(errno));
		return -1;
	}
	for (i = 0; i < DEVICES; i++)
		place(&devices[i], i);
	for (i = 0; i < count; i++) {
		if (open_one(&c->device[i], bdfs[i]))
			return -1;
		c->count = i + 1;
	}
	conf_order(c);
	return conf_pages_open(c);
}

void conf_close(struct conf *c)
{
	if (!qts)
		return;
	qpci_free_pc(bus);
	qtest_quit(qts);
}

/* QEMU's event loop and its thread do the fabric's work when they will. */
const struct conf_extra conf_extra = { NULL };

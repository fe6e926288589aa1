// SPDX-License-Identifier: MIT
/*
 * The model of the devices in this process, without a machine around it: four on a ring, whose guest
 * may inject faults, and one whose neighbour in its ring of two is missing. There is no
 * configuration space but for the Command register, and MSI-X is what SPEC.md 1.2 and 1.3 say of
 * messages. QEMU has both, and the suite finds them there. T3_STORES=ordinary in the environment
 * keeps stores from the short way, t3_dev_aperture_store(). With T3_TOPOLOGY=switch the four are on a
 * switch and not on a ring.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../run.h"
#include "t3_core.h"

#define RING		   4u
#define DEVICES		   (RING + 1)
#define MEMORY		   0x10000000u
#define APERTURE	   0x10000000u
#define ENTRIES		   256u /* of the tracker */
#define WAYS		   8u
#define EVENTS		   100000u
#define SWITCH_ENTRIES	   16u /* of a port */
#define PCI_COMMAND	   0x04u
#define PCI_COMMAND_MASTER 0x4u

struct conf_host {
	struct conf *conf;
	struct t3_fabric *fabric;
	struct t3_dev *dev;
	uint8_t *memory;
	volatile uint8_t *regs, *aperture; /* addresses without memory */
	unsigned vectors;
	uint64_t interrupts[T3_MAX_VECTORS];
	uint32_t held; /* vectors that were raised while it was no bus master */
	bool master;
	uint64_t watched; /* offset in its memory */
	unsigned actions;
	struct conf_action action[CONF_ACTIONS];
};

static struct conf_host devices[DEVICES];
static bool ordinary; /* all stores take the ordinary path */
static bool held;     /* a test holds the fabrics' work */
static bool switched; /* the four devices have a switch */

/* ---------------------------------------------------------------- callbacks */

/* NULL: not all of it is mapped for devices. */
static uint8_t *guest_memory(const struct conf_host *n, uint64_t address, size_t bytes)
{
	uint64_t stride = conf_page_stride(), first = address - conf_page_iova(0);
	uint64_t size = CONF_PAGES * stride;

	if (!n->master || !n->conf->pages || first >= size || bytes > size - first)
		return NULL;
	for (uint64_t page = first / stride; page * stride < first + bytes; page++)
		if (n->conf->unmapped[page])
			return NULL;
	return n->conf->pages + first;
}

static bool dma_read(void *opaque, uint64_t address, void *to, size_t bytes)
{
	const uint8_t *from = guest_memory(opaque, address, bytes);

	if (from)
		memcpy(to, from, bytes);
	return from;
}

static void note(struct conf_host *n, struct conf_action action)
{
	memcpy(&action.seen, n->memory + n->watched, sizeof(action.seen));
	if (n->actions < CONF_ACTIONS)
		n->action[n->actions] = action;
	n->actions++;
}

static bool dma_write(void *opaque, uint64_t address, const void *from, size_t bytes)
{
	uint8_t *to = guest_memory(opaque, address, bytes);

	if (!to)
		return false;
	memcpy(to, from, bytes);
	note(opaque, (struct conf_action){ .iova = address, .bytes = bytes });
	return true;
}

static void raise_irq(void *opaque, uint32_t vector)
{
	struct conf_host *n = opaque;

	note(n, (struct conf_action){ .vector = vector });
	if (!n->master)
		n->held |= 1u << vector;
	else if (vector < n->vectors)
		n->interrupts[vector]++;
}

static const struct t3_host_ops host_ops = {
	.dma_read = dma_read,
	.dma_write = dma_write,
	.irq = raise_irq,
};

/* The fabric works when the suite waits. */
static void kick(void *opaque)
{
	(void)opaque;
}

static const struct t3_fabric_ops fabric_ops = { .kick = kick };

static bool run_all(uint32_t events)
{
	bool more = false;

	for (unsigned i = 0; i < DEVICES; i += RING)
		more |= t3_fabric_run(devices[i].fabric, events);
	return more;
}

void conf_idle(void)
{
	if (!held)
		run_all(EVENTS);
}

/* ----------------------------------------------------------------- accesses */

static bool within(const volatile uint8_t *at, const volatile uint8_t *base, uint64_t bytes)
{
	return at >= base && (uint64_t)(at - base) < bytes;
}

/* The device whose registers or aperture are there, or NULL. */
static struct conf_host *find(const volatile uint8_t *at, bool *is_regs)
{
	for (struct conf_host *n = devices; n < devices + DEVICES; n++) {
		*is_regs = within(at, n->regs, T3_BAR_REGS_SIZE);
		if (*is_regs || within(at, n->aperture, APERTURE))
			return n;
	}
	return NULL;
}

static uint64_t read_piece(const volatile uint8_t *at, unsigned bytes)
{
	bool is_regs;
	struct conf_host *n = find(at, &is_regs);
	uint64_t value = 0;

	if (!n)
		memcpy(&value, (const uint8_t *)at, bytes);
	else if (is_regs)
		value = t3_dev_regs_read(n->dev, (uint64_t)(at - n->regs), bytes);
	else
		value = t3_dev_aperture_read(n->dev, (uint64_t)(at - n->aperture), bytes);
	return bytes == 8 ? value : value & ((1ull << 8 * bytes) - 1);
}

static void store(struct conf_host *n, uint64_t offset, uint64_t value, unsigned bytes)
{
	if (ordinary || !t3_dev_aperture_store(n->dev, 1, offset, value, bytes))
		t3_dev_aperture_write(n->dev, offset, value, bytes);
}

static void write_piece(volatile uint8_t *at, unsigned bytes, uint64_t value)
{
	bool is_regs;
	struct conf_host *n = find(at, &is_regs);

	if (!n)
		memcpy((uint8_t *)at, &value, bytes);
	else if (is_regs)
		t3_dev_regs_write(n->dev, (uint64_t)(at - n->regs), value, bytes);
	else
		store(n, (uint64_t)(at - n->aperture), value, bytes);
}

/* A machine divides an access into naturally aligned pieces, as large as they can be. */
static unsigned piece_at(const volatile uint8_t *at, unsigned left)
{
	unsigned bytes = 8;

	while (bytes > left || (uintptr_t)at % bytes)
		bytes /= 2;
	return bytes;
}

uint64_t conf_read(const volatile uint8_t *base, uint64_t offset, unsigned bytes)
{
	uint64_t value = 0;
	unsigned piece;

	for (unsigned done = 0; done < bytes; done += piece) {
		piece = piece_at(base + offset + done, bytes - done);
		value |= read_piece(base + offset + done, piece) << 8 * done;
	}
	return value;
}

void conf_write(volatile uint8_t *base, uint64_t offset, unsigned bytes, uint64_t value)
{
	unsigned piece;

	for (unsigned done = 0; done < bytes; done += piece) {
		piece = piece_at(base + offset + done, bytes - done);
		write_piece(base + offset + done, piece, value >> 8 * done);
	}
}

/* These are for memory alone. */
void conf_get(const volatile uint8_t *base, void *to, size_t bytes)
{
	memcpy(to, (const uint8_t *)base, bytes);
}

void conf_put(volatile uint8_t *base, const void *from, size_t bytes)
{
	memcpy((uint8_t *)base, from, bytes);
}

/* ------------------------------------------------------------ configuration */

uint32_t conf_config(struct conf *c, struct conf_device *d, uint32_t offset, unsigned bytes)
{
	if (offset == PCI_COMMAND && bytes == 2)
		return d->host->master ? PCI_COMMAND_MASTER : 0;
	conf_skip(c, "the model alone has no configuration space");
}

void conf_config_write(struct conf *c, struct conf_device *d, uint32_t offset, unsigned bytes,
		       uint32_t value)
{
	if (offset != PCI_COMMAND || bytes != 2)
		conf_skip(c, "the model alone has no configuration space");
	conf_bus_master(c, d, value & PCI_COMMAND_MASTER);
}

void conf_bus_master(struct conf *c, struct conf_device *d, bool on)
{
	struct conf_host *n = d->host;

	(void)c;
	n->master = on;
	for (unsigned i = 0; on && i < n->vectors; i++)
		n->interrupts[i] += n->held >> i & 1;
	if (on)
		n->held = 0;
}

void conf_flr(struct conf *c, struct conf_device *d)
{
	(void)c;
	t3_dev_reset(d->host->dev);
	d->host->held = 0;
}

/* --------------------------------------------------------------- interrupts */

void conf_vectors(struct conf *c, struct conf_device *d, unsigned count)
{
	(void)c;
	d->vectors = d->host->vectors = count;
}

static uint64_t take(struct conf_device *d, unsigned vector)
{
	uint64_t count = d->host->interrupts[vector];

	d->host->interrupts[vector] = 0;
	return count;
}

uint64_t conf_interrupts(struct conf *c, struct conf_device *d, unsigned vector)
{
	struct conf_deadline deadline = conf_deadline(c);

	while (!d->host->interrupts[vector] && conf_pause(&deadline))
		;
	return take(d, vector);
}

uint64_t conf_interrupts_now(struct conf *c, struct conf_device *d, unsigned vector)
{
	(void)c;
	conf_idle();
	return take(d, vector);
}

void conf_irq_drain(struct conf_device *d)
{
	conf_idle();
	d->late = false;
	memset(d->host->interrupts, 0, sizeof(d->host->interrupts));
}

/* ------------------------------------------------------------------ mappings */

/* guest_memory() looks at what pages.c keeps. */
size_t conf_page_stride(void)
{
	return T3_PAGE_SIZE;
}

uint8_t *conf_pages_at(uint64_t iova, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)iova;
	return at == MAP_FAILED ? NULL : at;
}

int conf_page_map(struct conf *c, unsigned page)
{
	(void)c;
	(void)page;
	return 0;
}

int conf_page_unmap(struct conf *c, unsigned page)
{
	(void)c;
	(void)page;
	return 0;
}

/* ------------------------------------------- what other ways to devices lack */

static void hold(struct conf *c, bool on)
{
	(void)c;
	held = on;
	for (unsigned i = 0; i < DEVICES; i += RING)
		t3_fabric_set_inline_budget(devices[i].fabric, on ? 0 : T3_INLINE_BUDGET);
}

static bool step(struct conf *c, unsigned events)
{
	(void)c;
	return run_all(events);
}

static void watch(struct conf_device *d, uint64_t offset)
{
	d->host->watched = offset;
	d->host->actions = 0;
}

static unsigned watched(struct conf_device *d, const struct conf_action **actions)
{
	*actions = d->host->action;
	return d->host->actions;
}

static bool make(struct conf_host *n, uint32_t entries, uint32_t ways);

static bool tracker(struct conf_device *d, uint32_t entries, uint32_t ways)
{
	t3_dev_detach(d->host->dev);
	t3_dev_free(d->host->dev);
	return entries ? make(d->host, entries, ways) : make(d->host, ENTRIES, WAYS);
}

const struct conf_extra conf_extra = { hold, step, watch, watched, tracker };

/* -------------------------------------------------------------------- all */

const char conf_way[] =
	"These are models in this process, with a Command register and MSI-X alone. With\n"
	"T3_STORES=ordinary in the environment, stores do not take the short way\n"
	"(t3_dev_aperture_store); with direct, the default, they do. With T3_TOPOLOGY=switch\n"
	"four of them are on a switch, else on a ring.\n";

unsigned conf_find(char (*bdfs)[16], unsigned limit)
{
	unsigned count = limit < DEVICES ? limit : DEVICES;

	for (unsigned i = 0; i < count; i++)
		snprintf(bdfs[i], sizeof(*bdfs), "0000:00:%02x.0", i);
	return count;
}

int conf_bind(const char *bdf)
{
	(void)bdf;
	return 0;
}

static void *reserve(size_t bytes, int access)
{
	void *at = mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static bool make(struct conf_host *n, uint32_t entries, uint32_t ways)
{
	unsigned rank = (unsigned)(n - devices);
	const struct t3_dev_config config = {
		.memory_size = MEMORY,
		.aperture_size = APERTURE,
		.tracker_entries = entries,
		.tracker_ways = ways,
		.guest_inject = rank < RING,
		.keys = T3_KEYS_NODE,
		.without_caps = rank < RING ? 0 : T3_CAPS_OPTIONAL,
	};

	n->dev = t3_dev_new(&config, n->memory, &host_ops, n);
	return n->dev && t3_dev_attach(n->dev, n->fabric, rank % RING) == T3_ATTACH_OK;
}

static bool reserve_all(struct conf_host *n)
{
	n->regs = reserve(T3_BAR_REGS_SIZE, PROT_NONE);
	n->aperture = reserve(APERTURE, PROT_NONE);
	n->memory = reserve(MEMORY, PROT_READ | PROT_WRITE);
	return n->regs && n->aperture && n->memory;
}

static bool make_all(struct conf *c)
{
	struct t3_fabric_config ring = {
		.topology = switched ? T3_TOPOLOGY_SWITCH : T3_TOPOLOGY_RING,
		.ranks = RING,
		.id = 1,
		.timed = true,
		.switch_entries = switched ? SWITCH_ENTRIES : 0,
	};
	struct t3_fabric_config lone = {
		.topology = T3_TOPOLOGY_RING, .ranks = 2, .id = 2, .timed = true
	};

	devices[0].fabric = t3_fabric_new(&ring, &fabric_ops, NULL);
	devices[RING].fabric = t3_fabric_new(&lone, &fabric_ops, NULL);
	for (unsigned i = 0; i < DEVICES; i++) {
		devices[i].conf = c;
		devices[i].fabric = devices[i / RING * RING].fabric;
		if (!devices[i].fabric || !reserve_all(&devices[i]) ||
		    !make(&devices[i], ENTRIES, WAYS))
			return false;
	}
	return true;
}

static int open_one(struct conf_device *d, const char *bdf)
{
	unsigned number = (unsigned)strtoul(bdf + strlen("0000:00:"), NULL, 16);

	if (strncmp(bdf, "0000:00:", strlen("0000:00:")) || number >= DEVICES) {
		fprintf(stderr, "t3-conformance: no device %s: 0000:00:00.0 to 0000:00:%02x.0\n",
			bdf, DEVICES - 1);
		return -1;
	}
	snprintf(d->bdf, sizeof(d->bdf), "%s", bdf);
	d->host = &devices[number];
	d->host->master = true;
	d->regs = d->host->regs;
	d->memory = d->host->memory;
	d->aperture = d->host->aperture;
	d->regs_bytes = T3_BAR_REGS_SIZE;
	d->memory_bytes = MEMORY;
	d->aperture_bytes = APERTURE;
	d->vectors = d->host->vectors = T3_MAX_VECTORS;
	return conf_identify(d);
}

/* T3_STORES in the environment. */
static int choose_stores(void)
{
	const char *stores = getenv("T3_STORES");

	ordinary = stores && !strcmp(stores, "ordinary");
	if (!stores || ordinary || !strcmp(stores, "direct"))
		return 0;
	fprintf(stderr, "t3-conformance: T3_STORES is direct or ordinary, not %s\n", stores);
	return -1;
}

/* T3_TOPOLOGY in the environment. */
static int choose_topology(void)
{
	const char *topology = getenv("T3_TOPOLOGY");

	switched = topology && !strcmp(topology, "switch");
	if (!topology || switched || !strcmp(topology, "ring"))
		return 0;
	fprintf(stderr, "t3-conformance: T3_TOPOLOGY is ring or switch, not %s\n", topology);
	return -1;
}

int conf_open(struct conf *c, char *const *bdfs, unsigned count)
{
	if (choose_stores() || choose_topology())
		return -1;
	if (!make_all(c)) {
		fprintf(stderr, "t3-conformance: no memory for the devices\n");
		return -1;
	}
	for (unsigned i = 0; i < count; i++) {
		if (open_one(&c->device[i], bdfs[i]))
			return -1;
		c->count = i + 1;
	}
	conf_order(c);
	return conf_pages_open(c);
}

void conf_close(struct conf *c)
{
	(void)c;
	for (struct conf_host *n = devices; n < devices + DEVICES && n->dev; n++) {
		t3_dev_detach(n->dev);
		t3_dev_free(n->dev);
		munmap(n->memory, MEMORY);
	}
	for (unsigned i = 0; i < DEVICES; i += RING)
		if (devices[i].fabric)
			t3_fabric_free(devices[i].fabric);
}

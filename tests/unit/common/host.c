/* SPDX-License-Identifier: MIT */
/* Devices, memory, callbacks and accesses. */
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host.h"
#include "nodes.h"
#include "trace.h"
#include "trail.h"
#include "workers.h"

static struct t3_fabric *fabric_of(struct host *host, uint32_t rank);

static void log_add(struct host_dev *d, const struct host_log *entry)
{
	TRAIL(d->rank, entry->kind, entry->vector, entry->offset, entry->len,
	      t3_fabric_now(fabric_of(d->host, d->rank)));
	if (d->logged < HOST_LOG)
		d->log[d->logged] = *entry;
	d->logged++;
}

/* Plain host memory, or NULL. */
static uint8_t *data_at(struct host_dev *d, uint64_t addr, size_t len)
{
	uint64_t offset = addr - HOST_DATA;

	if (offset >= HOST_DATA_SIZE || len > HOST_DATA_SIZE - offset)
		return NULL;
	if (d->fail_data && !--d->fail_data) {
		d->fail_at = addr;
		return NULL;
	}
	return d->fail_after ? d->data + offset : NULL;
}

static bool data_write(struct host_dev *d, uint64_t addr, const void *buf, size_t len)
{
	struct host_log entry = { .kind = HOST_LOG_DATA, .offset = addr - HOST_DATA, .len = len };
	uint8_t *to = data_at(d, addr, len);

	if (!to)
		return false;
	memcpy(to, buf, len);
	trail_add(buf, len);
	memcpy(&entry.seen, d->memory + d->watch, sizeof(entry.seen));
	log_add(d, &entry);
	return true;
}

/* The event area's rules are checked at each write: one page, whole words. */
static bool dma_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	struct host_dev *d = opaque;
	uint64_t offset = addr - HOST_BUS;
	struct host_log entry = { .kind = HOST_LOG_WRITE, .offset = offset, .len = len };

	if (offset >= HOST_PAGES * T3_PAGE_SIZE)
		return data_write(d, addr, buf, len);
	if (len > HOST_PAGES * T3_PAGE_SIZE - offset)
		return false;
	if (!d->fail_after)
		return false;
	if (d->fail_after != HOST_NONE32)
		d->fail_after--;
	assert_true(len == 4 || len == 8 || len == sizeof(struct t3_fault_record) ||
		    len == T3_PAGE_SIZE);
	assert_true(len == T3_PAGE_SIZE ? offset % T3_PAGE_SIZE == 0
					: offset % (len == 4 ? 4 : 8) == 0);
	assert_true(len == T3_PAGE_SIZE ||
		    offset % T3_PAGE_SIZE + len <= offsetof(struct t3_event_area, reserved));
	memcpy(d->pages + offset, buf, len);
	trail_add(buf, len);
	memcpy(&entry.seen, d->memory + d->watch, sizeof(entry.seen));
	log_add(d, &entry);
	return true;
}

static bool dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	struct host_dev *d = opaque;
	const uint8_t *from = data_at(d, addr, len);

	if (!from)
		return false;
	memcpy(buf, from, len);
	TRAIL(addr, len);
	return true;
}

static void irq(void *opaque, uint32_t vector)
{
	struct host_dev *d = opaque;
	struct host_log entry = { .kind = HOST_LOG_IRQ, .vector = vector };

	assert_true(vector < T3_MAX_VECTORS);
	d->irqs[vector]++;
	log_add(d, &entry);
}

static void dirty(void *opaque, uint64_t offset, uint64_t len)
{
	struct host_dev *d = opaque;

	assert_true(len > 0 && offset < d->memory_size && len <= d->memory_size - offset);
	TRAIL(offset, len);
	trail_add(d->memory + offset, len);
	if (d->shadow)
		memcpy(d->shadow + offset, d->memory + offset, len);
}

static void guest_error(void *opaque, const char *what)
{
	struct host_dev *d = opaque;

	assert_non_null(what);
	trail_text(what);
	d->guest_errors++;
}

static void kick(void *opaque)
{
	struct host *host = opaque;

	host->kicks++;
	TRAIL(host->kicks);
}

static void work(void *opaque, uint32_t rank, struct t3_work *work)
{
	struct host *host = opaque;

	workers_begin(host->workers, rank, work);
}

static void work_wait(void *opaque, uint32_t rank)
{
	struct host *host = opaque;

	workers_wait(host->workers, rank);
}

static const struct t3_host_ops dev_ops = {
	.dma_read = dma_read,
	.dma_write = dma_write,
	.irq = irq,
	.dirty = dirty,
	.guest_error = guest_error,
	.trace_state = host_trace_state,
	.trace_fault = host_trace_fault,
	.trace_trigger = host_trace_trigger,
	.trace_queue = host_trace_queue,
	.trace_descriptor = host_trace_descriptor,
	.trace_block = host_trace_block,
	.trace_timeout = host_trace_timeout,
	.trace_link = host_trace_link,
	.trace_accident = host_trace_accident,
	.trace_loss = host_trace_loss,
	.trace_nak = host_trace_nak,
};

/* nth = 0 ends it. False: refused. */
bool host_inject(struct t3_fabric *fabric, uint32_t src, uint32_t dst, uint32_t kind, uint32_t nth)
{
	struct t3_cmd_inject inject = { .kind = kind, .rank = src, .peer = dst };

	if (kind == T3_INJECT_LINK_DOWN && !nth) {
		inject.kind = T3_INJECT_LINK_UP;
	} else if (kind != T3_INJECT_LINK_DOWN) {
		inject.nth = nth;
		inject.count = 1;
		inject.value = kind == T3_INJECT_DELAY ? 2000 : 0;
	}
	return t3_fabric_inject(fabric, &inject) == T3_ADMIN_OK;
}

static struct t3_fabric *fabric_of(struct host *host, uint32_t rank)
{
	return host->nodes ? nodes_fabric(host, rank) : host->fabric;
}

void host_poison(struct host_dev *d, uint64_t address, uint64_t bytes)
{
	struct t3_cmd_inject inject = {
		.kind = T3_INJECT_POISON, .rank = d->rank, .address = address, .value = bytes
	};

	assert_int_equal(t3_fabric_inject(fabric_of(d->host, d->rank), &inject), T3_ADMIN_OK);
}

void host_attach(struct host *host, uint32_t rank)
{
	assert_int_equal(t3_dev_attach(host->dev[rank].dev, fabric_of(host, rank), rank), 0);
}

void host_new_device(struct host *host, uint32_t rank)
{
	struct host_dev *d = &host->dev[rank];
	struct t3_dev_config config = {
		.memory_size = HOST_MEMORY,
		.aperture_size = HOST_APERTURE,
		.tracker_entries = host->config.entries,
		.tracker_ways = host->config.ways,
		.guest_inject = d->guest_inject,
		.keys = host->config.keys,
		.reset_generations = d->reset_generations,
		.without_caps = d->without_caps,
	};

	d->dev = t3_dev_new(&config, d->memory, &dev_ops, d);
	assert_non_null(d->dev);
	host_attach(host, rank);
}

void host_replace(struct host *host, uint32_t rank, bool guest_inject)
{
	struct host_dev *d = &host->dev[rank];

	t3_dev_detach(d->dev);
	t3_dev_free(d->dev);
	d->guest_inject = guest_inject;
	host_new_device(host, rank);
}

void host_new_fabric(struct host *host)
{
	struct t3_fabric_config fabric_config = {
		.topology = host->config.topology,
		.ranks = host->config.ranks,
		.switch_entries = host->switch_entries,
		.id = 0x1122334455667788ull,
		.timed = true,
		.remote = host->remote,
	};
	struct t3_fabric_ops fabric_ops = { .kick = kick };

	if (host->workers) {
		fabric_ops.work = work;
		fabric_ops.work_wait = work_wait;
	}
	host->fabric = t3_fabric_new(&fabric_config, &fabric_ops, host);
	assert_non_null(host->fabric);
}

/*
 * A device has some 40 MiB, of which a test changes little. Without a fixed limit, the C library keeps
 * such blocks when they are freed, and the next calloc() has to clear them. New pages are clear.
 */
__attribute__((constructor)) static void prefer_new_pages(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
}

static void add_device(struct host *host, uint32_t rank)
{
	struct host_dev *d = &host->dev[rank];

	d->host = host;
	d->rank = rank;
	d->memory_size = HOST_MEMORY;
	d->fail_after = HOST_NONE32;
	d->memory = calloc(1, HOST_MEMORY);
	d->pages = calloc(HOST_PAGES, T3_PAGE_SIZE);
	d->data = calloc(1, HOST_DATA_SIZE);
	assert_true(d->memory && d->pages && d->data);
	host_new_device(host, rank);
}

static struct host *empty_host(const struct host_config *config)
{
	struct host *host = calloc(1, sizeof(*host));

	assert_non_null(host);
	host->config = *config;
	host->ranks = config->ranks;
	host->switch_entries = config->topology == T3_TOPOLOGY_SWITCH ? HOST_ENTRIES : 0;
	return host;
}

void host_add_devices(struct host *host)
{
	uint32_t i;

	for (i = 0; i < host->ranks; i++)
		add_device(host, i);
}

static struct host *recorded(struct host *host, t3_record_emit *emit, void *opaque)
{
	host_new_fabric(host);
	if (emit)
		assert_true(t3_fabric_record(host->fabric, emit, opaque));
	host_add_devices(host);
	return host;
}

struct host *host_new_recorded(const struct host_config *config, t3_record_emit *emit, void *opaque)
{
	return recorded(empty_host(config), emit, opaque);
}

struct host *host_switch(uint32_t ranks, uint32_t entries, t3_record_emit *emit, void *opaque)
{
	struct host_config config = { T3_TOPOLOGY_SWITCH, ranks, 256, 8, T3_KEYS_FABRIC };
	struct host *host = empty_host(&config);

	host->switch_entries = entries;
	return recorded(host, emit, opaque);
}

struct host *host_new_working(const struct host_config *config, uint32_t threads)
{
	struct host *host = empty_host(config);

	host->workers = workers_new(threads);
	host_new_fabric(host);
	host_add_devices(host);
	return host;
}

struct host *host_new_node(const struct host_config *config, uint32_t rank)
{
	struct host *host = empty_host(config);

	host->remote = ~(uint32_t)0 >> (32 - config->ranks) & ~(1u << rank);
	host_new_fabric(host);
	add_device(host, rank);
	return host;
}

struct host *host_new(const struct host_config *config)
{
	return host_new_recorded(config, NULL, NULL);
}

struct host *host_ring(uint32_t ranks)
{
	struct host_config config = { T3_TOPOLOGY_RING, ranks, 256, 8, T3_KEYS_FABRIC };

	return host_new(&config);
}

struct host *host_paused(uint32_t ranks)
{
	struct host *host = host_ring(ranks);

	t3_fabric_set_inline_budget(host->fabric, 0);
	return host;
}

void host_free(struct host *host)
{
	uint32_t i;

	for (i = 0; i < host->ranks; i++) {
		if (host->remote >> i & 1)
			continue;
		t3_dev_detach(host->dev[i].dev);
		t3_dev_free(host->dev[i].dev);
		free(host->dev[i].memory);
		free(host->dev[i].shadow);
		free(host->dev[i].pages);
		free(host->dev[i].data);
	}
	if (host->nodes)
		nodes_free(host);
	else
		t3_fabric_free(host->fabric);
	if (host->workers)
		workers_free(host->workers);
	free(host);
}

void host_drain(struct host *host)
{
	uint32_t rounds = 0;

	if (host->nodes) {
		nodes_drain(host);
		return;
	}
	while (t3_fabric_run(host->fabric, 1000))
		assert_true(++rounds < 100000);
}

/* From calloc(). A test writes few of its pages; the whole ones are given back. */
static void clear(uint8_t *data, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), first = -(uintptr_t)data % page;
	size_t whole = (size - first) / page * page;

	memset(data, 0, first);
	assert_int_equal(madvise(data + first, whole, MADV_DONTNEED), 0);
	memset(data + first + whole, 0, size - first - whole);
}

void host_clear(struct host *host)
{
	uint32_t i;

	for (i = 0; i < host->ranks; i++) {
		struct host_dev *d = &host->dev[i];

		t3_dev_reset(d->dev);
		clear(d->memory, d->memory_size);
		memset(d->pages, 0, HOST_PAGES * T3_PAGE_SIZE);
		memset(d->irqs, 0, sizeof(d->irqs));
		memset(d->completed, 0, sizeof(d->completed));
		d->fail_after = HOST_NONE32;
		d->fail_data = 0;
		d->guest_errors = d->triggers = d->logged = 0;
		memset(&d->traced, 0, sizeof(d->traced));
	}
	host_drain(host);
	host->kicks = 0;
}

/* ---------------------------------------------------------------- accesses */

uint64_t host_get(struct host_dev *d, uint64_t offset, uint32_t size)
{
	uint64_t value = t3_dev_regs_read(d->dev, offset, size);

	TRAIL(value);
	return value;
}

void host_set(struct host_dev *d, uint64_t offset, uint64_t value, uint32_t size)
{
	t3_dev_regs_write(d->dev, offset, value, size);
}

uint32_t host_reg(struct host_dev *d, uint64_t offset)
{
	return (uint32_t)host_get(d, offset, 4);
}

uint64_t host_counter(struct host_dev *d, enum t3_counter_id id)
{
	return host_get(d, T3_REG_COUNTERS + 8 * id, 8);
}

void host_doorbell(struct host_dev *d, uint32_t space, uint32_t offset, uint64_t value,
		   uint32_t size)
{
	host_set(d, T3_DOORBELL_BASE + (uint64_t)space * T3_PAGE_SIZE + offset, value, size);
}

uint64_t host_doorbell_read(struct host_dev *d, uint32_t space, uint32_t offset, uint32_t size)
{
	return host_get(d, T3_DOORBELL_BASE + (uint64_t)space * T3_PAGE_SIZE + offset, size);
}

void host_arm(struct host_dev *d, uint32_t space, uint32_t epoch)
{
	host_doorbell(d, space, T3_DB_ARM, epoch, 4);
}

void host_release(struct host_dev *d, uint32_t space, uint32_t epoch)
{
	host_doorbell(d, space, T3_DB_RELEASE, epoch, 4);
}

void host_tile(struct host_dev *d, uint32_t space, uint32_t segment, uint32_t slot, uint32_t tile)
{
	host_doorbell(d, space, T3_DB_TILE, T3_DB_TILE_VALUE(segment, slot, tile), 8);
}

/* Two of three stores try the call that may be made from several threads, and all lanes in turn. */
void host_aperture_write(struct host_dev *d, uint64_t offset, uint64_t value, uint32_t size)
{
	uint32_t lane = d->stores / 5 % T3_LANES;

	while (t3_dev_aperture_waits(d->dev, offset, size) && nodes_step(d->host))
		;
	if (d->stores++ % 3 == 0 || !t3_dev_aperture_store(d->dev, lane, offset, value, size))
		t3_dev_aperture_write(d->dev, offset, value, size);
}

void host_store(struct host_dev *d, uint32_t space, uint64_t offset, uint64_t value, uint32_t size)
{
	host_aperture_write(d, (uint64_t)space * HOST_SPACE_SIZE + offset, value, size);
}

uint64_t host_load(struct host_dev *d, uint32_t space, uint64_t offset, uint32_t size)
{
	return t3_dev_aperture_read(d->dev, (uint64_t)space * HOST_SPACE_SIZE + offset, size);
}

void host_fill(struct host_dev *d, uint32_t space, uint32_t segment, uint32_t value)
{
	uint32_t i;

	for (i = 0; i < 64; i += 4)
		host_store(d, space, segment * 0x400 + i, value, 4);
}

uint64_t host_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

uint32_t host_below(uint64_t *state, uint32_t bound)
{
	return (uint32_t)((host_random(state) >> 32) * bound >> 32);
}

struct host *host_pair(const struct t3_cmd_seg_map *from, const struct t3_cmd_seg_map *to,
		       uint32_t slots)
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];

	host_space(a, 0);
	host_space(b, 0);
	host_connect(a, b, 0);
	host_map(a, from);
	if (slots)
		host_stage(a, 0, 0, slots);
	if (to)
		host_map(b, to);
	else
		host_local(b, 0, 0);
	host_arm(b, 0, 1);
	host_arm(a, 0, 1);
	t3_fabric_set_inline_budget(host->fabric, 0);
	return host;
}

struct host *host_burst(uint32_t rows)
{
	struct t3_cmd_seg_map from = host_segment(0, 0, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32), to;
	struct host *host;
	uint32_t i;

	from.rows = from.tile_rows = rows;
	from.row_bytes = from.pitch = from.tile_row_bytes = 8;
	to = from;
	to.kind = T3_SEG_LOCAL;
	to.routes = 0;
	to.target_op = 0;
	to.tile_rows = 1;
	host = host_pair(&from, &to, 0);
	for (i = 0; i < rows; i++)
		host_store(&host->dev[0], 0, i * 8, i, 8);
	return host;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A device's life: new, attach, reset, detach, free. SPEC.md section 10. */
#include "t3_record.h"
#include "t3_internal.h"

const char *t3_dev_config_error(const struct t3_dev_config *config)
{
	uint32_t sets;

	if (!config->memory_size || config->memory_size % T3_PAGE_SIZE)
		return "memory size must be a multiple of 4096 and not 0";
	if (!config->aperture_size || config->aperture_size % T3_PAGE_SIZE)
		return "aperture size must be a multiple of 4096 and not 0";
	if (config->tracker_ways < 1 || config->tracker_ways > 64)
		return "tracker ways must be 1 to 64";
	if (config->tracker_entries < 1 || config->tracker_entries > 65536 ||
	    config->tracker_entries % config->tracker_ways)
		return "tracker entries must be 1 to 65536 and a multiple of the ways";
	sets = config->tracker_entries / config->tracker_ways;
	if (sets & (sets - 1))
		return "tracker entries divided by the ways must be a power of two";
	return NULL;
}

static void free_all_segments(struct t3_dev *dev)
{
	uint32_t i;

	for (i = 0; i < T3_MAX_SEGMENTS; i++)
		dev->free_segment[i] = T3_MAX_SEGMENTS - 1 - i;
	dev->free_segments = T3_MAX_SEGMENTS;
}

static int allocate(struct t3_dev *dev)
{
	uint32_t i;

	dev->page_space = calloc(dev->config.aperture_size / T3_PAGE_SIZE, sizeof(uint16_t));
	dev->space = calloc(T3_MAX_SPACES, sizeof(struct t3_space));
	dev->segment = calloc(T3_MAX_SEGMENTS, sizeof(struct t3_segment));
	dev->free_segment = calloc(T3_MAX_SEGMENTS, sizeof(uint32_t));
	dev->gemm = calloc(T3_MAX_QUEUES, sizeof(struct t3_gemm_run));
	dev->timed = calloc(T3_MAX_QUEUES, sizeof(struct t3_timed_args));
	if (!dev->page_space || !dev->space || !dev->segment || !dev->free_segment || !dev->gemm ||
	    !dev->timed)
		return -1;
	free_all_segments(dev);
	for (i = 0; i < T3_MAX_SPACES; i++)
		dev->generation[i] = 1;
	return t3_tracker_init(&dev->tracker, dev->config.tracker_entries,
			       dev->config.tracker_ways);
}

struct t3_dev *t3_dev_new(const struct t3_dev_config *config, uint8_t *memory,
			  const struct t3_host_ops *ops, void *opaque)
{
	struct t3_dev *dev;

	if (t3_dev_config_error(config))
		return NULL;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return NULL;
	dev->config = *config;
	dev->mem.host = memory;
	dev->mem.view = memory;
	dev->ops = *ops;
	dev->opaque = opaque;
	dev->incarnation = 1;
	t3_queues_init(dev);
	if (allocate(dev)) {
		t3_dev_free(dev);
		return NULL;
	}
	return dev;
}

void t3_dev_watch(struct t3_dev *dev, const struct t3_mem_watch *watch, void *opaque)
{
	dev->mem.watch = watch;
	dev->mem.opaque = opaque;
}

void t3_dev_free(struct t3_dev *dev)
{
	t3_record_forget(dev);
	free(dev->tracker.entry);
	free(dev->timed);
	free(dev->gemm);
	free(dev->free_segment);
	free(dev->segment);
	free(dev->space);
	free(dev->page_space);
	free(dev);
}

int t3_dev_attach(struct t3_dev *dev, struct t3_fabric *fabric, uint32_t rank)
{
	uint32_t i;

	if (dev->fabric)
		return -3;
	if (rank >= fabric->config.ranks)
		return -1;
	if (fabric->dev[rank])
		return -2;
	if (t3_record_adopt(dev, fabric))
		return -4;
	if (dev->port)
		t3_record_attach(dev->port, rank);
	for (i = 0; i < T3_MAX_RANKS; i++)
		if (fabric->link[rank][i])
			t3_link_notice_loss(fabric->link[rank][i]);
	fabric->dev[rank] = dev;
	dev->fabric = fabric;
	dev->rank = rank;
	t3_engine_attach(dev);
	if (dev->port)
		t3_record_port_end(dev->port, 0, 0);
	return 0;
}

void t3_dev_detach(struct t3_dev *dev)
{
	struct t3_fabric *fabric = dev->fabric;

	if (!fabric)
		return;
	if (dev->port)
		t3_record_device(dev->port, T3_REC_DETACH);
	t3_dev_renew(dev);
	fabric->dev[dev->rank] = NULL;
	dev->fabric = NULL;
	if (fabric->heap.count)
		fabric->ops.kick(fabric->opaque); /* its neighbours are to hear of it */
	if (dev->port)
		t3_record_port_end(dev->port, 0, 0);
}

static void reset_registers(struct t3_dev *dev)
{
	dev->error_status = 0;
	dev->error_enable = 0;
	dev->dma_address = 0;
	dev->event_vector = 0;
	dev->error_vector = 0;
	dev->poison_address = 0;
	dev->admin_command = 0;
	dev->admin_status = 0;
	memset(dev->pending, 0, sizeof(dev->pending));
	memset(dev->enable, 0, sizeof(dev->enable));
	memset(dev->mailbox, 0, sizeof(dev->mailbox));
	memset(dev->counter, 0, sizeof(dev->counter));
}

static void drop_links(struct t3_dev *dev)
{
	uint32_t i;

	for (i = 0; dev->fabric && i < T3_MAX_RANKS; i++) {
		struct t3_link *link = dev->fabric->link[dev->rank][i];

		if (!link)
			continue;
		t3_link_drop_all(link);
		t3_link_lose(link);
	}
}

/*
 * For who cannot read a generation. The peers hear of the reset first: no grant of theirs may
 * be taken for one of the spaces that will have the same numbers.
 */
static void restart_generations(struct t3_dev *dev)
{
	uint32_t i;

	for (i = 0; dev->fabric && i < T3_MAX_RANKS; i++)
		if (dev->fabric->link[dev->rank][i])
			t3_link_notice_loss(dev->fabric->link[dev->rank][i]);
	for (i = 0; i < T3_MAX_SPACES; i++)
		dev->generation[i] = 1;
}

void t3_dev_renew(struct t3_dev *dev)
{
	uint32_t i;

	t3_gang_host(dev->fabric);
	t3_tracker_clear(dev); /* once, before each space would look for its entries */
	for (i = 0; i < T3_MAX_SPACES; i++)
		if (dev->space[i].state != T3_SPACE_FREE)
			t3_space_drop_state(&dev->space[i]);
		else
			t3_space_next_generation(dev, i);
	drop_links(dev);
	if (dev->config.reset_generations)
		restart_generations(dev);
	t3_queues_clear(dev);
	reset_registers(dev);
	dev->incarnation++;
}

/*
 * A reset that trusts nothing of what is there but which slots are in use: for a
 * state that is to be replaced, or that was loaded in part.
 */
void t3_dev_wipe(struct t3_dev *dev)
{
	uint32_t i;

	for (i = 0; i < T3_MAX_SPACES; i++) {
		t3_space_wipe(&dev->space[i]);
		t3_space_next_generation(dev, i);
	}
	for (i = 0; i < T3_MAX_SEGMENTS; i++)
		if (dev->segment[i].space)
			dev->segment[i].space = NULL;
	free_all_segments(dev);
	for (i = 0; dev->fabric && i < T3_MAX_RANKS; i++)
		if (dev->fabric->link[dev->rank][i])
			t3_pump_forget_all(dev->fabric->link[dev->rank][i]);
	t3_tracker_clear(dev);
	dev->tracker.clock = 0;
	t3_queues_wipe(dev);
	reset_registers(dev);
	dev->incarnation++;
}

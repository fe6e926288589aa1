/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of a device: new, attach, reset, detach, free. SPEC.md section 10. */
#include "front/front.h"

const char *t3_dev_config_error(const struct t3_dev_config *config)
{
	uint32_t sets;

	if (config->keys >= T3_KEYS_COUNT)
		return "keys is none of the known rules";
	if (config->without_caps & ~T3_CAPS_OPTIONAL)
		return "without-caps has a bit that is none of TYPES, BYTE_OPS, BITWISE, PRODUCT, "
		       "WIDEN";
	if (!config->memory_size || config->memory_size % T3_PAGE_SIZE)
		return "memory size must be a non-zero multiple of 4096";
	if (!config->aperture_size || config->aperture_size % T3_PAGE_SIZE)
		return "aperture size must be a non-zero multiple of 4096";
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

struct t3_dev *t3_dev_new(const struct t3_dev_config *config, uint8_t *memory,
			  const struct t3_host_ops *ops, void *opaque)
{
	struct t3_front *front;
	struct t3_dev *dev;

	if (t3_dev_config_error(config))
		return NULL;
	front = calloc(1, sizeof(*front));
	if (!front)
		return NULL;
	dev = &front->gangs.queues.spaces.dev;
	dev->config = *config;
	dev->mem.host = memory;
	dev->mem.view = memory;
	dev->ops = *ops;
	dev->opaque = opaque;
	dev->incarnation = 1;
	if (!t3_gangs_init(dev)) {
		t3_dev_free(dev);
		return NULL;
	}
	return dev;
}

void t3_dev_free(struct t3_dev *dev)
{
	t3_record_drop(dev);
	t3_gangs_fini(dev);
	free(t3_front(dev));
}

enum t3_attach t3_dev_attach(struct t3_dev *dev, struct t3_fabric *fabric, uint32_t rank)
{
	uint32_t i;

	if (dev->fabric)
		return T3_ATTACH_TWICE;
	if (rank >= fabric->config.ranks)
		return T3_ATTACH_NO_RANK;
	if (fabric->config.remote >> rank & 1)
		return T3_ATTACH_REMOTE;
	if (fabric->dev[rank])
		return T3_ATTACH_TAKEN;
	if (!t3_record_adopt(dev, fabric))
		return T3_ATTACH_NO_MEMORY;
	if (dev->port)
		t3_record_attach(dev->port, rank);
	for (i = 0; i < T3_FABRIC_ENDS; i++)
		if (fabric->link[rank][i])
			t3_link_notice_loss(fabric->link[rank][i]);
	fabric->dev[rank] = dev;
	dev->fabric = fabric;
	dev->rank = rank;
	t3_engine_attach(dev);
	if (dev->port)
		t3_record_port_end(dev->port, 0, 0);
	return T3_ATTACH_OK;
}

void t3_dev_detach(struct t3_dev *dev)
{
	struct t3_fabric *fabric = dev->fabric;

	if (!fabric)
		return;
	if (dev->port)
		t3_record_device(dev->port, T3_REC_DETACH);
	t3_dev_function_reset(dev);
	t3_engine_detach(dev);
	fabric->dev[dev->rank] = NULL;
	dev->fabric = NULL;
	if (fabric->clock.heap.count)
		fabric->ops.kick(fabric->opaque); /* runs the events that tell its peers */
	if (dev->port)
		t3_record_port_end(dev->port, 0, 0);
}

static void reset_registers(struct t3_dev *dev)
{
	dev->error_status = 0;
	dev->error_enable = 0;
	dev->dma_address = 0;
	t3_spaces(dev)->event_vector = 0;
	dev->error_vector = 0;
	dev->poison_address = 0;
	t3_front(dev)->admin_command = 0;
	t3_front(dev)->admin_status = 0;
	memset(t3_spaces(dev)->pending, 0, sizeof(t3_spaces(dev)->pending));
	memset(t3_spaces(dev)->enable, 0, sizeof(t3_spaces(dev)->enable));
	memset(t3_front(dev)->mailbox, 0, sizeof(t3_front(dev)->mailbox));
	memset(dev->counter, 0, sizeof(dev->counter));
}

static void drop_links(struct t3_dev *dev)
{
	uint32_t i;

	for (i = 0; dev->fabric && i < T3_FABRIC_ENDS; i++) {
		struct t3_link *link = dev->fabric->link[dev->rank][i];

		if (!link)
			continue;
		t3_link_drop_all(link);
		t3_link_schedule_loss(link);
	}
}

/*
 * Sets all generations to 1, for fuzzers that cannot read them. The peers learn of the reset
 * first. Otherwise their grants would match new spaces with the same numbers.
 */
static void restart_generations(struct t3_dev *dev)
{
	uint32_t i;

	for (i = 0; dev->fabric && i < T3_FABRIC_ENDS; i++)
		if (dev->fabric->link[dev->rank][i])
			t3_link_notice_loss(dev->fabric->link[dev->rank][i]);
	for (i = 0; i < T3_MAX_SPACES; i++)
		t3_spaces(dev)->generation[i] = 1;
}

void t3_dev_function_reset(struct t3_dev *dev)
{
	t3_gang_host(dev->fabric);
	t3_spaces_reset(dev);
	drop_links(dev);
	if (dev->config.reset_generations)
		restart_generations(dev);
	t3_queues_reset(dev);
	t3_gangs_clear(dev);
	reset_registers(dev);
	dev->incarnation++;
}

/*
 * Clears a state that is to be replaced, or that was loaded in part. Of the old state it trusts
 * only which slots are in use.
 */
void t3_dev_clear(struct t3_dev *dev)
{
	t3_spaces_clear(dev);
	t3_queues_clear(dev);
	t3_gangs_clear(dev);
	reset_registers(dev);
	dev->incarnation++;
}

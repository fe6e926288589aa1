/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The callbacks that links make into spaces. SPEC.md sections 6.2 and 6.4. */
#include "space/space_private.h"

/* Tells every space in use. A space without grants to or from that rank does nothing. */
static void lost(struct t3_link *link, const uint32_t *generation)
{
	struct t3_dev *dev = link->fabric->dev[link->dst];
	uint32_t id;

	for (id = 0; dev && (id = t3_space_next(dev, id)) < T3_MAX_SPACES; id++)
		t3_epoch_peer_lost(&t3_spaces(dev)->space[id], link->from, generation);
}

static const uint32_t *generation(const struct t3_dev *dev)
{
	return t3_spaces(dev)->generation;
}

const struct t3_link_ops t3_space_link_ops = {
	.receive = t3_packet_receive,
	.receive_group = t3_packet_receive_group,
	.answered = t3_pump_response,
	.generation = generation,
	.room = t3_pump_kick,
	.pump = t3_pump_fire,
	.lost = lost,
};

void t3_space_link_init(struct t3_link *link, struct t3_fabric *fabric, uint32_t src, uint32_t dst)
{
	t3_link_init(link, fabric, src, dst, &t3_space_link_ops);
}

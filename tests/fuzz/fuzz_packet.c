/* SPDX-License-Identifier: MIT */
/*
 * Packets with any contents reach devices whose spaces are in every state. Each packet starts as
 * one that would be accepted. Then the input changes fields of it. So most packets pass the
 * receiver's first checks and meet the later ones.
 */
#include "ops.h"
#include "space/space_private.h"
#include "world.h"

#define STEPS_MAX 512u

struct run {
	struct stream *in;
	struct host *host;
	struct host_dev *to;
	struct t3_link *link; /* leads there */
	uint32_t space;
};

/* The packet that the previous space of the ring would send. */
static struct t3_packet expected(const struct run *run, uint32_t type)
{
	const struct t3_spaces *from = t3_spaces(run->host->dev[run->link->src].dev);
	const struct t3_spaces *to = t3_spaces(run->to->dev);
	struct t3_packet packet = {
		.type = (uint8_t)type,
		.op = T3_OP_ADD,
		.dtype = T3_DTYPE_I32,
		.src_rank = (uint16_t)run->link->src,
		.dst_rank = (uint16_t)run->link->dst,
		.src_space = run->space,
		.src_generation = from->generation[run->space],
		.dst_space = run->space,
		.dst_generation = to->generation[run->space],
		.epoch = to->space[run->space].epoch,
		.incarnation = run->link->incarnation,
		.sequence = (uint32_t)run->link->receiver.expect,
	};

	return packet;
}

static void deliver(struct run *run, const struct t3_packet *packet)
{
	uint8_t payload[T3_PACKET_PAYLOAD];
	uint32_t i, bits = stream_u32(run->in), nak;

	for (i = 0; i < sizeof(payload); i += sizeof(bits))
		memcpy(payload + i, &bits, sizeof(bits));
	nak = t3_packet_receive(run->link, packet, payload);
	assert_true(nak <= T3_NAK_MALFORMED);
}

static void update(struct run *run)
{
	struct t3_packet packet = expected(run, T3_PKT_UPDATE);
	uint32_t place = stream_u8(run->in);

	packet.segment = place & 3;
	packet.row = place >> 2 & 3;
	packet.col = 4 * (place >> 4 & 3);
	packet.length = 4 * (1 + (place >> 6));
	stream_patch(run->in, &packet, sizeof(packet));
	deliver(run, &packet);
}

static void control(struct run *run)
{
	static const uint8_t types[] = { T3_PKT_ARM_QUERY, T3_PKT_STATE, T3_PKT_POISON };
	struct t3_packet packet = expected(run, types[stream_u8(run->in) % 3]);

	packet.arg = stream_u8(run->in);
	stream_patch(run->in, &packet, sizeof(packet));
	deliver(run, &packet);
}

static void raw(struct run *run)
{
	struct t3_packet packet;

	stream_bytes(run->in, &packet, sizeof(packet));
	deliver(run, &packet);
}

static void fill(struct run *run)
{
	host_fill(run->to, run->space, stream_u8(run->in) % 3, stream_u32(run->in));
}

static void arm(struct run *run)
{
	world_arm(run->host, run->space);
}

static void release(struct run *run)
{
	host_release(run->to, run->space, host_query(run->to, run->space).epoch);
}

static void events(struct run *run)
{
	uint32_t what = stream_u8(run->in);

	t3_fabric_set_inline_budget(run->host->fabric, what & 0x80 ? T3_INLINE_BUDGET : 0);
	t3_fabric_run(run->host->fabric, what & 0x7f);
}

/* RESET, DISABLE, DESTROY, and build the missing objects again. */
static void command(struct run *run)
{
	uint32_t what = stream_u8(run->in);

	if (what & 1)
		host_space_command(run->to, T3_CMD_SPACE_RESET, run->space);
	if (what & 2)
		host_space_command(run->to, T3_CMD_SPACE_DISABLE, run->space);
	if (what & 4)
		host_space_command(run->to, T3_CMD_SPACE_DESTROY, run->space);
	if (what & 8)
		world_build(run->host, run->space, T3_DTYPE_I32, 1 + (what >> 4 & 3));
}

static void (*const operations[OP_PACKET_COUNT])(struct run *) = {
	[OP_PKT_UPDATE] = update, [OP_PKT_CONTROL] = control, [OP_PKT_RAW] = raw,
	[OP_PKT_FILL] = fill,	  [OP_PKT_ARM] = arm,	      [OP_PKT_RELEASE] = release,
	[OP_PKT_EVENTS] = events, [OP_PKT_COMMAND] = command,
};

/* Run the consequences of an operation, except those that a budget of 0 leaves. */
static void one(struct stream *in, struct host *host)
{
	struct run run = { .in = in, .host = host };
	uint32_t steps, space;

	for (space = 0; space < 2; space++)
		world_build(host, space, T3_DTYPE_I32, 1 + space);
	for (steps = 0; steps < STEPS_MAX && stream_more(in); steps++) {
		uint32_t op = stream_u8(in), rank = op >> 4 & 3;

		rank %= host->ranks;
		run.to = &host->dev[rank];
		run.link = host->fabric->link[(rank + host->ranks - 1) % host->ranks][rank];
		run.space = op >> 6 & 1;
		operations[(op & 15) % OP_PACKET_COUNT](&run);
		t3_fabric_run(host->fabric, host->fabric->inline_budget);
	}
}

const struct fuzz_target fuzz_target = { .one = one };

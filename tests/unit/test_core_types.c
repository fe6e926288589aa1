/* SPDX-License-Identifier: MIT */
/*
 * Types and ops of near-memory compute as capabilities, SPEC.md sections 1.1 and 4: a device that
 * lacks one refuses it in each place where a type or an op comes in. White-box for packets alone,
 * because no source can be brought to send what its own device lacks.
 */
#include "host.h"
#include "migrate.h"
#include "queue.h"
#include "ref.h"
#include "space/space_private.h"
#include "test.h"

#define OPTIONAL (T3_CAP_TYPES | T3_CAP_BYTE_OPS | T3_CAP_BITWISE | T3_CAP_PRODUCT | T3_CAP_WIDEN)

static const uint32_t without[] = {
	0, T3_CAP_TYPES, T3_CAP_BYTE_OPS, T3_CAP_BITWISE, T3_CAP_PRODUCT, T3_CAP_WIDEN, OPTIONAL,
};

#define WITHOUT (sizeof(without) / sizeof(without[0]))

/* Rank 1 lacks these capabilities; rank 0 has all. */
static struct host *host_without(uint32_t caps)
{
	struct host *host = host_ring(2);

	host->dev[1].without_caps = caps;
	host_replace(host, 1, false);
	return host;
}

/* The table of section 4, written once more. */
static bool has(uint32_t lacking, uint32_t dtype, uint32_t op)
{
	if (dtype >= T3_DTYPE_COUNT || op >= T3_OP_COUNT || !ref_has(dtype, op))
		return false;
	if (dtype > T3_DTYPE_I8 && (lacking & T3_CAP_TYPES))
		return false;
	if (ref_size(dtype) == 1 && op != T3_OP_STORE && (lacking & T3_CAP_BYTE_OPS))
		return false;
	if (op >= T3_OP_AND && op <= T3_OP_XOR && (lacking & T3_CAP_BITWISE))
		return false;
	return op != T3_OP_MUL || !(lacking & T3_CAP_PRODUCT);
}

static uint32_t ops_of(uint32_t lacking)
{
	uint32_t ops = 0, op;

	for (op = 0; op < T3_OP_COUNT; op++)
		ops |= (uint32_t)has(lacking, T3_DTYPE_I32, op) << op;
	return ops;
}

TEST("CAPS has no capability that the device lacks")
{
	size_t i;

	for (i = 0; i < WITHOUT; i++) {
		struct host *host = host_without(without[i]);

		assert_int_equal(host_reg(&host->dev[0], T3_REG_CAPS) & OPTIONAL, OPTIONAL);
		assert_int_equal(host_reg(&host->dev[1], T3_REG_CAPS) & OPTIONAL,
				 OPTIONAL & ~without[i]);
		assert_int_equal(host_reg(&host->dev[0], T3_REG_CAPS) & ~OPTIONAL,
				 host_reg(&host->dev[1], T3_REG_CAPS) & ~OPTIONAL);
		host_free(host);
	}
}

TEST("no other capability can be taken away")
{
	struct t3_dev_config config = { .memory_size = T3_PAGE_SIZE,
					.aperture_size = T3_PAGE_SIZE,
					.tracker_entries = 1,
					.tracker_ways = 1,
					.without_caps = OPTIONAL };
	uint32_t bit;

	assert_null(t3_dev_config_error(&config));
	for (bit = 0; bit < 32; bit++) {
		config.without_caps = 1u << bit;
		if (OPTIONAL >> bit & 1)
			assert_null(t3_dev_config_error(&config));
		else
			assert_non_null(t3_dev_config_error(&config));
	}
}

static uint32_t map_status(struct host_dev *d, uint32_t dtype, uint32_t op, uint32_t target_op)
{
	uint32_t kind = target_op == HOST_NONE32 ? T3_SEG_LOCAL : T3_SEG_DMA, status;
	struct t3_cmd_seg_map map = host_segment(0, 0, kind, op, dtype);

	map.target_op = (uint8_t)(target_op == HOST_NONE32 ? 0 : target_op);
	status = host_command(d, T3_CMD_SEG_MAP, &map, sizeof(map));
	if (status == T3_ADMIN_OK)
		host_index_command(d, T3_CMD_SEG_UNMAP, 0, 0);
	return status;
}

TEST("a segment has what the device has and nothing else")
{
	uint32_t dtype, op;
	size_t i;

	for (i = 0; i < WITHOUT; i++) {
		struct host *host = host_without(without[i]);
		struct host_dev *d = &host->dev[1];

		host_space(&host->dev[0], 0);
		host_space(d, 0);
		host_route(d, 0, 0, &host->dev[0], 0, 0);
		for (dtype = 0; dtype <= T3_DTYPE_COUNT; dtype++)
			for (op = 0; op <= T3_OP_COUNT; op++) {
				uint32_t status = has(without[i], dtype, op) ? T3_ADMIN_OK
									     : T3_ADMIN_BAD_VALUE;

				assert_int_equal(map_status(d, dtype, op, HOST_NONE32), status);
				assert_int_equal(map_status(d, dtype, 0, op), status);
			}
		host_free(host);
	}
}

static uint32_t import_status(struct host_dev *d, uint32_t ops)
{
	struct t3_cmd_import_set cmd = { 0, 0, 0, 0, 1, ops, 1 };
	uint32_t status = host_command(d, T3_CMD_IMPORT_SET, &cmd, sizeof(cmd));

	if (status == T3_ADMIN_OK)
		host_index_command(d, T3_CMD_IMPORT_CLEAR, 0, 0);
	return status;
}

static uint32_t key_status(struct host_dev *d, uint32_t ops)
{
	struct t3_cmd_key_set cmd = {
		.rank_mask = 1, .op_mask = ops, .segment_mask = 1, .key = { 1 }
	};
	uint32_t status = host_command(d, T3_CMD_KEY_SET, &cmd, sizeof(cmd));

	if (status == T3_ADMIN_OK)
		host_index_command(d, T3_CMD_IMPORT_CLEAR, 0, 0);
	return status;
}

TEST("grants have no op that the device lacks")
{
	uint32_t ops;
	size_t i;

	for (i = 0; i < WITHOUT; i++) {
		struct host *host = host_without(without[i]);
		struct host_dev *d = &host->dev[1];

		host_space(d, 0);
		for (ops = 0; ops <= 1u << T3_OP_COUNT; ops++) {
			uint32_t status = ops && !(ops & ~ops_of(without[i])) ? T3_ADMIN_OK
									      : T3_ADMIN_BAD_VALUE;

			assert_int_equal(import_status(d, ops), status);
			assert_int_equal(key_status(d, ops), status);
		}
		host_free(host);
	}
}

/* The field that is wrong: op, if the device does not know it at all or not with this type. */
static uint32_t wrong_field(uint32_t lacking, uint32_t dtype, uint32_t op)
{
	if (has(lacking, dtype, op))
		return HOST_NONE32;
	if (op >= T3_OP_COUNT || !(ops_of(lacking) >> op & 1) || has(lacking, dtype, T3_OP_STORE))
		return offsetof(struct t3_descriptor, op);
	return offsetof(struct t3_descriptor, dtype);
}

TEST("an UPDATE of what the device lacks is refused at its field")
{
	uint32_t dtype, op, index, field;
	size_t i;

	for (i = 0; i < WITHOUT; i++) {
		struct host *host = host_without(without[i]);
		struct queue q = queue_new(&host->dev[1], 0, 0);

		for (dtype = 0; dtype <= T3_DTYPE_COUNT; dtype++)
			for (op = 0; op <= T3_OP_COUNT; op++) {
				struct t3_descriptor d =
					queue_update(0x200000, 0x300000, 8, op, dtype);

				index = queue_submit(&q, &d);
				field = wrong_field(without[i], dtype, op);
				if (field == HOST_NONE32) {
					queue_expect(&q, index, T3_DESC_OK, 0);
					continue;
				}
				queue_expect(&q, index, T3_DESC_BAD_DESCRIPTOR, field);
				queue_abort(&q);
			}
		host_free(host);
	}
}

/* The space does not exist, so a well-formed packet is refused for that. */
TEST("a packet with what the device lacks is malformed")
{
	uint8_t payload[8] = { 0 };
	uint32_t dtype, op;
	size_t i;

	for (i = 0; i < WITHOUT; i++) {
		struct host *host = host_without(without[i]);
		struct t3_link *link = host->fabric->link[0][1];

		for (dtype = 0; dtype <= T3_DTYPE_COUNT; dtype++)
			for (op = 0; op <= T3_OP_COUNT; op++) {
				struct t3_packet packet = { .type = T3_PKT_UPDATE,
							    .op = (uint8_t)op,
							    .dtype = (uint8_t)dtype,
							    .dst_rank = 1,
							    .length = 8 };

				assert_int_equal(t3_packet_receive(link, &packet, payload),
						 has(without[i], dtype, op) ? T3_NAK_NO_SPACE
									    : T3_NAK_MALFORMED);
			}
		host_free(host);
	}
}

/* A packet of half an element, where no device is, too. */
TEST("an UPDATE is whole elements of eight bytes")
{
	struct t3_packet packet = { .type = T3_PKT_UPDATE,
				    .op = T3_OP_ADD,
				    .dtype = T3_DTYPE_F64,
				    .dst_rank = 1,
				    .length = 12 };
	struct host *host = host_ring(2);
	uint8_t payload[16] = { 0 };

	assert_int_equal(t3_packet_receive(host->fabric->link[0][1], &packet, payload),
			 T3_NAK_MALFORMED);
	t3_dev_detach(host->dev[1].dev);
	assert_int_equal(t3_packet_receive(host->fabric->link[0][1], &packet, payload),
			 T3_NAK_MALFORMED);
	packet.length = 16;
	assert_int_equal(t3_packet_receive(host->fabric->link[0][1], &packet, payload),
			 T3_NAK_NO_DEVICE);
	packet.dtype = T3_DTYPE_COUNT;
	assert_int_equal(t3_packet_receive(host->fabric->link[0][1], &packet, payload),
			 T3_NAK_MALFORMED);
	host_attach(host, 1);
	host_free(host);
}

/* One store is one element, wherever it is counted. */
TEST("a store of a double is one update")
{
	struct host *host = host_ring(2);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_seg_map map = host_segment(1, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_F64);
	uint64_t sum;

	host_space(d, 1);
	map.updates = 2;
	host_map(d, &map);
	host_arm(d, 1, 1);
	host_store(d, 1, 8, 0x3ff8000000000000, 8); /* 1.5 */
	host_store(d, 1, 8, 0x3cb8000000000000, 8);
	memcpy(&sum, host_buffer(d, 1) + 8, 8);
	assert_int_equal(sum, 0x3ff8000000000002); /* 1.5 units more, to even */
	assert_int_equal(host_stats(d, 1, 0).stores, 2);
	assert_int_equal(host_stats(d, 1, 0).nmc_elements, 2);
	assert_int_equal(host_counter(d, T3_COUNTER_NMC_ELEMENTS), 2);
	host_store(d, 1, 0, 1, 4); /* half an element */
	host_expect_cpu_fault(d, 1, T3_FAULT_WIDTH, 0, HOST_NONE32, 0);
	host_free(host);
}

TEST("a saved state of a device that lacks more is refused")
{
	struct host *good = host_without(0), *other = host_without(T3_CAP_PRODUCT);
	struct blobs blobs;

	blobs_save(&blobs, good);
	assert_string_equal(blobs_load(&blobs, other, 0), "without-caps differs");
	t3_fabric_clear(other->fabric);
	blobs_free(&blobs);
	host_free(other);
	host_free(good);
}

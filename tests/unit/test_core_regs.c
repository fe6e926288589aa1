/* SPDX-License-Identifier: MIT */
/* BAR0, in what the manual's table (tests/spec) and tests/conformance do not have: SPEC.md 1.1. */
#include "host.h"
#include "test.h"

static uint32_t errors_of(struct host_dev *d)
{
	uint32_t errors = d->guest_errors;

	d->guest_errors = 0;
	host_set(d, T3_REG_ERROR_STATUS, T3_ERROR_ALL, 4);
	return errors;
}

/* What the manual's table has as properties. */
TEST("each property has its register")
{
	static const struct {
		uint32_t offset, width;
		uint64_t value;
	} list[] = {
		{ T3_REG_CAPS, 4, 0x1ffbf },
		{ T3_REG_MEMORY_SIZE, 8, HOST_MEMORY },
		{ T3_REG_APERTURE_SIZE, 8, HOST_APERTURE },
		{ T3_REG_FABRIC_ID, 8, 0x1122334455667788ull },
		{ T3_REG_RANK, 4, 1 },
		{ T3_REG_RANKS, 4, 3 },
		{ T3_REG_TOPOLOGY, 4, T3_TOPOLOGY_RING },
		{ T3_REG_TRACKER, 4, 256 << 8 | 8 },
		{ T3_REG_NODE_RANKS, 4, 7 },
	};
	struct host *host = host_ring(3);
	size_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		assert_int_equal(host_get(&host->dev[1], list[i].offset, list[i].width),
				 list[i].value);
	host_free(host);
}

TEST("a fabric has up to 32 ranks")
{
	struct host *host = host_ring(T3_MAX_RANKS);
	struct host_dev *last = &host->dev[T3_MAX_RANKS - 1];

	assert_int_equal(host_reg(last, T3_REG_RANK), T3_MAX_RANKS - 1);
	assert_int_equal(host_reg(last, T3_REG_RANKS), T3_MAX_RANKS);
	assert_int_equal(host_reg(last, T3_REG_NODE_RANKS), 0xffffffff);
	host_free(host);
}

TEST("an access beyond the registers reports an error")
{
	static const uint64_t offsets[] = {
		0x600, 0x10000, 0x10800, 0x3ffffc, 0x800000, 0x800008, 0xfffffffffffffff8ull
	};
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	size_t i;

	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		assert_int_equal(host_get(d, offsets[i], 4), 0);
		host_set(d, offsets[i], 1, 4);
		assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_GUEST);
		assert_int_equal(errors_of(d), 2);
	}
	host_free(host);
}

TEST("a device without a fabric works alone")
{
	struct host *host = host_ring(2);
	struct host_dev *d = &host->dev[1];

	t3_dev_detach(d->dev);
	t3_dev_detach(d->dev); /* twice is once */
	assert_int_equal(host_reg(d, T3_REG_RANKS), 1);
	assert_int_equal(host_reg(d, T3_REG_TOPOLOGY), T3_TOPOLOGY_NONE);
	assert_int_equal(host_get(d, T3_REG_VCLOCK, 8), 0);
	host_space(d, 0); /* works alone */
	host_local(d, 0, 0);
	host_arm(d, 0, 1);
	host_fill(d, 0, 0, 7);
	host_expect(d, 0, T3_SPACE_COMPLETE, 1);
	assert_int_equal(t3_dev_attach(d->dev, host->fabric, 2), T3_ATTACH_NO_RANK);
	assert_int_equal(t3_dev_attach(d->dev, host->fabric, 0), T3_ATTACH_TAKEN);
	host_attach(host, 1);
	assert_int_equal(t3_dev_attach(d->dev, host->fabric, 1), T3_ATTACH_TWICE);
	host_free(host);
}

TEST("a wrong configuration is refused")
{
	struct t3_dev_config good = { 4096, 8192, 8, 2, false, false, T3_KEYS_FABRIC, 0 }, c;
	struct t3_fabric_config fabric = { .topology = T3_TOPOLOGY_RING, .ranks = 1, .id = 1 };
	struct t3_fabric_ops ops = { NULL };

	assert_null(t3_dev_config_error(&good));
#define BAD(field, value)                                      \
	do {                                                   \
		c = good;                                      \
		c.field = value;                               \
		assert_non_null(t3_dev_config_error(&c));      \
		assert_null(t3_dev_new(&c, NULL, NULL, NULL)); \
	} while (0)
	BAD(memory_size, 0);
	BAD(memory_size, 4097);
	BAD(aperture_size, 0);
	BAD(aperture_size, 100);
	BAD(tracker_entries, 0);
	BAD(tracker_entries, 7);
	BAD(tracker_entries, 6);
	BAD(tracker_entries, 131072);
	BAD(tracker_ways, 0);
	BAD(tracker_ways, 65);
	BAD(keys, T3_KEYS_COUNT);
#undef BAD
	fabric.ranks = 0;
	assert_null(t3_fabric_new(&fabric, &ops, NULL));
	fabric.ranks = 33;
	assert_null(t3_fabric_new(&fabric, &ops, NULL));
	fabric.ranks = 1;
	fabric.id = 0;
	assert_null(t3_fabric_new(&fabric, &ops, NULL));
	fabric.id = 1;
	fabric.topology = 3;
	assert_null(t3_fabric_new(&fabric, &ops, NULL));
}

/* SPDX-License-Identifier: MIT */
/* BAR0 registers and interrupts: SPEC.md section 1.1. The table repeats the manual's. */
#include "host.h"

enum access { RO, RW, RW1C, ADMIN, CONTROL, TAIL };

#define ANY HOST_NONE64 /* reset value */

struct row {
	uint32_t offset;
	uint32_t words;
	uint32_t width;
	enum access access;
	uint64_t reset;
	uint32_t mask; /* RW: bits that keep what is written */
};

static const struct row rows[] = {
	{ 0x000, 1, 4, RO, 0x57483354, 0 },
	{ 0x004, 1, 4, RO, T3_VERSION_VALUE, 0 },
	{ 0x008, 1, 4, RO, 0xfbf, 0 },
	{ 0x00c, 1, 4, CONTROL, 0, 0 },
	{ 0x010, 1, 8, RO, HOST_MEMORY, 0 },
	{ 0x018, 1, 8, RO, HOST_APERTURE, 0 },
	{ 0x020, 1, 4, RO, 1024, 0 },
	{ 0x024, 1, 4, RO, 4096, 0 },
	{ 0x028, 1, 8, RO, 0x1122334455667788ull, 0 },
	{ 0x030, 1, 4, RO, 1, 0 },
	{ 0x034, 1, 4, RO, 3, 0 },
	{ 0x038, 1, 4, RO, 1, 0 },
	{ 0x03c, 1, 4, RO, 256 << 8 | 8, 0 },
	{ 0x040, 1, 8, RO, 0, 0 },
	{ 0x048, 1, 4, RO, ANY, 0 }, /* only its change means something */
	{ 0x04c, 1, 4, RO, 7, 0 },
	{ 0x080, 1, 4, RW1C, 0, 0 },
	{ 0x084, 1, 4, RW, 0, 0x1f },
	{ 0x088, 1, 4, RW, 0, 3 },
	{ 0x08c, 1, 4, RW, 0, 3 },
	{ 0x090, 1, 4, RO, 0, 0 },
	{ 0x094, 1, 4, RW, 0, 3 },
	{ 0x098, 2, 4, RW1C, 0, 0 },
	{ 0x0a0, 2, 4, RW, 0, 0xffffffff },
	{ 0x0a8, 1, 4, RO, 64, 0 },
	{ 0x0ac, 1, 4, RO, 256, 0 },
	{ 0x0b0, 1, 8, RO, 0, 0 },
	{ 0x0b8, 1, 8, RO, 0, 0 },
	{ 0x100, 32, 4, RW1C, 0, 0 },
	{ 0x180, 32, 4, RW, 0, 0xffffffff },
	{ 0x200, 1, 4, ADMIN, 0, 0 },
	{ 0x204, 1, 4, RO, 0, 0 },
	{ 0x300, 32, 8, RW, 0, 0xffffffff },
	{ 0x400, T3_COUNTER_COUNT, 8, RO, 0, 0 },
	{ 0x800, 256, 8, RO, 0, 0 },
	{ 0x1000, 64, 4, TAIL, 0, 0 }, /* of queues that do not exist */
	{ 0x1100, 64, 4, RO, 0, 0 },
	{ 0x1200, 64, 4, RO, 0, 0 },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static uint32_t errors_of(struct host_dev *d)
{
	uint32_t errors = d->guest_errors;

	d->guest_errors = 0;
	host_set(d, T3_REG_ERROR_STATUS, T3_ERROR_ALL, 4);
	return errors;
}

static const struct row *row_of(uint32_t offset)
{
	size_t i;

	for (i = 0; i < ROWS; i++)
		if (offset >= rows[i].offset &&
		    offset < rows[i].offset + rows[i].words * rows[i].width)
			return &rows[i];
	return NULL;
}

static void test_reset_values(void **state)
{
	struct host *host = host_ring(3);
	struct host_dev *d = &host->dev[1];
	uint32_t offset;

	(void)state;
	for (offset = 0; offset < 0x1400; offset += 4) {
		const struct row *row = row_of(offset);
		uint32_t shift = row && row->width == 8 && offset % 8 ? 32 : 0;

		uint32_t value = host_reg(d, offset);

		assert_int_equal(errors_of(d), row ? 0 : 1);
		if (!row || row->reset != ANY)
			assert_int_equal(value, row ? (uint32_t)(row->reset >> shift) : 0);
	}
	host_free(host);
}

static void test_widths(void **state)
{
	struct host *host = host_ring(3);
	struct host_dev *d = &host->dev[1];
	uint32_t incarnation = host_reg(d, T3_REG_INCARNATION), offset;

	(void)state;
	for (offset = 0; offset < 0x1400; offset++) {
		const struct row *row = row_of(offset);
		bool wide = row && row->width == 8 && offset % 8 == 0;

		assert_int_equal(host_get(d, offset, 8), wide ? row->reset : 0);
		assert_int_equal(errors_of(d), wide ? 0 : 1);
		assert_int_equal(host_get(d, offset, 1), 0);
		assert_int_equal(host_get(d, offset, 2), 0);
		host_set(d, offset, 1, 1);
		host_set(d, offset, 1, 2);
		assert_int_equal(errors_of(d), 4);
		if (offset % 4)
			host_set(d, offset, ~0u, 4);
		if (!wide)
			host_set(d, offset, HOST_NONE64, 8);
		errors_of(d);
	}
	/* None of that was a reset or a command. */
	assert_int_equal(host_reg(d, T3_REG_INCARNATION), incarnation);
	assert_int_equal(host_reg(d, T3_REG_ADMIN_COMMAND), 0);
	host_free(host);
}

static void test_beyond(void **state)
{
	static const uint64_t offsets[] = {
		0x600, 0x10000, 0x10800, 0x3ffffc, 0x800000, 0x800008, 0xfffffffffffffff8ull
	};
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		assert_int_equal(host_get(d, offsets[i], 4), 0);
		host_set(d, offsets[i], 1, 4);
		assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_GUEST);
		assert_int_equal(errors_of(d), 2);
	}
	host_free(host);
}

static void write_and_read(struct host_dev *d, const struct row *row, uint32_t word)
{
	uint32_t offset = row->offset + word * row->width;
	uint32_t value = 0xa5a5a5a5u ^ word;

	if (row->mask == T3_MAX_VECTORS - 1)
		value = 2;
	host_set(d, offset, value, 4);
	assert_int_equal(host_reg(d, offset), value & row->mask);
	if (row->width == 4)
		return;
	host_set(d, offset + 4, ~value, 4); /* the other half, alone */
	assert_int_equal(host_get(d, offset, 8), (uint64_t)~value << 32 | value);
	host_set(d, offset, 0x0123456789abcdefull, 8);
	assert_int_equal(host_reg(d, offset), 0x89abcdef);
	assert_int_equal(host_reg(d, offset + 4), 0x01234567);
}

static void test_access(void **state)
{
	struct host *host = host_ring(3);
	struct host_dev *d = &host->dev[1];
	uint32_t word;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS; i++)
		for (word = 0; word < rows[i].words; word++) {
			uint32_t offset = rows[i].offset + word * rows[i].width;

			if (rows[i].access == RW) {
				write_and_read(d, &rows[i], word);
				assert_int_equal(errors_of(d), 0);
			} else if (rows[i].access == RO) {
				uint64_t old = host_get(d, offset, rows[i].width);

				host_set(d, offset, ~old, rows[i].width);
				assert_int_equal(errors_of(d), 1);
				assert_int_equal(host_get(d, offset, rows[i].width), old);
			}
		}
	host_free(host);
}

static void test_vectors(void **state)
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	uint32_t value;

	(void)state;
	for (value = 0; value < 4; value++) {
		host_set(d, T3_REG_EVENT_VECTOR, value, 4);
		host_set(d, T3_REG_ERROR_VECTOR, 3 - value, 4);
		assert_int_equal(host_reg(d, T3_REG_EVENT_VECTOR), value);
		assert_int_equal(host_reg(d, T3_REG_ERROR_VECTOR), 3 - value);
	}
	assert_int_equal(errors_of(d), 0);
	host_set(d, T3_REG_EVENT_VECTOR, 4, 4);
	host_set(d, T3_REG_ERROR_VECTOR, 0xffffffff, 4);
	assert_int_equal(errors_of(d), 2);
	assert_int_equal(host_reg(d, T3_REG_EVENT_VECTOR), 3);
	assert_int_equal(host_reg(d, T3_REG_ERROR_VECTOR), 0);
	host_free(host);
}

static void test_error_interrupt(void **state)
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];

	(void)state;
	host_set(d, T3_REG_ERROR_VECTOR, 2, 4);
	host_get(d, 0x600, 4); /* not enabled: status only */
	assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_GUEST);
	assert_int_equal(d->irqs[2], 0);
	host_set(d, T3_REG_ERROR_ENABLE, T3_ERROR_ALL, 4); /* only a bit that becomes 1 */
	assert_int_equal(d->irqs[2], 0);
	host_get(d, 0x600, 4); /* is 1 already */
	assert_int_equal(d->irqs[2], 0);
	host_set(d, T3_REG_ERROR_STATUS, T3_ERROR_LINK | T3_ERROR_HOST_DMA, 4);
	assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_GUEST);
	host_set(d, T3_REG_ERROR_STATUS, T3_ERROR_GUEST, 4);
	assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), 0);
	host_get(d, 0x600, 4);
	assert_int_equal(d->irqs[2], 1);
	assert_int_equal(host_counter(d, T3_COUNTER_INTERRUPTS), 1);
	host_free(host);
}

/* CREATE sets PENDING of its space: the cheapest event. */
static void test_event_interrupt(void **state)
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];

	(void)state;
	host_set(d, T3_REG_EVENT_VECTOR, 1, 4);
	host_set(d, T3_REG_SPACE_ENABLE + 4, 1u << 3, 4);
	host_space(d, 2); /* not enabled */
	assert_int_equal(host_reg(d, T3_REG_SPACE_PENDING), 1u << 2);
	assert_int_equal(host_reg(d, T3_REG_EVENT_SUMMARY), 0);
	assert_int_equal(d->irqs[1], 0);
	host_set(d, T3_REG_SPACE_ENABLE, 1u << 2, 4); /* enabling what is pending */
	assert_int_equal(d->irqs[1], 1);
	assert_int_equal(host_reg(d, T3_REG_EVENT_SUMMARY), 1);
	host_set(d, T3_REG_SPACE_ENABLE, 1u << 2 | 1u << 9, 4); /* no new 0 to 1 */
	assert_int_equal(d->irqs[1], 1);
	host_arm(d, 2, 1); /* pending already: no second one */
	assert_int_equal(d->irqs[1], 1);
	host_set(d, T3_REG_SPACE_PENDING, ~(1u << 2), 4);
	assert_int_equal(host_reg(d, T3_REG_SPACE_PENDING), 1u << 2);
	host_set(d, T3_REG_SPACE_PENDING, 1u << 2, 4);
	assert_int_equal(host_reg(d, T3_REG_SPACE_PENDING), 0);
	assert_int_equal(host_reg(d, T3_REG_EVENT_SUMMARY), 0);
	host_release(d, 2, 1); /* news again */
	assert_int_equal(d->irqs[1], 2);
	host_set(d, T3_REG_SPACE_ENABLE, 0, 4);
	assert_int_equal(host_reg(d, T3_REG_EVENT_SUMMARY), 0);
	host_set(d, T3_REG_SPACE_ENABLE, 0xffffffff, 4); /* off and on: 0 to 1 */
	assert_int_equal(d->irqs[1], 3);
	assert_int_equal(host_counter(d, T3_COUNTER_INTERRUPTS), 3);
	host_free(host);
}

static void test_summary_words(void **state)
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	uint32_t word;

	(void)state;
	for (word = 0; word < 32; word += 31) {
		struct t3_cmd_space_create cmd = host_space_args(word * 32 + 31);

		cmd.aperture_offset = word * T3_PAGE_SIZE;
		cmd.size = T3_PAGE_SIZE;
		cmd.buffer = 0;
		cmd.counters = HOST_COUNTERS;
		assert_int_equal(host_command(d, T3_CMD_SPACE_CREATE, &cmd, sizeof(cmd)),
				 T3_ADMIN_OK);
		host_set(d, T3_REG_SPACE_ENABLE + 4 * word, 1u << 31, 4);
		assert_int_equal(host_reg(d, T3_REG_SPACE_PENDING + 4 * word), 1u << 31);
	}
	assert_int_equal(host_reg(d, T3_REG_EVENT_SUMMARY), 1u << 31 | 1);
	assert_int_equal(d->irqs[0], 2);
	host_free(host);
}

static void test_function_reset(void **state)
{
	struct host *host = host_ring(2);
	struct host_dev *d = &host->dev[0];
	uint32_t incarnation = host_reg(d, T3_REG_INCARNATION);
	uint32_t generation = host_space(d, 3), offset;

	(void)state;
	assert_int_not_equal(generation, 0);
	d->memory[0x1234] = 0x5a;
	for (offset = 0x080; offset < 0x400; offset += 4)
		if (row_of(offset) && row_of(offset)->access == RW)
			host_set(d, offset, 2, 4);
	host_set(d, T3_REG_CONTROL, 2, 4); /* not the reset bit */
	assert_int_equal(host_reg(d, T3_REG_INCARNATION), incarnation);
	host_set(d, T3_REG_CONTROL, T3_CONTROL_RESET, 4);
	assert_int_equal(host_reg(d, T3_REG_INCARNATION), incarnation + 1);
	errors_of(d);
	for (offset = 0x080; offset < 0x1400; offset += 4)
		if (row_of(offset))
			assert_int_equal(host_reg(d, offset), row_of(offset)->reset);
	assert_int_equal(d->memory[0x1234], 0x5a);
	assert_int_equal(host_doorbell_read(d, 3, T3_DB_STATE, 8), HOST_NONE64);
	assert_int_equal(host_query(d, 3).state, T3_SPACE_FREE);
	assert_int_equal(host_query(d, 3).generation, generation + 1);
	assert_int_equal(host_space(d, 3), generation + 1);
	assert_int_equal(errors_of(d), 0);
	host_free(host);
}

/* Every slot's generation moves, so that no grant from before the reset can match. */
static void test_reset_generation_of_free(void **state)
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	uint32_t generation = host_query(d, 1023).generation;

	(void)state;
	assert_int_not_equal(generation, 0);
	t3_dev_reset(d->dev);
	assert_int_equal(host_query(d, 1023).generation, generation + 1);
	host_free(host);
}

static void test_without_fabric(void **state)
{
	struct host *host = host_ring(2);
	struct host_dev *d = &host->dev[1];

	(void)state;
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

static void test_config(void **state)
{
	struct t3_dev_config good = { 4096, 8192, 8, 2, false, false, T3_KEYS_FABRIC }, c;
	struct t3_fabric_config fabric = { .topology = T3_TOPOLOGY_RING, .ranks = 1, .id = 1 };
	struct t3_fabric_ops ops = { NULL };

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reset_values),
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_beyond),
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_error_interrupt),
		cmocka_unit_test(test_event_interrupt),
		cmocka_unit_test(test_summary_words),
		cmocka_unit_test(test_function_reset),
		cmocka_unit_test(test_reset_generation_of_free),
		cmocka_unit_test(test_without_fabric),
		cmocka_unit_test(test_config),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

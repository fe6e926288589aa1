// SPDX-License-Identifier: MIT
/* SPEC.md 9.1 and 2.3: the ring of faults; LINK_QUERY. */
#include <string.h>

#include "conf.h"
#include "pair.h"

CONF_SECTION("9.1", "ring of faults, links");

static struct t3_fault_record ring_record(const struct conf_space *s, uint32_t number)
{
	struct t3_fault_record record;

	memcpy(&record, (const void *)&s->events->ring[(number - 1) % T3_FAULT_RING],
	       sizeof(record));
	return record;
}

static void wait_faults(struct conf *c, struct conf_space *s, uint32_t wanted)
{
	struct conf_deadline deadline = conf_deadline(c);

	while (s->events->faults != wanted && conf_pause(&deadline))
		;
	CHECK_EQUAL(c, "faults", s->events->faults, wanted);
}

/* Many faults of two kinds, alternating. Each is in its place, and the first one is kept apart. */
TEST("the ring has each fault in its place", .rows = 6, .devices = 2)
{
	static const uint32_t counts[] = { 1, 2, 15, 16, 17, 40 };
	uint32_t count = counts[row], oldest;
	struct t3_fault_record record, first;
	struct pair pair;
	uint64_t time = 0;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	for (uint32_t k = 1; k <= count; k++) {
		if (k % 2)
			conf_load(&pair.source, 4 * (k % 16), 4);
		else
			conf_read(conf_doorbell(&pair.source), 0x100, 4);
		wait_faults(c, &pair.source, k);
	}
	first = conf_wait_fault(c, &pair.source, T3_FAULT_READ_REMOTE);
	CHECK_EQUAL(c, "offset of the first", first.offset, 4);
	oldest = count > T3_FAULT_RING ? count - T3_FAULT_RING + 1 : 1;
	for (uint32_t k = oldest; k <= count; k++) {
		record = ring_record(&pair.source, k);
		CHECK_EQUAL(c, "kind", record.kind,
			    k % 2 ? T3_FAULT_READ_REMOTE : T3_FAULT_BAD_DOORBELL);
		if (k % 2)
			CHECK_EQUAL(c, "offset", record.offset, 4 * (k % 16));
		CHECK_EQUAL(c, "epoch", record.epoch, 1);
		CHECK_EQUAL(c, "src_rank", record.src_rank, pair.source.dev->rank);
		CHECK(c, record.vtime >= time, "fault %u is before the one before it", k);
		time = record.vtime;
	}
	if (oldest == 1) {
		record = ring_record(&pair.source, 1);
		CHECK(c, !memcmp(&record, &first, sizeof(record)), "ring[0] is not `fault`");
	}
	for (uint32_t k = count + 1; k <= T3_FAULT_RING; k++)
		CHECK_EQUAL(c, "place not yet used", ring_record(&pair.source, k).kind, 0);
	CHECK_EQUAL(c, "FAULTS", conf_counter(pair.source.dev, T3_COUNTER_FAULTS), count);
}

/* Stores, doorbells and messages of peers are not recorded in FAULTED. */
TEST("stores and messages are not recorded after the fault", .devices = 2)
{
	struct pair pair;
	uint64_t dropped;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	conf_load(&pair.source, 0, 4);
	wait_faults(c, &pair.source, 1);
	conf_wait_fault(c, &pair.target, T3_FAULT_PEER_POISON);
	dropped = pair.source.events->dropped;
	conf_store(&pair.source, 0, 8, 1);
	conf_store(&pair.source, 3000, 1, 1);
	conf_arm(&pair.source, 2);
	conf_release(&pair.source, 1);
	conf_space_command(c, &pair.target, T3_CMD_SPACE_DISABLE);
	conf_wait_word(c, &pair.source.events->dropped, dropped + 4, "dropped");
	CHECK_EQUAL(c, "faults of the source", pair.source.events->faults, 1);
	CHECK_EQUAL(c, "faults of the target", pair.target.events->faults, 1);
}

/* A later fault raises no interrupt, because the state does not change. */
TEST("a later fault raises no interrupt", .devices = 2)
{
	struct conf_device *d = conf_device(c, 0);
	struct pair pair;
	uint32_t bit;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	bit = 1u << pair.source.args.space % 32;
	conf_reg_write(d, T3_REG_SPACE_PENDING, bit);
	conf_reg_write(d, T3_REG_SPACE_ENABLE, bit);
	conf_load(&pair.source, 0, 4);
	CHECK_EQUAL(c, "interrupts of the first fault", conf_interrupts(c, d, 0), 1);
	conf_reg_write(d, T3_REG_SPACE_PENDING, bit);
	conf_load(&pair.source, 0, 4);
	wait_faults(c, &pair.source, 2);
	CHECK_EQUAL(c, "interrupts of the second", conf_interrupts_now(c, d, 0), 0);
	CHECK_EQUAL(c, "PENDING after the second", conf_reg(d, T3_REG_SPACE_PENDING), 0);
}

/* RESET begins a new generation: no fault, no ring. */
TEST("a reset empties the ring", .devices = 2)
{
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	for (uint32_t k = 1; k <= 20; k++)
		conf_load(&pair.source, 0, 4);
	wait_faults(c, &pair.source, 20);
	conf_space_command(c, &pair.source, T3_CMD_SPACE_RESET);
	conf_wait_state(c, &pair.source, T3_SPACE_IDLE, 0);
	CHECK_EQUAL(c, "faults", pair.source.events->faults, 0);
	CHECK_EQUAL(c, "fault", pair.source.events->fault.kind, 0);
	for (uint32_t k = 1; k <= T3_FAULT_RING; k++)
		CHECK_EQUAL(c, "place in the ring", ring_record(&pair.source, k).kind, 0);
}

/* Setting a bit of ERROR_ENABLE raises nothing for errors that are already set. */
TEST("enabling an error does not raise one that is set")
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_space none = { .space = T3_MAX_SPACES };

	conf_reg_write(d, T3_REG_ERROR_VECTOR, 2);
	conf_admin(d, T3_CMD_SPACE_QUERY, &none, sizeof(none));
	CHECK_EQUAL(c, "ERROR_STATUS", conf_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_GUEST);
	conf_reg_write(d, T3_REG_ERROR_ENABLE, T3_ERROR_GUEST);
	CHECK_EQUAL(c, "interrupts at ENABLE", conf_interrupts_now(c, d, 2), 0);
	conf_admin(d, T3_CMD_SPACE_QUERY, &none, sizeof(none));
	CHECK_EQUAL(c, "interrupts while it stays 1", conf_interrupts_now(c, d, 2), 0);
	conf_reg_write(d, T3_REG_ERROR_STATUS, T3_ERROR_GUEST);
	conf_admin(d, T3_CMD_SPACE_QUERY, &none, sizeof(none));
	CHECK_EQUAL(c, "interrupts when it becomes 1", conf_interrupts(c, d, 2), 1);
}

/* --------------------------------------------------------------- LINK_QUERY */

TEST("a query of a link has its numbers", .devices = 2)
{
	struct t3_cmd_link_query before, after;
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	before = (struct t3_cmd_link_query){ .peer_rank = pair.target.dev->rank, .flags = 99 };
	after = before;
	ADMIN(c, pair.source.dev, T3_CMD_LINK_QUERY, &before);
	CHECK_EQUAL(c, "flags", before.flags, 0);
	CHECK_EQUAL(c, "unanswered", before.unanswered, 0);
	CHECK_EQUAL(c, "retries", before.retries, 0);
	CHECK_EQUAL(c, "waiting_segments", before.waiting_segments, 0);
	CHECK_EQUAL(c, "waiting_control", before.waiting_control, 0);
	pair_store(&pair.source, 0);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	ADMIN(c, pair.source.dev, T3_CMD_LINK_QUERY, &after);
	CHECK_EQUAL(c, "sequence numbers of eight stores", after.next - before.next, 8);
	CHECK_EQUAL(c, "incarnation", after.incarnation, before.incarnation);
	conf_reset(pair.source.dev);
	after = (struct t3_cmd_link_query){ .peer_rank = pair.target.dev->rank };
	ADMIN(c, pair.source.dev, T3_CMD_LINK_QUERY, &after);
	CHECK(c, after.incarnation != before.incarnation, "a reset keeps the incarnation");
}

TEST("a query of no link is refused", .rows = 4)
{
	struct conf_device *d = conf_device(c, 0);
	/* T3_MAX_RANKS is the switch. */
	bool switched = d->topology == T3_TOPOLOGY_SWITCH;
	uint32_t ranks[] = { d->rank, d->ranks, T3_MAX_RANKS + switched, 0xffffffff };
	struct t3_cmd_link_query args = { .peer_rank = ranks[row] };

	CHECK_EQUAL(c, "ADMIN_STATUS", conf_admin(d, T3_CMD_LINK_QUERY, &args, sizeof(args)),
		    T3_ADMIN_NO_ROUTE);
	CHECK(c, conf_guest_error(d), "a refusal is no guest error");
}

TEST("a reserved word of a link query must be zero", .devices = 2)
{
	struct t3_cmd_link_query args = { .peer_rank = conf_device(c, 1)->rank, .mbz = 1 };

	CHECK_EQUAL(c, "ADMIN_STATUS",
		    conf_admin(conf_device(c, 0), T3_CMD_LINK_QUERY, &args, sizeof(args)),
		    T3_ADMIN_BAD_VALUE);
}

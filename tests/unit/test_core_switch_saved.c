/* SPDX-License-Identifier: MIT */
/* A switch with all kinds of parts at work: its rules, and its saved state. SPEC.md chapter 17. */
#include "broken.h"
#include "group.h"
#include "migrate.h"
#include "device/device.h"
#include "link/link.h"
#include "switch/switch.h"
#include "test.h"

#define ROWS	  120u /* packets: more than a link has slots */
#define ROW_BYTES 64u
#define RANKS	  4u
#define SLOW	  2u /* the link to it is down */
#define PLACES	  3u /* of the ORDERED group */

struct machine {
	struct host *host;
	struct t3_switch *sw;
	struct group copies, sums;
};

static struct t3_switch_port *slow(const struct machine *x)
{
	return &x->sw->port[SLOW];
}

static struct t3_group *sums(const struct machine *x)
{
	return &x->sw->group[x->sums.id];
}

static void send(const struct machine *x, uint32_t member, uint32_t row)
{
	uint8_t data[ROW_BYTES];

	memset(data, (int)(member + row), sizeof(data));
	group_send_row(&x->sums, member, row, data);
}

/* One event after the other, since a link that stays down loses its rank. */
#define RUN_UNTIL(x, condition)                                 \
	do {                                                    \
		uint32_t rounds_ = 0;                           \
		while (!(condition)) {                          \
			t3_fabric_run((x).host->fabric, 1);     \
			assert_true(++rounds_ < 10000);         \
		}                                               \
		assert_null(t3_fabric_check((x).host->fabric)); \
	} while (0)

/* Copies of rank 0 fill the link to SLOW. Of the sums for SLOW two are ready, and two wait for rank 3. */
static struct machine busy(void)
{
	struct machine x = { .host = host_switch(RANKS, HOST_ENTRIES, NULL, NULL) };
	uint8_t data[ROWS * ROW_BYTES] = { 0 };
	uint32_t i, row;

	x.sw = x.host->fabric->sw;
	x.copies = group_multicast(x.host, 0, ROWS, ROW_BYTES);
	x.sums = group_reduce(x.host, SLOW, 4, ROW_BYTES, T3_DTYPE_I32, T3_OP_ADD);
	group_target(&x.sums, 1);
	for (i = 0; i < RANKS; i++)
		group_source(&x.sums, i, T3_SEG_DMA, 1);
	group_arm_copies(&x.copies, 1);
	group_arm(&x.sums, 1);
	assert_true(host_inject(x.host->fabric, T3_SWITCH_RANK, SLOW, T3_INJECT_LINK_DOWN, 1));
	for (row = 0; row < 4; row++)
		send(&x, 0, row);
	t3_fabric_set_inline_budget(x.host->fabric, 0);
	group_send_copies(&x.copies, data);
	RUN_UNTIL(x, x.sw->port[0].ticket);
	for (i = 1; i < RANKS; i++)
		for (row = 0; row < (i == 3 ? 2 : 4); row++)
			send(&x, i, row);
	RUN_UNTIL(x, slow(&x)->ready_count == 2 && sums(&x)->last->from == 7 &&
			     sums(&x)->first->from == 7);
	return x;
}

/* The same, and a source of the sums has ended: SLOW is to be told. */
static struct machine ended(void)
{
	struct machine x = busy();

	assert_int_equal(host_space_command(&x.host->dev[3], T3_CMD_SPACE_DISABLE, GROUP_SOURCE),
			 T3_ADMIN_OK);
	RUN_UNTIL(x, sums(&x)->own.tell);
	assert_int_equal(sums(&x)->state, T3_GROUP_STATE_ENDED);
	return x;
}

/* -------------------------------------------------------------------- rules */

TEST("each rule of a reduction entry is checked")
{
	static const char wrong[] = "a reduction entry has a packet that the switch does not make";
	static const char other[] = "a reduction entry is not its group's";
	struct machine x = busy();
	struct t3_switch_entry *entries[] = { sums(&x)->last, slow(&x)->ready_last };
	uint32_t i;

	assert_ptr_not_equal(sums(&x)->first, sums(&x)->last);
	assert_ptr_not_equal(slow(&x)->ready, slow(&x)->ready_last);
	for (i = 0; i < 2; i++) {
		struct t3_switch_entry *entry = entries[i];

		EXPECT_BROKEN(x.host, entry->used, false, wrong);
		EXPECT_BROKEN(x.host, entry->sum.type, T3_PKT_STATE, wrong);
		EXPECT_BROKEN(x.host, entry->sum.length, 0, wrong);
		EXPECT_BROKEN(x.host, entry->sum.length, T3_PACKET_PAYLOAD + 1, wrong);
		EXPECT_BROKEN(x.host, entry->sum.dst_rank, RANKS, wrong);
		EXPECT_BROKEN(x.host, entry->sum.src_space, T3_MAX_GROUPS, wrong);
		EXPECT_BROKEN(x.host, entry->sum.arg, 1, wrong);
		EXPECT_BROKEN(x.host, entry->sum.src_segment, 1, wrong);
		EXPECT_BROKEN(x.host, entry->sum.more, T3_GROUP_MEMBERS, wrong);
	}
	EXPECT_BROKEN(x.host, entries[0]->group, x.copies.id, other);
	EXPECT_BROKEN(x.host, entries[0]->sum.src_space, x.copies.id, other);
	EXPECT_BROKEN(x.host, entries[0]->from, 0, other);
	EXPECT_BROKEN(x.host, entries[0]->from, 1u << RANKS | 1, other);
	EXPECT_BROKEN(x.host, entries[0]->sum.row, sums(&x)->first->sum.row, other);
	host_free(x.host);
}

TEST("each rule of a group is checked")
{
	static const char count[] = "a group's number of entries is wrong";
	static const char nothing[] = "a group that merges nothing has entries";
	static const char unknown[] = "a group has something to tell, and its port does not know";
	struct machine x = busy();
	struct t3_group *group = sums(&x);

	EXPECT_BROKEN(x.host, group->entries, 1, count);
	EXPECT_BROKEN(x.host, group->held, 1, count);
	EXPECT_BROKEN(x.host, group->kind, T3_GROUP_MULTICAST, nothing);
	EXPECT_BROKEN(x.host, group->state, T3_GROUP_STATE_CLOSED, nothing);
	EXPECT_BROKEN(x.host, group->own.tell, T3_TELL_STATE, unknown);
	EXPECT_BROKEN(x.host, group->member[0].tell, T3_TELL_STATE, unknown);
	host_free(x.host);
	x = ended();
	EXPECT_BROKEN(x.host, sums(&x)->own.used, false, unknown);
	host_free(x.host);
}

TEST("each rule of a port is checked")
{
	static const char numbers[] = "a port's numbers contradict each other";
	static const char reserved[] = "a port's reserved entries are not those of its groups";
	struct machine x = ended();

	EXPECT_BROKEN(x.host, slow(&x)->ready_count, 1, "a port's number of sums is wrong");
	RUN_UNTIL(x, x.sw->port[3].down->una == x.sw->port[3].down->next);
	EXPECT_BROKEN(x.host, x.sw->port[3].tell[T3_MAX_GROUPS / 32 - 1], 1,
		      "something waits for a link from the switch, and nothing will send it");
	EXPECT_BROKEN(x.host, slow(&x)->reserved, 1, reserved);
	EXPECT_BROKEN(x.host, x.sw->port[0].most, x.sw->port[0].used - 1, numbers);
	EXPECT_BROKEN(x.host, x.sw->port[0].ticket, 0, numbers);
	EXPECT_BROKEN(x.host, x.sw->port[0].needs, 0, numbers);
	EXPECT_BROKEN(x.host, x.sw->port[0].ticket, x.sw->tickets + 1, numbers);
	EXPECT_BROKEN(x.host, x.sw->port[1].used, 1, numbers);
	EXPECT_BROKEN(x.host, x.sw->port[0].used, x.sw->port[0].used - 1,
		      "reduction entries are in use and in no list");
	host_free(x.host);
}

/* ------------------------------------------------------------- saved states */

/* Entries in lists are not compared. Tests that migrate in the middle of sums go on with them. */
static void expect_equal_groups(const struct t3_group *a, const struct t3_group *b)
{
	struct t3_group one = *a, two = *b;

	one.first = one.last = two.first = two.last = NULL;
	assert_memory_equal(&one, &two, sizeof(one));
}

static void expect_equal_ports(const struct t3_switch_port *a, const struct t3_switch_port *b)
{
	assert_int_equal(a->ticket, b->ticket);
	assert_int_equal(a->needs, b->needs);
	assert_memory_equal(a->tell, b->tell, sizeof(a->tell));
	assert_int_equal(a->ready_count, b->ready_count);
	assert_int_equal(a->used, b->used);
	assert_int_equal(a->most, b->most);
	assert_int_equal(a->reserved, b->reserved);
	assert_memory_equal(&a->counts, &b->counts, sizeof(a->counts));
}

static void expect_equal(const struct t3_switch *a, const struct t3_switch *b)
{
	uint32_t i;

	for (i = 0; i < T3_MAX_GROUPS; i++)
		expect_equal_groups(&a->group[i], &b->group[i]);
	for (i = 0; i < RANKS; i++)
		expect_equal_ports(&a->port[i], &b->port[i]);
	assert_memory_equal(a->generation, b->generation, sizeof(a->generation));
	assert_memory_equal(a->dev.counter, b->dev.counter, sizeof(a->dev.counter));
	assert_int_equal(a->tickets, b->tickets);
}

/* Numbers that no rule binds are all unlike, or a part that is left out would have the same one. */
static void mark(struct machine *x)
{
	struct t3_group *group = sums(x);
	uint64_t number = 1000, *count;
	uint32_t i;

	for (i = 0; i <= group->members; i++) {
		struct t3_group_end *end = t3_group_end(group, i);

		end->import = 1 + i;
		end->rank_mask = (uint32_t)number++;
		for (uint32_t k = 0; k < T3_KEY_WORDS; k++)
			end->key[k] = (uint32_t)number++;
		end->state = T3_SPACE_ARMED;
		end->epoch = (uint32_t)number++;
	}
	group->member[1].keyed = true;
	group->asked = (uint32_t)number++;
	group->done = 1u << 3;
	group->cause.epoch = (uint32_t)number++;
	group->cause.detail = (uint32_t)number++;
	for (i = 0; i < T3_GROUP_SKIPS / 32; i++)
		group->skip[i] = (uint32_t)number++;
	group->merged = number++;
	group->alone = number++;
	group->copies = number++;
	for (i = 0; i < RANKS; i++)
		for (count = (uint64_t *)&x->sw->port[i].counts;
		     count < (uint64_t *)(&x->sw->port[i].counts + 1); count++)
			*count = number++;
	for (i = 0; i < T3_COUNTER_COUNT; i++)
		x->sw->dev.counter[i] = number++;
	for (i = 0; i < RANKS * T3_PORT_GROUPS; i++)
		if (x->sw->group[i].state == T3_GROUP_STATE_FREE)
			x->sw->generation[i] = (uint32_t)number++;
}

TEST("a switch at work is loaded as it was saved")
{
	struct machine x = ended();
	struct host *other;

	mark(&x);
	other = host_clone(x.host);
	expect_equal(x.sw, other->fabric->sw);
	host_free(other);
	host_free(x.host);
}

TEST("entries that are reserved are loaded as they were saved")
{
	struct host *host = host_switch(RANKS, HOST_ENTRIES, NULL, NULL), *other;
	struct group group = group_ordered(host, SLOW, PLACES, ROW_BYTES, T3_DTYPE_F32, PLACES);
	uint8_t data[PLACES * ROW_BYTES] = { 0 };
	uint32_t i;

	group_target(&group, 1);
	for (i = 0; i < RANKS; i++)
		group_source(&group, i, T3_SEG_DMA, 1);
	group_arm(&group, 1);
	group_send(&group, 1, data);
	host_drain(host);
	assert_int_equal(host->fabric->sw->port[SLOW].reserved, (RANKS - 1) * PLACES);
	other = host_clone(host);
	expect_equal(host->fabric->sw, other->fabric->sw);
	EXPECT_BROKEN(host, host->fabric->sw->group[group.id].held, PLACES - 1,
		      "a group's number of entries is wrong");
	EXPECT_BROKEN(host, host->fabric->sw->group[group.id].first->from, 3,
		      "a reduction entry is not its group's");
	host_free(other);
	host_free(host);
}

/* A changed part is saved and not loaded; it gets its old value then. */
static void expect_refused(struct host *host, struct host *other, void *part, const void *value,
			   size_t size, const char *want)
{
	struct blobs blobs;
	const char *refused;
	uint8_t before[64];

	assert_true(size <= sizeof(before));
	memcpy(before, part, size);
	memcpy(part, value, size);
	blobs_save(&blobs, host);
	memcpy(part, before, size);
	refused = blobs_load(&blobs, other, 0);
	assert_non_null(refused);
	assert_string_equal(refused, want);
	t3_fabric_clear(other->fabric);
	blobs_free(&blobs);
}

#define EXPECT_REFUSED(host, other, part, value, want)                               \
	do {                                                                         \
		__typeof__(part) changed_ = (value);                                 \
		expect_refused(host, other, &(part), &changed_, sizeof(part), want); \
	} while (0)

TEST("each wrong part of a saved group is refused")
{
	struct machine x = busy();
	struct host *other = host_switch(RANKS, HOST_ENTRIES, NULL, NULL);
	struct t3_group *group = sums(&x);

	EXPECT_REFUSED(x.host, other, x.sw->generation[RANKS * T3_PORT_GROUPS - 1], 0,
		       "a group's generation is 0");
	EXPECT_REFUSED(x.host, other, group->state, T3_GROUP_STATE_CLOSED + 1,
		       "a group's state is unknown");
	EXPECT_REFUSED(x.host, other, group->kind, T3_GROUP_MULTICAST + 1,
		       "a group's kind is unknown");
	EXPECT_REFUSED(x.host, other, group->kind, 0, "a saved group is none");
	EXPECT_REFUSED(x.host, other, group->own.rank, RANKS, "a group's rank is out of range");
	EXPECT_REFUSED(x.host, other, group->member[RANKS - 1].rank, RANKS,
		       "a group's rank is out of range");
	EXPECT_REFUSED(x.host, other, group->own.rank, 0, "a group is another rank's");
	EXPECT_REFUSED(x.host, other, group->own.used, false, "a group is another rank's");
	EXPECT_REFUSED(x.host, other, group->own.space, T3_MAX_SPACES,
		       "a group's space is out of range");
	EXPECT_REFUSED(x.host, other, group->own.import, T3_SPACE_IMPORTS,
		       "a group's import is out of range");
	EXPECT_REFUSED(x.host, other, group->own.state, T3_SPACE_DEAD,
		       "a group's state of a target is unknown");
	EXPECT_REFUSED(x.host, other, group->own.tell, T3_TELL_ALL + 1,
		       "a group's message is unknown");
	EXPECT_REFUSED(x.host, other, group->done, 1u << RANKS,
		       "a member that a group does not have is done");
	EXPECT_REFUSED(x.host, other, group->cause.state, T3_SPACE_DEAD,
		       "a group's end is unknown");
	EXPECT_REFUSED(x.host, other, group->places, HOST_ENTRIES / RANKS + 1,
		       "a group has reserved more entries than there are");
	host_free(other);
	host_free(x.host);
}

TEST("each wrong part of a saved entry is refused")
{
	static const char wrong[] = "an entry has a wrong packet";
	struct machine x = busy();
	struct host *other = host_switch(RANKS, HOST_ENTRIES, NULL, NULL);
	struct t3_packet *sum = &sums(&x)->last->sum, *ready = &slow(&x)->ready_last->sum;
	uint32_t length = sum->length;

	EXPECT_REFUSED(x.host, other, sum->type, T3_PKT_STATE, wrong);
	EXPECT_REFUSED(x.host, other, ready->type, T3_PKT_STATE, wrong);
	EXPECT_REFUSED(x.host, other, sum->op, T3_OP_STORE, wrong);
	EXPECT_REFUSED(x.host, other, sum->dtype, 0xff, wrong);
	EXPECT_REFUSED(x.host, other, sum->length, 0, wrong);
	EXPECT_REFUSED(x.host, other, sum->length, length + 1, wrong);
	EXPECT_REFUSED(x.host, other, sum->dst_rank, RANKS, wrong);
	EXPECT_REFUSED(x.host, other, sum->src_space, T3_MAX_GROUPS, wrong);
	EXPECT_REFUSED(x.host, other, sum->src_space, x.copies.id,
		       "an entry is another group's, or its place has two");
	EXPECT_REFUSED(x.host, other, sum->row, sums(&x)->first->sum.row,
		       "an entry is another group's, or its place has two");
	host_free(other);
	host_free(x.host);
}

TEST("each wrong part of a saved port is refused")
{
	struct machine x = busy();
	struct host *other = host_switch(RANKS, HOST_ENTRIES, NULL, NULL);

	EXPECT_REFUSED(x.host, other, x.sw->port[3].needs, 1u << RANKS,
		       "a port waits for a rank that is not there");
	EXPECT_REFUSED(x.host, other, x.sw->port[3].most, HOST_ENTRIES + 1,
		       "a port used more entries than it has");
	host_free(other);
	host_free(x.host);
}

TEST("a switch that is loaded tells what was left to be told")
{
	struct machine x = ended();
	struct host *other = host_clone(x.host);

	assert_true(host_inject(other->fabric, T3_SWITCH_RANK, SLOW, T3_INJECT_LINK_DOWN, 0));
	host_drain(other);
	host_expect_peer_fault(&other->dev[SLOW], GROUP_TARGET, T3_FAULT_PEER_POISON,
			       T3_SWITCH_RANK);
	host_expect(&other->dev[SLOW], GROUP_HEARER, T3_SPACE_COMPLETE, 1);
	host_free(other);
	host_free(x.host);
}

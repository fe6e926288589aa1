// SPDX-License-Identifier: MIT
/* DRM_T3_GROUP_*: groups of a switch, their members, and how they end. */
#include <pthread.h>

#include "child.h"
#include "debugfs.h"
#include "group.h"
#include "memory.h"
#include "refusal.h"

#define STORES (RAW_SEGMENT_BYTES / 8)

static uint64_t counter(int fd, uint32_t id)
{
	struct drm_t3_counters counters;
	struct drm_t3_query query = {
		.type = DRM_T3_QUERY_COUNTERS,
		.size = sizeof(counters),
		.data = (uintptr_t)&counters,
	};

	CHECK_EQ(call(fd, DRM_IOCTL_T3_QUERY, &query), 0);
	return counters.value[id];
}

/* ---------------------------------------------------------------------- sums */

TEST("updates of several sources leave the switch as one")
{
	struct drm_t3_group_query state;
	struct reduce r;
	uint64_t before;
	uint32_t epoch, i;

	reduce_open(&r);
	for (epoch = 1; epoch <= 2; epoch++) {
		before = counter(r.target.fd, DRM_T3_COUNTER_LINK_RX_BYTES);
		reduce_arm(&r, epoch);
		for (i = 0; i < GROUP_SOURCES; i++)
			reduce_store(&r, i);
		reduce_check(&r, epoch);
		/* Of each store 8 bytes and 64 of the header; few other messages come. */
		before = counter(r.target.fd, DRM_T3_COUNTER_LINK_RX_BYTES) - before;
		CHECK(before >= STORES * 72 && before < 2 * STORES * 72);
		reduce_release(&r, epoch);
		state = group_state(&r.target, r.group);
		CHECK_EQ(state.merged, epoch * STORES * (GROUP_SOURCES - 1));
		CHECK_EQ(state.alone, 0);
	}
	CHECK_EQ(state.state, DRM_T3_GROUP_OPEN);
	CHECK_EQ(state.kind, DRM_T3_GROUP_REDUCE);
	CHECK_EQ(state.members, GROUP_SOURCES);
	CHECK_EQ(state.bound, (1u << GROUP_SOURCES) - 1);
	CHECK_EQ(state.entries, 0);
	/* A source sees the same. */
	CHECK_EQ(group_state(&r.source[1], r.import[1]).merged, state.merged);
	CHECK_EQ(group_state(&r.source[1], r.import[1]).number, state.number);
	reduce_close(&r);
}

TEST("one update goes to all targets of a multicast")
{
	struct multicast m;
	uint64_t before;
	uint32_t i, k;

	multicast_open(&m);
	multicast_arm(&m, 1);
	before = counter(m.source.fd, DRM_T3_COUNTER_LINK_TX_BYTES);
	raw_fill(&m.source, 0, RAW_SEGMENT_BYTES, 7);
	for (i = 0; i < GROUP_TARGETS; i++) {
		CHECK_EQ(raw_wait(&m.target[i], DRM_T3_WAIT_TRACKED, 1, 1, after_ms(5000)), 0);
		for (k = 0; k < RAW_SEGMENT_BYTES / 4; k++)
			CHECK_EQ(((uint32_t *)m.target[i].memory)[k], 7);
	}
	before = counter(m.source.fd, DRM_T3_COUNTER_LINK_TX_BYTES) - before;
	CHECK(before >= STORES * 72 && before < 2 * STORES * 72);
	CHECK_EQ(group_state(&m.source, m.group).copies, STORES * GROUP_TARGETS);
	CHECK_EQ(group_state(&m.target[2], m.grant[2]).copies, STORES * GROUP_TARGETS);
	multicast_close(&m);
}

/* Sources that come one after the other fill all entries of their ports, one for each store. */
TEST("sums are right when entries are used up")
{
	struct reduce r;
	uint32_t i, k, bytes;

	reduce_open_rows(&r, 1024);
	bytes = 64 * 1024;
	CHECK(switch_info(r.target.fd).entries < bytes / 8);
	reduce_arm(&r, 1);
	for (i = 0; i < GROUP_SOURCES; i++)
		raw_fill(&r.source[i], 0, bytes, i + 1);
	CHECK_EQ(raw_wait(&r.target, DRM_T3_WAIT_TRACKED, 1, 1, after_ms(20000)), 0);
	for (k = 0; k < bytes / 4; k++)
		CHECK_EQ(((uint32_t *)r.target.memory)[k], 1 + 2 + 3);
	CHECK(switch_info(r.source[0].fd).full);
	CHECK(group_state(&r.target, r.group).alone);
	CHECK(group_state(&r.target, r.group).merged);
	reduce_close(&r);
}

/* A space of a source of floats, whose sum in another order has other bits. */
static void store_float(struct reduce *r, uint32_t i)
{
	static const float values[GROUP_SOURCES] = { 1e8f, -1e8f, 1.0f };
	uint32_t bits;

	memcpy(&bits, &values[i], sizeof(bits));
	raw_fill(&r->source[i], 0, RAW_SEGMENT_BYTES, bits);
}

/* (1e8 - 1e8) + 1 is 1. In the order 1e8 + 1 - 1e8 the one is lost. */
TEST("an ordered group adds in the order of its members")
{
	static const uint32_t orders[][GROUP_SOURCES] = { { 0, 1, 2 }, { 0, 2, 1 }, { 2, 1, 0 } };
	struct drm_t3_group_query state;
	struct reduce r;
	uint32_t epoch, i;

	reduce_open_with(&r, &(struct reduce_shape){ .rows = RAW_SEGMENT_BYTES / 64,
						     .dtype = DRM_T3_F32,
						     .places = STORES });
	for (epoch = 1; epoch <= ROWS(orders); epoch++) {
		reduce_arm(&r, epoch);
		for (i = 0; i < GROUP_SOURCES; i++)
			store_float(&r, orders[epoch - 1][i]);
		CHECK_EQ(raw_wait(&r.target, DRM_T3_WAIT_TRACKED, epoch, 1, after_ms(5000)), 0);
		for (i = 0; i < RAW_SEGMENT_BYTES / 4; i++)
			CHECK(((float *)r.target.memory)[i] == 1.0f);
		reduce_release(&r, epoch);
	}
	state = group_state(&r.target, r.group);
	CHECK_EQ(state.group_flags, DRM_T3_GROUP_ORDERED);
	CHECK_EQ(state.places, STORES);
	CHECK_EQ(state.alone, 0);
	reduce_close(&r);
}

TEST("an ordered group needs entries of its own")
{
	struct drm_t3_group_create arg = {
		.kind = DRM_T3_GROUP_REDUCE,
		.members = 2,
		.op_mask = 1u << DRM_T3_OP_ADD,
		.segment_mask = 1,
		.flags = DRM_T3_GROUP_ORDERED,
	};
	struct drm_t3_refusal refusal;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	arg.space = raw.space;
	arg.places = switch_info(raw.fd).entries / 2 + 1;
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_GROUP_CREATE, &arg), -ENOSPC);
	CHECK_EQ(refusal_get(raw.fd, &refusal), 0);
	assert_string_equal(refusal.field, "places");
	arg.places--;
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_GROUP_CREATE, &arg), 0);
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_GROUP_CREATE, &arg), -ENOSPC);
	CHECK_EQ(group_destroy(&raw, arg.group), 0);
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_GROUP_CREATE, &arg), 0);
	raw_close(&raw);
}

/* ----------------------------------------------------------------- isolation */

TEST("nobody is a source without a key")
{
	struct drm_t3_key key;
	struct raw stranger;
	struct reduce r;

	reduce_open(&r);
	raw_open(&stranger, 1, PAGE);
	CHECK_EQ(raw_key_import(&stranger, &r.key[0], NULL), -EACCES); /* its space has it */
	key = r.key[0];
	key.secret[3] ^= 1;
	CHECK_EQ(raw_key_import(&stranger, &key, NULL), -EACCES);
	key = r.key[1]; /* of rank 2 */
	CHECK_EQ(raw_key_import(&stranger, &key, NULL), -EACCES);
	key = r.key[0];
	key.space ^= 1; /* a group that does not exist */
	CHECK_EQ(raw_key_import(&stranger, &key, NULL), -EACCES);
	key = r.key[0];
	key.import = GROUP_SOURCES;
	CHECK_EQ(raw_key_import(&stranger, &key, NULL), -EACCES);
	CHECK_EQ(group_key(&r.target, r.group, GROUP_SOURCES, 0, NULL), -EINVAL);
	CHECK_EQ(group_key(&r.target, r.group, 0, 0, NULL), -EEXIST);
	raw_close(&stranger);
	reduce_close(&r);
}

TEST("who has not been named hears nothing of a multicast")
{
	struct drm_t3_group_target member;
	struct drm_t3_segment_map map;
	struct multicast m;
	struct raw stranger;
	uint32_t grant, i;

	multicast_open(&m);
	/* The ticket is no secret: a stranger lets the group send to him, and gets nothing. */
	raw_open(&stranger, 2, PAGE);
	map = raw_segment(&stranger);
	CHECK_EQ(raw_map(&stranger, &map), 0);
	CHECK_EQ(group_join(&stranger, &m.ticket, &member, &grant), 0);
	CHECK_EQ(group_state(&stranger, grant).state, DRM_T3_GROUP_FREE);
	raw_arm(&stranger, 1);
	multicast_arm(&m, 1);
	raw_fill(&m.source, 0, RAW_SEGMENT_BYTES, 7);
	for (i = 0; i < GROUP_TARGETS; i++)
		CHECK_EQ(raw_wait(&m.target[i], DRM_T3_WAIT_TRACKED, 1, 1, after_ms(5000)), 0);
	CHECK_EQ(raw_wait(&stranger, DRM_T3_WAIT_TRACKED, 1, 1, after_ms(50)), -ETIMEDOUT);
	CHECK_EQ(((uint32_t *)stranger.memory)[0], 0);
	/* Nor can he name himself, or the same rank come twice. */
	CHECK_EQ(group_add(&stranger, m.group, 0, &member), -ENOENT);
	CHECK_EQ(group_add(&m.source, m.group, 0, &member), -EEXIST);
	raw_close(&stranger);
	multicast_close(&m);
}

/* The source names a space that has not joined: nothing reaches it, and the group ends. */
TEST("a multicast does not reach a space that has not joined")
{
	struct drm_t3_group_create made;
	struct drm_t3_group_target member;
	struct drm_t3_group_query state;
	struct drm_t3_segment_map map;
	struct drm_t3_fault fault;
	struct raw source, target;
	uint32_t grant;

	raw_open(&source, 0, PAGE);
	raw_open(&target, 1, PAGE);
	raw_map_local(&target);
	CHECK_EQ(group_create(&source, DRM_T3_GROUP_MULTICAST, 1, &made), 0);
	CHECK_EQ(group_join(&target, &made.ticket, &member, &grant), 0);
	CHECK_EQ(raw_revoke(&target, grant), 0);
	CHECK_EQ(group_add(&source, made.group, 0, &member), 0);
	map = raw_sender(&source, DRM_T3_SEGMENT_REMOTE, made.import, 0);
	CHECK_EQ(raw_map(&source, &map), 0);
	raw_arm(&target, 1);
	raw_arm(&source, 1);
	CHECK_EQ(raw_wait_fault(&source, 1, &fault), -EIO);
	CHECK_EQ(fault.kind, DRM_T3_FAULT_PEER_DEAD);
	CHECK_EQ(fault.src_rank, DRM_T3_SWITCH_RANK);
	state = group_state(&source, made.group);
	CHECK_EQ(state.state, DRM_T3_GROUP_ENDED);
	CHECK_EQ(state.cause, DRM_T3_FAULT_REJECTED);
	CHECK_EQ(state.detail, DRM_T3_NAK_NO_GRANT);
	CHECK_EQ(state.cause_rank, 1);
	CHECK_EQ(raw_state(&target), DRM_T3_SPACE_ARMED);
	raw_close(&source);
	raw_close(&target);
}

/* ----------------------------------------------------------------------- end */

/* All others fault, and are told who it was. */
static void check_ended(struct reduce *r, uint32_t epoch, uint32_t but, uint32_t cause)
{
	struct drm_t3_fault fault;
	uint32_t i;

	for (i = 0; i < GROUP_SOURCES; i++) {
		if (i == but)
			continue;
		CHECK_EQ(raw_wait_fault(&r->source[i], epoch, &fault), -EIO);
		CHECK_EQ(fault.kind, DRM_T3_FAULT_PEER_DEAD);
		CHECK_EQ(fault.src_rank, DRM_T3_SWITCH_RANK);
	}
	CHECK_EQ(raw_wait_fault(&r->target, epoch, &fault), -EIO);
	CHECK_EQ(fault.kind, DRM_T3_FAULT_PEER_POISON);
	CHECK_EQ(group_state(&r->target, r->group).cause, cause);
	CHECK_EQ(group_state(&r->target, r->group).cause_rank, but + 1);
}

TEST("the end of a source ends the group at all others")
{
	struct reduce r;

	reduce_open(&r);
	reduce_arm(&r, 1);
	raw_fill(&r.source[0], 0, RAW_SEGMENT_BYTES / 2, 1);
	CHECK_EQ(space_destroy(r.source[1].fd, r.source[1].space), 0);
	check_ended(&r, 1, 1, DRM_T3_FAULT_PEER_POISON);
	reduce_close(&r);
}

TEST("the reset of a source's function ends the group at all others")
{
	struct reduce r;

	reduce_open(&r);
	reduce_arm(&r, 1);
	raw_fill(&r.source[0], 0, RAW_SEGMENT_BYTES / 2, 1);
	CHECK_EQ(debugfs_write(3, "reset", "function\n"), 0);
	check_ended(&r, 1, 2, DRM_T3_FAULT_PEER_DEAD);
	reduce_close(&r);
}

/* In a child: a source of its own file, that is killed in the middle of an epoch. */
static void be_source(int sock, void *arg)
{
	struct drm_t3_segment_map map;
	struct raw source;
	uint32_t import;

	raw_open(&source, 2, PAGE);
	CHECK_EQ(raw_key_import(&source, arg, &import), 0);
	map = raw_sender(&source, DRM_T3_SEGMENT_REMOTE, import, 0);
	CHECK_EQ(raw_map(&source, &map), 0);
	raw_arm(&source, 1);
	send_u32(sock, 1);
	receive_u32(sock);
}

TEST("the death of a process that is a source ends the group within a second")
{
	struct drm_t3_group_create made;
	struct drm_t3_segment_map map;
	struct drm_t3_fault fault;
	struct drm_t3_key key;
	struct child child;
	struct raw target;
	int64_t killed;

	raw_open(&target, 0, PAGE);
	CHECK_EQ(group_create(&target, DRM_T3_GROUP_REDUCE, 1, &made), 0);
	CHECK_EQ(group_key(&target, made.group, 0, 0, &key), 0);
	map = raw_segment(&target);
	CHECK_EQ(raw_map(&target, &map), 0);
	raw_arm(&target, 1);
	child_start(&child, be_source, &key);
	receive_u32(child.sock);
	killed = now_ns();
	child_kill(&child);
	CHECK_EQ(raw_wait(&target, DRM_T3_WAIT_TRACKED, 1, 1, after_ms(5000)), -EIO);
	CHECK(now_ns() - killed < guest_slowness() * 1000000000ll);
	CHECK_EQ(raw_wait_fault(&target, 1, &fault), -EIO);
	CHECK_EQ(fault.kind, DRM_T3_FAULT_PEER_POISON);
	raw_close(&target);
}

TEST("a group that is destroyed ends at its sources")
{
	struct drm_t3_fault fault;
	struct reduce r;
	uint32_t i;

	reduce_open(&r);
	reduce_arm(&r, 1);
	CHECK_EQ(group_destroy(&r.target, r.group), 0);
	CHECK_EQ(group_destroy(&r.target, r.group), -ENOENT);
	for (i = 0; i < GROUP_SOURCES; i++) {
		CHECK_EQ(raw_wait_fault(&r.source[i], 1, &fault), -EIO);
		CHECK_EQ(fault.kind, DRM_T3_FAULT_PEER_DEAD);
		CHECK_EQ(group_state(&r.source[i], r.import[i]).state, DRM_T3_GROUP_FREE);
	}
	reduce_close(&r);
}

TEST("a space that was reset can have a group again")
{
	struct drm_t3_group_create made;
	struct reduce r;
	uint32_t i;

	reduce_open(&r);
	CHECK_EQ(space_reset(r.target.fd, r.target.space), 0);
	CHECK_EQ(group_destroy(&r.target, r.group), -ENOENT);
	CHECK_EQ(group_create(&r.target, DRM_T3_GROUP_REDUCE, GROUP_SOURCES, &made), 0);
	r.group = made.group;
	for (i = 0; i < GROUP_SOURCES; i++) {
		CHECK_EQ(space_reset(r.source[i].fd, r.source[i].space), 0);
		CHECK_EQ(raw_key_import(&r.source[i], &r.key[i], NULL), -EACCES);
		CHECK_EQ(group_key(&r.target, r.group, i, 0, &r.key[i]), 0);
		CHECK_EQ(raw_key_import(&r.source[i], &r.key[i], &r.import[i]), 0);
	}
	CHECK_EQ(group_state(&r.target, r.group).bound, (1u << GROUP_SOURCES) - 1);
	reduce_close(&r);
}

TEST("a target that leaves a multicast ends it")
{
	struct drm_t3_fault fault;
	struct multicast m;

	multicast_open(&m);
	multicast_arm(&m, 1);
	CHECK_EQ(raw_revoke(&m.target[1], m.grant[1]), 0);
	CHECK_EQ(raw_wait_fault(&m.source, 1, &fault), -EIO);
	CHECK_EQ(fault.kind, DRM_T3_FAULT_PEER_DEAD);
	CHECK_EQ(raw_wait_fault(&m.target[0], 1, &fault), -EIO);
	CHECK_EQ(fault.kind, DRM_T3_FAULT_PEER_POISON);
	CHECK_EQ(group_state(&m.source, m.group).cause_rank, 2);
	multicast_close(&m);
}

/* -------------------------------------------------------------------- limits */

TEST("a device has 32 groups, and they come back")
{
	struct drm_t3_group_create made;
	struct drm_t3_refusal refusal;
	struct raw raw, other;
	uint32_t i;

	raw_open(&raw, 0, PAGE);
	raw_open(&other, 0, PAGE);
	for (i = 0; i < DRM_T3_GROUPS_MAX; i++)
		CHECK_EQ(group_create(i % 2 ? &raw : &other, DRM_T3_GROUP_REDUCE, 1, &made), 0);
	CHECK_EQ(switch_info(raw.fd).groups, DRM_T3_GROUPS_MAX);
	CHECK_EQ(group_create(&raw, DRM_T3_GROUP_REDUCE, 1, NULL), -ENOSPC);
	CHECK_EQ(refusal_get(raw.fd, &refusal), 0);
	assert_string_equal(refusal.field, "space");
	assert_string_equal(refusal.allowed, "a space of a device with fewer groups than 32");
	CHECK_EQ(group_destroy(&raw, made.group), 0);
	CHECK_EQ(group_create(&raw, DRM_T3_GROUP_MULTICAST, 1, NULL), 0);
	raw_close(&other);
	raw_close(&raw);
	raw_open(&raw, 0, PAGE);
	CHECK_EQ(switch_info(raw.fd).groups, 0);
	raw_close(&raw);
}

/* In a child, as a user without a privilege. Returns how many groups the user gets. */
static void take_groups(int sock, void *arg)
{
	struct raw raw;
	uint32_t count = 0;
	int ret;

	(void)arg;
	become(UID_USER, true);
	raw_open(&raw, 0, PAGE);
	while ((ret = group_create(&raw, DRM_T3_GROUP_REDUCE, 1, NULL)) == 0)
		count++;
	CHECK_EQ(ret, -EDQUOT);
	send_u32(sock, count);
	receive_u32(sock);
}

TEST("a user has as many groups as he leaves free")
{
	struct child child;
	unsigned int before;

	child_start(&child, take_groups, NULL);
	CHECK_EQ(receive_u32(child.sock), DRM_T3_GROUPS_MAX / 2);
	child_kill(&child);
	before = parameter_set("user_groups", 3);
	child_start(&child, take_groups, NULL);
	CHECK_EQ(receive_u32(child.sock), 3);
	child_kill(&child);
	parameter_set("user_groups", before);
}

/* ------------------------------------------------------------------ arguments */

TEST("wrong groups are refused")
{
	static const struct deviation rows[] = {
		BAD(drm_t3_group_create, kind, 0, EINVAL),
		BAD(drm_t3_group_create, kind, 3, EINVAL),
		BAD(drm_t3_group_create, members, 0, EINVAL),
		BAD(drm_t3_group_create, members, 33, EINVAL),
		BAD(drm_t3_group_create, members, ~0u, EINVAL),
		BAD(drm_t3_group_create, op_mask, 0, EINVAL),
		BAD(drm_t3_group_create, op_mask, 0x100, EINVAL),
		BAD(drm_t3_group_create, op_mask, 1u << DRM_T3_OP_STORE, EINVAL),
		BAD(drm_t3_group_create, segment_mask, 0, EINVAL),
		BAD(drm_t3_group_create, space, 0, ENOENT),
	};
	struct drm_t3_group_create good = {
		.kind = DRM_T3_GROUP_REDUCE,
		.members = 1,
		.op_mask = 1u << DRM_T3_OP_ADD,
		.segment_mask = 1,
	};
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	good.space = raw.space;
	check_deviations(raw.fd, DRM_IOCTL_T3_GROUP_CREATE, &good, rows, ROWS(rows));
	good.kind = DRM_T3_GROUP_MULTICAST;
	good.flags = DRM_T3_GROUP_ORDERED;
	good.places = 1;
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_GROUP_CREATE, &good), -EINVAL);
	raw_close(&raw);
}

TEST("wrong members are refused")
{
	static const struct deviation rows[] = {
		BAD(drm_t3_group_member, member, 2, EINVAL),
		BAD(drm_t3_group_member, member, ~0u, EINVAL),
		BAD(drm_t3_group_member, rank_mask, 1, EINVAL),
		BAD(drm_t3_group_member, rank_mask, 1u << 31, EINVAL),
		BAD(drm_t3_group_member, target.fabric_id, 0, EXDEV),
		BAD(drm_t3_group_member, target.rank, 4, EINVAL),
		BAD(drm_t3_group_member, target.rank, DRM_T3_SWITCH_RANK, EINVAL),
		BAD(drm_t3_group_member, target.space, 1024, EINVAL),
		BAD(drm_t3_group_member, target.import, 32, EINVAL),
		BAD(drm_t3_group_member, group, 0, ENOENT),
		BAD(drm_t3_group_member, group, 0x7fffffff, ENOENT),
		BAD(drm_t3_group_member, space, 0, ENOENT),
	};
	struct drm_t3_group_member good = { 0 };
	struct drm_t3_group_create made;
	struct raw raw, target;

	raw_open(&raw, 0, PAGE);
	raw_open(&target, 1, PAGE);
	CHECK_EQ(group_create(&raw, DRM_T3_GROUP_MULTICAST, 2, &made), 0);
	CHECK_EQ(group_join(&target, &made.ticket, &good.target, NULL), 0);
	good.space = raw.space;
	good.group = made.group;
	check_deviations(raw.fd, DRM_IOCTL_T3_GROUP_MEMBER, &good, rows, ROWS(rows));
	/* Of a REDUCE group a target is wrong. */
	CHECK_EQ(group_create(&raw, DRM_T3_GROUP_REDUCE, 2, &made), 0);
	CHECK_EQ(group_add(&raw, made.group, 1, &good.target), -EINVAL);
	/* Without keys nobody gets one. */
	unsigned int before = parameter_set("keys", 0);

	CHECK_EQ(group_key(&raw, made.group, 1, 0, NULL), -EPERM);
	parameter_set("keys", before);
	CHECK_EQ(group_key(&raw, made.group, 1, 0, NULL), 0);
	raw_close(&target);
	raw_close(&raw);
}

TEST("wrong tickets are refused")
{
	static const struct deviation rows[] = {
		BAD(drm_t3_group_join, op_mask, 0, EINVAL),
		BAD(drm_t3_group_join, op_mask, 0x100, EINVAL),
		BAD(drm_t3_group_join, segment_mask, 0, EINVAL),
		BAD(drm_t3_group_join, ticket.fabric_id, 0, EXDEV),
		BAD(drm_t3_group_join, ticket.number, 1024, EINVAL),
		BAD(drm_t3_group_join, ticket.generation, 0, EINVAL),
		BAD(drm_t3_group_join, space, 0, ENOENT),
	};
	struct drm_t3_group_join good = { .op_mask = 1, .segment_mask = 1 };
	struct drm_t3_group_create made;
	struct raw raw, target;

	raw_open(&raw, 0, PAGE);
	raw_open(&target, 1, PAGE);
	CHECK_EQ(group_create(&raw, DRM_T3_GROUP_MULTICAST, 2, &made), 0);
	good.space = target.space;
	good.ticket = made.ticket;
	check_deviations(target.fd, DRM_IOCTL_T3_GROUP_JOIN, &good, rows, ROWS(rows));
	CHECK_MBZ(target.fd, DRM_IOCTL_T3_GROUP_JOIN, &good, drm_t3_group_join, flags);
	raw_close(&target);
	raw_close(&raw);
}

TEST("a handle that is of no group has no state")
{
	struct drm_t3_group_query state;
	struct raw source, target;
	uint32_t import, grant;
	int fd;

	raw_open(&source, 0, PAGE);
	raw_open(&target, 1, PAGE);
	import = raw_join(&source, &target);
	CHECK_EQ(raw_export(&target, 1, 1, &fd, &grant), 0);
	close(fd);
	CHECK_EQ(group_query(&source, import, &state), -ENOENT);
	CHECK_EQ(group_query(&target, grant, &state), -ENOENT);
	CHECK_EQ(group_query(&target, 0, &state), -ENOENT);
	CHECK_EQ(group_destroy(&source, import), -ENOENT);
	raw_close(&source);
	raw_close(&target);
}

TEST("a multicast is made in an idle space alone")
{
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	raw_arm(&raw, 1);
	CHECK_EQ(group_create(&raw, DRM_T3_GROUP_MULTICAST, 1, NULL), -EBUSY);
	CHECK_EQ(group_create(&raw, DRM_T3_GROUP_REDUCE, 1, NULL), 0);
	CHECK_EQ(switch_info(raw.fd).groups, 1);
	raw_close(&raw);
}

/* -------------------------------------------------------------------- threads */

struct racer {
	const struct raw *raw;
	uint32_t group;
	int wins;
};

static void *destroy_again(void *arg)
{
	struct racer *racer = arg;

	racer->wins += group_destroy(racer->raw, racer->group) == 0;
	return NULL;
}

TEST("of two threads that destroy a group one succeeds")
{
	struct drm_t3_group_create made;
	struct racer racers[2] = { 0 };
	pthread_t thread;
	struct raw raw;
	int i;

	raw_open(&raw, 0, PAGE);
	for (i = 0; i < 50; i++) {
		CHECK_EQ(group_create(&raw, DRM_T3_GROUP_REDUCE, 1, &made), 0);
		racers[0] = racers[1] = (struct racer){ .raw = &raw, .group = made.group };
		CHECK_EQ(pthread_create(&thread, NULL, destroy_again, &racers[0]), 0);
		destroy_again(&racers[1]);
		pthread_join(thread, NULL);
		CHECK_EQ(racers[0].wins + racers[1].wins, 1);
	}
	CHECK_EQ(switch_info(raw.fd).groups, 0);
	raw_close(&raw);
}

/* In a child: end without closing, as all of its parent's files are its own, too. */
static void look_and_leave(int sock, void *arg)
{
	struct reduce *r = arg;

	CHECK_EQ(group_state(&r->target, r->group).state, DRM_T3_GROUP_OPEN);
	send_u32(sock, 1);
}

TEST("the end of a forked child leaves its parent's group")
{
	struct child child;
	struct reduce r;
	uint32_t i;

	reduce_open(&r);
	child_start(&child, look_and_leave, &r);
	receive_u32(child.sock);
	CHECK_EQ(child_end(&child, 5000), 0);
	reduce_arm(&r, 1);
	for (i = 0; i < GROUP_SOURCES; i++)
		reduce_store(&r, i);
	reduce_check(&r, 1);
	reduce_close(&r);
}

/* -------------------------------------------------------------------- debugfs */

TEST("debugfs shows groups and the port of the switch")
{
	struct reduce r;

	reduce_open(&r);
	debugfs_expect(debugfs_read(0, "spaces"),
		       "group=* kind=reduce members=3 flags=* places=0 state=open bound=0x7 *");
	debugfs_expect(debugfs_read(0, "switch"), "port=0 entries=* groups=1 *");
	debugfs_expect(debugfs_read(1, "links"), "link=32 state=UP *");
	reduce_close(&r);
}

// SPDX-License-Identifier: MIT
/* Groups of the switch by plain ioctls. */
#include "group.h"

int group_create(const struct raw *raw, uint32_t kind, uint32_t members,
		 struct drm_t3_group_create *made)
{
	struct drm_t3_group_create arg = {
		.space = raw->space,
		.kind = kind,
		.members = members,
		.op_mask = 1u << DRM_T3_OP_ADD |
			   (kind == DRM_T3_GROUP_MULTICAST ? 1u << DRM_T3_OP_STORE : 0),
		.segment_mask = ~0ull,
	};
	int ret = call(raw->fd, DRM_IOCTL_T3_GROUP_CREATE, &arg);

	if (!ret && made)
		*made = arg;
	return ret;
}

int group_key(const struct raw *raw, uint32_t group, uint32_t member, uint32_t rank_mask,
	      struct drm_t3_key *key)
{
	struct drm_t3_group_member arg = {
		.space = raw->space,
		.group = group,
		.member = member,
		.rank_mask = rank_mask,
	};
	int ret = call(raw->fd, DRM_IOCTL_T3_GROUP_MEMBER, &arg);

	if (!ret && key)
		*key = arg.key;
	return ret;
}

int group_join(const struct raw *raw, const struct drm_t3_group_ticket *ticket,
	       struct drm_t3_group_target *target, uint32_t *grant)
{
	struct drm_t3_group_join arg = {
		.space = raw->space,
		.op_mask = 1u << DRM_T3_OP_ADD | 1u << DRM_T3_OP_STORE,
		.segment_mask = ~0ull,
		.ticket = *ticket,
	};
	int ret = call(raw->fd, DRM_IOCTL_T3_GROUP_JOIN, &arg);

	if (!ret && target)
		*target = arg.target;
	if (!ret && grant)
		*grant = arg.grant;
	return ret;
}

int group_add(const struct raw *raw, uint32_t group, uint32_t member,
	      const struct drm_t3_group_target *target)
{
	struct drm_t3_group_member arg = {
		.space = raw->space,
		.group = group,
		.member = member,
		.target = *target,
	};

	return call(raw->fd, DRM_IOCTL_T3_GROUP_MEMBER, &arg);
}

int group_destroy(const struct raw *raw, uint32_t group)
{
	struct drm_t3_group_destroy arg = { .space = raw->space, .group = group };

	return call(raw->fd, DRM_IOCTL_T3_GROUP_DESTROY, &arg);
}

int group_query(const struct raw *raw, uint32_t group, struct drm_t3_group_query *state)
{
	*state = (struct drm_t3_group_query){ .space = raw->space, .group = group };
	return call(raw->fd, DRM_IOCTL_T3_GROUP_QUERY, state);
}

struct drm_t3_group_query group_state(const struct raw *raw, uint32_t group)
{
	struct drm_t3_group_query state;

	CHECK_EQ(group_query(raw, group, &state), 0);
	return state;
}

struct drm_t3_switch_info switch_info(int fd)
{
	struct drm_t3_switch_info info;
	struct drm_t3_query query = {
		.type = DRM_T3_QUERY_SWITCH,
		.size = sizeof(info),
		.data = (uintptr_t)&info,
	};

	CHECK_EQ(call(fd, DRM_IOCTL_T3_QUERY, &query), 0);
	CHECK_EQ(query.size, sizeof(info));
	return info;
}

/* -------------------------------------------------------------------- reduce */

void reduce_open(struct reduce *r)
{
	reduce_open_rows(r, RAW_SEGMENT_BYTES / 64);
}

/* Two rows are two tiles. */
static void open_rows(struct raw *raw, uint32_t rank, uint32_t rows)
{
	uint64_t size = (64ull * rows + PAGE - 1) / PAGE * PAGE;

	raw_create_tiles(raw, open_rank(rank), size, rows > RAW_TILES ? rows : RAW_TILES);
}

void reduce_open_rows(struct reduce *r, uint32_t rows)
{
	reduce_open_with(r, &(struct reduce_shape){ .rows = rows, .dtype = DRM_T3_I32 });
}

void reduce_open_with(struct reduce *r, const struct reduce_shape *shape)
{
	struct drm_t3_group_create made = {
		.kind = DRM_T3_GROUP_REDUCE,
		.members = GROUP_SOURCES,
		.op_mask = 1u << DRM_T3_OP_ADD,
		.segment_mask = ~0ull,
		.flags = shape->places ? DRM_T3_GROUP_ORDERED : 0,
		.places = shape->places,
	};
	struct drm_t3_segment_map map;
	uint32_t i, rows = shape->rows;

	open_rows(&r->target, 0, rows);
	made.space = r->target.space;
	CHECK_EQ(call(r->target.fd, DRM_IOCTL_T3_GROUP_CREATE, &made), 0);
	CHECK(made.group);
	CHECK_EQ(made.import, 0);
	r->group = made.group;
	map = raw_segment(&r->target);
	map.updates = GROUP_SOURCES;
	map.rows = rows;
	map.dtype = shape->dtype;
	CHECK_EQ(raw_map(&r->target, &map), 0);
	for (i = 0; i < GROUP_SOURCES; i++) {
		open_rows(&r->source[i], i + 1, rows);
		CHECK_EQ(group_key(&r->target, r->group, i, 1u << (i + 1), &r->key[i]), 0);
		CHECK_EQ(raw_key_import(&r->source[i], &r->key[i], &r->import[i]), 0);
		map = raw_sender(&r->source[i], DRM_T3_SEGMENT_REMOTE, r->import[i], 0);
		map.rows = rows;
		map.dtype = shape->dtype;
		CHECK_EQ(raw_map(&r->source[i], &map), 0);
	}
}

void reduce_close(struct reduce *r)
{
	uint32_t i;

	for (i = 0; i < GROUP_SOURCES; i++)
		raw_close(&r->source[i]);
	raw_close(&r->target);
}

void reduce_arm(struct reduce *r, uint32_t epoch)
{
	uint32_t i;

	raw_arm(&r->target, epoch);
	for (i = 0; i < GROUP_SOURCES; i++)
		raw_arm(&r->source[i], epoch);
	for (i = 0; i < GROUP_SOURCES; i++)
		CHECK_EQ(raw_wait(&r->source[i], DRM_T3_WAIT_ARMED, epoch, 0, after_ms(5000)), 0);
}

void reduce_release(struct reduce *r, uint32_t epoch)
{
	uint32_t i;

	for (i = 0; i < GROUP_SOURCES; i++) {
		CHECK_EQ(raw_wait(&r->source[i], DRM_T3_WAIT_DELIVERED, epoch, 1, after_ms(5000)),
			 0);
		raw_release(&r->source[i], epoch);
	}
	raw_release(&r->target, epoch);
}

void reduce_store(struct reduce *r, uint32_t i)
{
	raw_fill(&r->source[i], 0, RAW_SEGMENT_BYTES, i + 1);
}

void reduce_check(struct reduce *r, uint32_t epoch)
{
	uint32_t i;

	CHECK_EQ(raw_wait(&r->target, DRM_T3_WAIT_TRACKED, epoch, 1, after_ms(5000)), 0);
	for (i = 0; i < RAW_SEGMENT_BYTES / 4; i++)
		CHECK_EQ(((uint32_t *)r->target.memory)[i], 1 + 2 + 3);
}

/* ----------------------------------------------------------------- multicast */

void multicast_open(struct multicast *m)
{
	struct drm_t3_group_create made;
	struct drm_t3_segment_map map;
	uint32_t i;

	raw_open(&m->source, 0, PAGE);
	CHECK_EQ(group_create(&m->source, DRM_T3_GROUP_MULTICAST, GROUP_TARGETS, &made), 0);
	CHECK(made.group && made.import);
	m->group = made.group;
	m->import = made.import;
	m->ticket = made.ticket;
	for (i = 0; i < GROUP_TARGETS; i++) {
		raw_open(&m->target[i], i + 1, PAGE);
		raw_map_local(&m->target[i]);
		CHECK_EQ(group_join(&m->target[i], &m->ticket, &m->member[i], &m->grant[i]), 0);
		CHECK_EQ(group_add(&m->source, m->group, i, &m->member[i]), 0);
	}
	map = raw_sender(&m->source, DRM_T3_SEGMENT_REMOTE, m->import, 0);
	CHECK_EQ(raw_map(&m->source, &map), 0);
}

void multicast_close(struct multicast *m)
{
	uint32_t i;

	for (i = 0; i < GROUP_TARGETS; i++)
		raw_close(&m->target[i]);
	raw_close(&m->source);
}

void multicast_arm(struct multicast *m, uint32_t epoch)
{
	uint32_t i;

	for (i = 0; i < GROUP_TARGETS; i++)
		raw_arm(&m->target[i], epoch);
	raw_arm(&m->source, epoch);
	CHECK_EQ(raw_wait(&m->source, DRM_T3_WAIT_ARMED, epoch, 0, after_ms(5000)), 0);
}

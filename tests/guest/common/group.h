/* SPDX-License-Identifier: MIT */
/* Groups of the switch by plain ioctls, at spaces of raw.h. */
#ifndef T3_GUEST_GROUP_H
#define T3_GUEST_GROUP_H

#include "raw.h"

/* Make a group for all segments, with op ADD or for MULTICAST also STORE. arg may be NULL. */
int group_create(const struct raw *raw, uint32_t kind, uint32_t members,
		 struct drm_t3_group_create *arg);
/* A key for a source, from any rank; key may be NULL. */
int group_key(const struct raw *raw, uint32_t group, uint32_t member, uint32_t rank_mask,
	      struct drm_t3_key *key);
int group_join(const struct raw *raw, const struct drm_t3_group_ticket *ticket,
	       struct drm_t3_group_target *target, uint32_t *grant);
int group_add(const struct raw *raw, uint32_t group, uint32_t member,
	      const struct drm_t3_group_target *target);
int group_destroy(const struct raw *raw, uint32_t group);
int group_query(const struct raw *raw, uint32_t group, struct drm_t3_group_query *state);
/* The same; the test fails when that fails. */
struct drm_t3_group_query group_state(const struct raw *raw, uint32_t group);
struct drm_t3_switch_info switch_info(int fd);

#define GROUP_SOURCES 3u

/*
 * Rank 0 sums up what ranks 1 to 3 store: raw_segment(), with GROUP_SOURCES updates of each element
 * at the target.
 */
struct reduce {
	struct raw target, source[GROUP_SOURCES];
	uint32_t group, import[GROUP_SOURCES];
	struct drm_t3_key key[GROUP_SOURCES];
};

void reduce_open(struct reduce *r);
/* The same with so many rows of 64 bytes, of another type, and with an order for so many places. */
struct reduce_shape {
	uint32_t rows, dtype, places;
};
void reduce_open_with(struct reduce *r, const struct reduce_shape *shape);
void reduce_open_rows(struct reduce *r, uint32_t rows);
void reduce_close(struct reduce *r);
/* Arm all, and wait until they are. */
void reduce_arm(struct reduce *r, uint32_t epoch);
void reduce_release(struct reduce *r, uint32_t epoch);
/* Source i stores i + 1 everywhere. */
void reduce_store(struct reduce *r, uint32_t i);
/* Wait for the sum at the target, and check it. */
void reduce_check(struct reduce *r, uint32_t epoch);

#define GROUP_TARGETS 3u

/* What rank 0 stores goes to ranks 1 to 3. */
struct multicast {
	struct raw source, target[GROUP_TARGETS];
	uint32_t group, import, grant[GROUP_TARGETS];
	struct drm_t3_group_ticket ticket;
	struct drm_t3_group_target member[GROUP_TARGETS];
};

void multicast_open(struct multicast *m);
void multicast_close(struct multicast *m);
void multicast_arm(struct multicast *m, uint32_t epoch);

#endif /* T3_GUEST_GROUP_H */

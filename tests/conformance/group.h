/* SPDX-License-Identifier: MIT */
/* A group of the switch: its own space is on device 0, and a member on each of the next ones. */
#ifndef T3_CONFORMANCE_GROUP_H
#define T3_CONFORMANCE_GROUP_H

#include "conf.h"

#define GROUP_MOST 3u

struct group {
	struct conf_space own, member[GROUP_MOST];
	unsigned count;
	struct t3_cmd_group_create args; /* group, generation */
	struct t3_cmd_seg_map from, to;	 /* a source's and a target's; not yet mapped */
};

/* Spaces and GROUP_CREATE. Member i is a space on device i + 1. */
void group_open(struct conf *c, struct group *g, uint32_t kind, unsigned count);
/* What GROUP_MEMBER is given for member i. */
struct t3_cmd_group_member group_member(const struct group *g, unsigned i);
/* The same for its place to be claimed by a key. */
struct t3_cmd_group_member group_keyed(const struct group *g, unsigned i);
/* What the source's ROUTE_SET is given: of REDUCE member i, else the group's own space. */
struct t3_cmd_route_set group_route(const struct group *g, unsigned i);
/* GROUP_MEMBER, IMPORT_SET and ROUTE_SET for all. */
void group_join(struct conf *c, const struct group *g);
void group_map(struct conf *c, const struct group *g);
/* Targets first. All are ARMED in that epoch. */
void group_arm(struct conf *c, const struct group *g, uint32_t epoch);
/* All of it: 16 i32 elements in two tiles; sources are of kind DMA. */
void group_ready(struct conf *c, struct group *g, uint32_t kind, unsigned count);
void group_complete(struct conf *c, struct group *g, uint32_t epoch);
struct t3_cmd_group_query group_query(struct conf *c, const struct group *g);
/* Waits until the group is in that state, or is no more: FREE. */
struct t3_cmd_group_query group_wait(struct conf *c, const struct group *g, uint32_t state);
void group_destroy(struct conf *c, const struct group *g);
struct t3_cmd_switch_query group_port(struct conf *c, struct conf_device *d);
/* Waits for that fault, and checks that the switch is named. */
void group_wait_fault(struct conf *c, struct conf_space *s, uint32_t kind);

#endif

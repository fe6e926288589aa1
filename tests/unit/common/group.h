/* SPDX-License-Identifier: MIT */
/*
 * Groups of a switch. SPEC.md chapter 17. In a reduction each rank has a source, space 2, and one
 * rank the target, space 1. In a multicast one rank has the source, space 3, each other a target, space 4.
 */
#ifndef T3_TEST_GROUP_H
#define T3_TEST_GROUP_H

#include "host.h"

#define GROUP_TARGET  1u /* spaces */
#define GROUP_SOURCE  2u
#define GROUP_ROOT    3u
#define GROUP_HEARER  4u
#define GROUP_IMPORT  5u /* entry of targets */
#define GROUP_ROUTE   7u /* of sources */
#define GROUP_SEGMENT 9u /* of targets; that of sources is 0 */

struct group {
	struct host *host;
	uint32_t id, generation;
	uint32_t owner, members; /* of a reduction member i is rank i */
	uint32_t rows, row_bytes, dtype, op;
};

/* All ranks of the host, the owner as well, are sources; one tile has a row. Nothing is armed. */
struct group group_reduce(struct host *host, uint32_t owner, uint32_t rows, uint32_t row_bytes,
			  uint32_t dtype, uint32_t op);
/* The same with the op ADD, in the order of members; a source sends to so many places. */
struct group group_ordered(struct host *host, uint32_t owner, uint32_t rows, uint32_t row_bytes,
			   uint32_t dtype, uint32_t places);
/* From `root` to all other ranks, in tiles of a row; words are i32. Nothing is armed. */
struct group group_multicast(struct host *host, uint32_t root, uint32_t rows, uint32_t row_bytes);
/* A source of kind REMOTE or DMA, of rank `member`, with so many updates of each element. */
void group_source(const struct group *group, uint32_t member, uint32_t kind, uint32_t updates);
void group_target(const struct group *group, uint32_t updates); /* of each member */
/* A group of `owner` alone, with its space and the import entry. Returns t3_admin_status. */
uint32_t group_create(struct host_dev *d, uint32_t space, uint32_t kind, uint32_t import,
		      uint32_t members, struct group *group);
uint32_t group_member(const struct group *group, uint32_t space, uint32_t member,
		      uint32_t peer_rank, uint32_t peer_space, uint32_t peer_import);
void group_import(struct host_dev *d, uint32_t space, const struct group *group);
void group_route(struct host_dev *d, uint32_t space, const struct group *group, uint32_t member);

/* rows * row_bytes bytes to the source's rows, in stores of 8; all arrive if the host drains. */
void group_send(const struct group *group, uint32_t member, const uint8_t *data);
void group_send_row(const struct group *group, uint32_t member, uint32_t row, const uint8_t *data);
void group_arm(const struct group *group, uint32_t epoch); /* target, then sources; all are ARMED */
/* The same of a multicast: the source's rows, and the spaces of all. */
void group_send_copies(const struct group *group, const uint8_t *data);
void group_arm_copies(const struct group *group, uint32_t epoch);
const uint8_t *group_result(const struct group *group);
struct t3_cmd_group_query group_query(const struct group *group);
struct t3_cmd_switch_query group_port(struct host *host, uint32_t rank);

#endif

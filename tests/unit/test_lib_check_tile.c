// SPDX-License-Identifier: MIT
/* libt3, T3_DEBUG=check: doorbells, staged tiles, and what an epoch lacks at its end. */
#ifdef __x86_64__

#include "test_lib_debug.h"
#include "test.h"

/* --------------------------------------------------------------- the staging */

static unsigned char image[1024];
static struct t3_view staging, second; /* slots 0 and 1 */

static void stage_all(uint64_t tiles)
{
	unsigned char source[64] = { 3 };
	void *ptr;
	uint64_t i;

	set_state(DRM_T3_SPACE_IDLE, EPOCH - 1);
	if (t3_staging_bind(space, 5, buffer, 0, 256, 2) || t3_buffer_map(buffer, &ptr) ||
	    t3_view_memory(ptr, &seg, &staging) ||
	    t3_view_memory((unsigned char *)ptr + 256, &seg, &second))
		_exit(4);
	arm(EPOCH);
	for (i = 0; i < tiles; i++)
		t3_stage_tile(&staging, i, source, 16);
}

static void doorbells(void)
{
	uint32_t i;

	stage_all(4);
	for (i = 0; i < 4; i++)
		t3_doorbell_tile(space, 5, 0, i);
	events()->consumed[5][0] = 4;
	arm(EPOCH + 1);
	for (i = 0; i < 4; i++) {
		t3_stage_tile(&staging, i, image, 16);
		t3_doorbell_tile(space, 5, 0, i);
	}
	/* The tile was filled by other means. */
	arm(EPOCH + 2);
	t3_doorbell_tile(space, 5, 1, 3);
}

static void no_such_tile(void)
{
	stage_all(4);
	t3_doorbell_tile(space, 5, 0, 4);
}

static void no_such_slot(void)
{
	stage_all(4);
	t3_doorbell_tile(space, 5, 2, 0);
}

static void no_such_segment(void)
{
	t3_doorbell_tile(space, 6, 0, 0);
}

static void the_wrong_tile(void)
{
	stage_all(3);
	t3_doorbell_tile(space, 5, 0, 3);
}

static void the_wrong_tile_of_a_slot(void)
{
	stage_all(0);
	t3_stage_tile(&second, 1, image, 16);
	t3_doorbell_tile(space, 5, 1, 2);
}

static void rung_twice(void)
{
	stage_all(4);
	t3_doorbell_tile(space, 5, 0, 2);
	t3_doorbell_tile(space, 5, 0, 2);
}

static void stored_and_rung(void)
{
	stage_all(4);
	put16(128 + 40 + 2, 1);
	t3_doorbell_tile(space, 5, 0, 0);
}

static void rung_and_stored(void)
{
	stage_all(4);
	t3_doorbell_tile(space, 5, 0, 0);
	put16(128 + 40 + 2, 1);
}

static void rung_when_idle(void)
{
	stage_all(4);
	set_state(DRM_T3_SPACE_IDLE, EPOCH);
	t3_doorbell_tile(space, 5, 0, 0);
}

/* Tiles 3 and 0 were rung, and the device has read 3 of them. It had read others before. */
static void staged_again(uint64_t tile)
{
	stage_all(4);
	events()->consumed[5][0] = 10;
	t3_doorbell_tile(space, 5, 0, 3);
	t3_doorbell_tile(space, 5, 0, 0);
	events()->consumed[5][0] = 11;
	t3_stage_tile(&staging, tile, image, 16);
}

static void staged_when_read(void)
{
	staged_again(3);
	t3_stage_tile(&staging, 1, image, 16);
	/* A reset restarts all counts. */
	events()->generation++;
	events()->consumed[5][0] = 0;
	t3_doorbell_tile(space, 5, 0, 1);
	events()->consumed[5][0] = 1;
	t3_stage_tile(&staging, 1, image, 16);
}

static void staged_too_early(void)
{
	staged_again(0);
}

/* The consumed counts begin at 0 again, in each slot. */
static void staged_after_a_reset(void)
{
	stage_all(0);
	t3_stage_tile(&second, 1, image, 16);
	t3_doorbell_tile(space, 5, 1, 1);
	events()->consumed[5][1] = 1;
	set_state(DRM_T3_SPACE_COMPLETE, EPOCH);
	if (t3_space_reset(space))
		_exit(6);
	events()->consumed[5][1] = 0;
	events()->generation++;
	arm(EPOCH);
	t3_stage_tile(&second, 1, image, 16);
	t3_doorbell_tile(space, 5, 1, 1);
	set_state(DRM_T3_SPACE_COMPLETE, EPOCH);
}

/* The program makes views itself, so they may describe impossible segments. */
static void staged_by_no_segment(void)
{
	stage_all(4);
	staging.desc.segment = 64;
	t3_stage_tile(&staging, 1, image, 16);
	staging.desc.segment = UINT32_MAX;
	t3_stage_tile(&staging, 1, image, 16);
	t3_doorbell_tile(space, 5, 0, 1);
}

/* The device ignores the doorbells of a space that has ended. */
static void rung_too_late(void)
{
	static const uint32_t states[] = { DRM_T3_SPACE_FAULTED, DRM_T3_SPACE_DISABLED,
					   DRM_T3_SPACE_QUIESCED, DRM_T3_SPACE_DEAD };
	uint32_t i;

	stage_all(4);
	for (i = 0; i < 4; i++) {
		set_state(states[i], EPOCH);
		t3_doorbell_tile(space, 5, 0, 4);
	}
}

/* The device never heard of the refused doorbell, so the next epoch does not wait for its count. */
static void put_when_idle(void)
{
	struct t3_producer_desc arg = { .segment = &seg, .path = T3_PATH_DOORBELL };
	unsigned char source[64] = { 3 };
	struct t3_producer *p;

	set_state(DRM_T3_SPACE_IDLE, EPOCH - 1);
	if (t3_producer_create(dev, space, &arg, &p) || t3_producer_begin(p) ||
	    t3_producer_put_tile(p, 0, source, 16))
		_exit(4);
	if (t3_producer_begin(p))
		_exit(5);
	arm(EPOCH);
	if (t3_producer_put_tile(p, 0, source, 16) || t3_producer_begin(p) != -EBUSY)
		_exit(6);
	events()->consumed[5][0] = 1;
	if (t3_producer_begin(p))
		_exit(7);
	set_state(DRM_T3_SPACE_IDLE, EPOCH);
	t3_producer_destroy(p);
}

TEST("mistakes of doorbells are reported")
{
	expect_silence(doorbells);
	expect_silence(rung_too_late);
	expect_report(no_such_tile, "a doorbell for a segment, slot or tile that there is not",
		      "tile 4 of 4", "t3_doorbell_tile()", NULL);
	assert_null(strstr(outcome.text, "  row "));
	expect_report(no_such_slot, "a doorbell for a segment, slot", "slot 2", NULL);
	expect_report(no_such_segment, "a doorbell for a segment, slot", "segment 6 is not mapped",
		      NULL);
	expect_report(the_wrong_tile, "a doorbell for a tile that was never staged", "tile 3",
		      NULL);
	expect_report(the_wrong_tile_of_a_slot, "a doorbell for a tile that was never staged",
		      "tile 2", NULL);
	expect_report(rung_twice, "an element is stored again", "tile 2",
		      "stored there before:", NULL);
	expect_report(stored_and_rung, "an element is stored again", "tile 0", NULL);
	expect_report(rung_and_stored, "an element is stored again", "mov of 2 bytes", NULL);
	expect_report(rung_when_idle, "not armed", "space 21, idle", NULL);
	expect_warning(put_when_idle, "check,continue", "not armed", "t3_producer_put_tile()",
		       NULL);
}

TEST("a tile staged again too early is reported")
{
	expect_silence(staged_when_read);
	expect_silence(staged_after_a_reset);
	expect_silence(staged_by_no_segment);
	expect_report(staged_too_early, "a tile is staged again before the device has read it",
		      "tile 0", "t3_slot_consumed()", NULL);
}

/* ------------------------------------------------------------------- missing */

/* All but two elements of tile 1 and one of tile 2. */
static void store_most(void)
{
	uint32_t row, col;

	for (row = 0; row < 6; row++) {
		for (col = 0; col < 32; col += 2) {
			if ((row == 2 && (col == 20 || col == 22)) || (row == 5 && col == 14))
				continue;
			put16(128 + row * 40 + col, 1);
		}
	}
}

/* Part of its caller, whatever the optimization: a report names the function of a store. */
static inline __attribute__((always_inline)) void store_columns(uint32_t first, uint32_t end)
{
	uint32_t row, col;

	for (row = 0; row < 4; row++)
		for (col = first; col < end; col += 2)
			put16(128 + row * 40 + col, 1);
}

static void __attribute__((noinline)) store_first(void)
{
	store_columns(0, 8);
}

static void __attribute__((noinline)) store_behind(void)
{
	store_columns(10, 12);
	store_columns(14, 16);
}

/* Tile 0 lacks columns in between. The store before them is the nearest. */
static void leave_a_gap(void)
{
	store_first();
	store_behind();
	t3_arm(space, EPOCH + 1);
}

static void wait_in_vain(void)
{
	struct t3_segment_desc flat = bytes_seg();

	t3_local_map(space, &flat);
	store_most();
	t3_space_set_spin(space, UINT64_MAX);
	if (t3_wait(space, EPOCH, 0, T3_DELIVERED, 0) != -ETIMEDOUT)
		_exit(5);
	if (write(STDERR_FILENO, "asked\n", 6) != 6)
		_exit(6);
	if (t3_wait(space, EPOCH, 0, T3_DELIVERED, t3_deadline(1000)) != -ETIMEDOUT)
		_exit(7);
	/* Each mistake is reported once. */
	if (write(STDERR_FILENO, "again\n", 6) != 6)
		_exit(8);
	if (t3_wait(space, EPOCH, 0, T3_DELIVERED, t3_deadline(1000)) != -ETIMEDOUT)
		_exit(9);
}

/* One after the other by this process alone. */
static void wait_for_the_second_update(void)
{
	struct t3_segment_desc flat = bytes_seg();
	uint32_t at;

	flat.updates = 2;
	t3_local_map(space, &flat);
	for (at = 0; at < flat.rows * flat.pitch; at++)
		if (at % flat.pitch < flat.row_bytes)
			put8((uint32_t)flat.offset + at, 1);
	t3_space_set_spin(space, UINT64_MAX);
	if (t3_wait(space, EPOCH, 1u << 2, T3_TRACKED, t3_deadline(1000)) != -ETIMEDOUT)
		_exit(5);
}

/* What jobs store is not known. */
static void wait_beside_a_job(void)
{
	struct t3_gemm_desc product = {
		.a = { .buffer = buffer },
		.b = { .buffer = buffer },
		.space = space,
		.rows = 1,
		.columns = 1,
		.depth = 1,
		.dtype = DRM_T3_F16,
	};
	struct t3_queue *queue;

	if (t3_queue_create(dev, 1, &queue) || t3_queue_gemm(queue, &product, NULL))
		_exit(5);
	store_most();
	t3_space_set_spin(space, UINT64_MAX);
	if (t3_wait(space, EPOCH, 0, T3_DELIVERED, t3_deadline(1000)) != -ETIMEDOUT)
		_exit(6);
	t3_queue_destroy(queue);
}

static void arm_too_early(void)
{
	store_most();
	t3_arm(space, EPOCH + 1);
}

static void release_too_early(void)
{
	store_most();
	t3_release(space, EPOCH);
}

/* Not even its first elements are stored. */
static void leave_unfinished(void)
{
	store_behind();
	if (t3_space_reset(space))
		_exit(5);
}

static void leave_before_the_first_store(void)
{
	if (t3_space_reset(space))
		_exit(5);
}

/* In the epoch before it has stored. */
static void leave_the_next_epoch_before_the_first_store(void)
{
	store_columns(0, 16);
	arm(EPOCH + 1);
	if (t3_space_reset(space))
		_exit(5);
}

TEST("missing stores are reported at the end of an epoch")
{
	expect_warning(wait_for_the_second_update, "check", "stores are missing",
		       "segment 2 (local u8): 1 of its 1 tiles lack", NULL);
	expect_warning(wait_beside_a_job, "check", "stores are missing",
		       "Jobs write to this space, too", NULL);
	expect_silence(leave_the_next_epoch_before_the_first_store);
	expect_warning(wait_in_vain, "check", "asked\n==", "T3 check: stores are missing",
		       "t3_wait(), whose deadline has passed",
		       "segment 2 (local u8): 1 of its 1 tiles lack stores of this process",
		       "segment 5 (local f16): 2 of its 4 tiles lack stores of this process",
		       "tile 1 lacks 4 of its 64 bytes:\n      row 2, bytes 20 .. 23\n",
		       "tile 2 lacks 2 of its 32 bytes:\n      row 5, bytes 14 .. 15\n",
		       "stored near them:", named("store_most"), NULL);
	assert_null(strstr(strstr(outcome.text, "again\n"), "missing"));
	expect_report(arm_too_early, "an epoch is armed while another one is not over", "t3_arm()",
		      "tile 1 lacks 4 of", NULL);
	expect_report(leave_a_gap, "tile 0 lacks 16 of",
		      "row 0, bytes 8 .. 9\n      row 0, bytes 12 .. 13\n",
		      "stored near them:", named("store_first"), NULL);
	expect_report(release_too_early, "an epoch is released that is not complete",
		      "t3_release()", "tile 2 lacks 2 of", NULL);
	expect_warning(leave_unfinished, "check", "stores are missing", "t3_space_reset()",
		       "tile 1 lacks 64 of", NULL);
	expect_silence(leave_before_the_first_store);
}

/*
 * Each element gets three updates, two of them by peers. So two updates by this process are one too
 * many. The second peer may write to the other segment, too.
 */
static void share_with_peers(uint32_t stores)
{
	struct t3_segment_desc flat = bytes_seg();
	struct t3_key key;
	uint32_t grant;
	int fd;

	flat.updates = 3;
	t3_local_map(space, &flat);
	if (t3_grant_export(space, 1u << 2, 1, &fd, &grant) ||
	    t3_key_export(space, 1, 1u << 2 | 1u << 5, 1, &key, &grant))
		_exit(4);
	while (stores--)
		put8(1024, 1);
}

static void once_each(void)
{
	share_with_peers(1);
}

static void twice_for_two_peers(void)
{
	share_with_peers(2);
}

/* The share of a peer that has no grant any more is this process's. */
static void again_for_each_that_leaves(void)
{
	share_with_peers(1);
	if (t3_grant_revoke(space, 31))
		_exit(5);
	put8(1024, 1);
	if (t3_grant_revoke(space, 32))
		_exit(6);
	put8(1024, 1);
}

/* It ends all grants, and all updates are this process's. */
static void all_after_a_reset(void)
{
	share_with_peers(0);
	if (t3_space_reset(space))
		_exit(5);
	arm(EPOCH + 1);
	put8(1024, 1);
	put8(1024, 1);
	put8(1024, 1);
}

/* The second peer may write all of both segments. Then nothing is known to be missing. */
static void left_to_a_peer(void)
{
	share_with_peers(0);
	t3_grant_revoke(space, 31);
	t3_space_set_spin(space, UINT64_MAX);
	if (t3_wait(space, EPOCH, 0, T3_DELIVERED, t3_deadline(1000)) != -ETIMEDOUT)
		_exit(5);
}

TEST("updates that peers owe are not reported")
{
	expect_silence(once_each);
	expect_silence(again_for_each_that_leaves);
	expect_silence(all_after_a_reset);
	expect_silence(left_to_a_peer);
	expect_report(twice_for_two_peers, "stored again", "segment 2", NULL);
}

#else

int main(void)
{
	return 77; /* traps are known for x86-64 only */
}

#endif

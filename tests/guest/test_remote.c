// SPDX-License-Identifier: MIT
/* Remote segments: each store goes to the peer at once, and errors are reported. */
#include "peer.h"
#include "raw.h"

TEST("remote segments deliver STORE updates")
{
	peer_run_all(DRM_T3_SEGMENT_REMOTE, DRM_T3_OP_STORE);
}

TEST("remote segments deliver ADD updates")
{
	peer_run_all(DRM_T3_SEGMENT_REMOTE, DRM_T3_OP_ADD);
}

TEST("remote segments deliver MIN updates")
{
	peer_run_all(DRM_T3_SEGMENT_REMOTE, DRM_T3_OP_MIN);
}

TEST("remote segments deliver MAX updates")
{
	peer_run_all(DRM_T3_SEGMENT_REMOTE, DRM_T3_OP_MAX);
}

/* ------------------------------------------------- faults, in one process */

struct pair {
	struct raw source, target;
	uint32_t import;
};

static void open_pair(struct pair *p, const struct drm_t3_segment_map *late)
{
	struct drm_t3_segment_map segment;

	raw_open(&p->source, 0, PAGE);
	raw_open(&p->target, 1, PAGE);
	segment = raw_segment(&p->target);
	if (!late)
		CHECK_EQ(raw_map(&p->target, &segment), 0);
	p->import = raw_join(&p->source, &p->target);
	segment = raw_sender(&p->source, DRM_T3_SEGMENT_REMOTE, p->import, 0);
	CHECK_EQ(raw_map(&p->source, &segment), 0);
	if (!late)
		return;
	segment = *late;
	segment.space = p->target.space;
	CHECK_EQ(raw_map(&p->target, &segment), 0);
}

static void close_pair(struct pair *p)
{
	raw_close(&p->source);
	raw_close(&p->target);
}

static void arm_pair(struct pair *p)
{
	raw_arm(&p->target, 1);
	raw_arm(&p->source, 1);
	CHECK_EQ(raw_wait(&p->source, DRM_T3_WAIT_ARMED, 1, 0, after_ms(5000)), 0);
}

static void check_fault(const struct raw *raw, uint32_t kind, uint32_t detail, uint32_t rank)
{
	struct drm_t3_fault fault;

	CHECK_EQ(raw_wait_fault(raw, 1, &fault), -EIO);
	CHECK_EQ(fault.kind, kind);
	CHECK_EQ(fault.detail, detail);
	CHECK_EQ(fault.src_rank, rank);
	CHECK_EQ(fault.epoch, 1);
}

TEST("reading a remote segment faults")
{
	struct pair p;

	open_pair(&p, NULL);
	arm_pair(&p);
	CHECK_EQ(*(volatile uint32_t *)(p.source.aperture + 16), 0xffffffff);
	check_fault(&p.source, DRM_T3_FAULT_READ_REMOTE, 0, 0);
	CHECK_EQ(p.source.events->fault.segment, 0);
	CHECK_EQ(p.source.events->fault.offset, 16);
	check_fault(&p.target, DRM_T3_FAULT_PEER_POISON, 0, 0);
	close_pair(&p);
}

TEST("a remote segment keeps nothing at the source")
{
	struct pair p;
	uint32_t i;

	open_pair(&p, NULL);
	memset(p.source.memory, 0x77, PAGE);
	arm_pair(&p);
	raw_fill(&p.source, 0, RAW_SEGMENT_BYTES, 3);
	CHECK_EQ(raw_wait(&p.target, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(5000)), 0);
	for (i = 0; i < PAGE; i++)
		CHECK_EQ(((volatile uint8_t *)p.source.memory)[i], 0x77);
	close_pair(&p);
}

TEST("a target that faults ends its source")
{
	struct pair p;

	open_pair(&p, NULL);
	arm_pair(&p);
	put8(p.target.aperture, 1);
	check_fault(&p.source, DRM_T3_FAULT_PEER_DEAD, 0, 1);
	close_pair(&p);
}

TEST("a source that faults ends its target")
{
	struct pair p;

	open_pair(&p, NULL);
	arm_pair(&p);
	put8(p.source.aperture, 1);
	check_fault(&p.target, DRM_T3_FAULT_PEER_POISON, 0, 0);
	close_pair(&p);
}

/* Store once. The target must refuse it, for the given reason, and keep its memory. */
static void check_refused(const struct drm_t3_segment_map *late, uint32_t reason)
{
	struct pair p;
	uint64_t before;

	open_pair(&p, late);
	arm_pair(&p);
	before = *(volatile uint64_t *)(p.target.memory + 232);
	put64(p.source.aperture + 232, 0x0101010101010101);
	check_fault(&p.source, DRM_T3_FAULT_REJECTED, reason, 1);
	CHECK_EQ(p.source.events->fault.segment, 0);
	CHECK_EQ(*(volatile uint64_t *)(p.target.memory + 232), before);
	close_pair(&p);
}

/* The target segment was mapped after the source's: the device checks. */
TEST("a late target segment that does not fit is refused")
{
	struct raw any = { 0 };
	struct drm_t3_segment_map late = raw_segment(&any);

	late.dtype = DRM_T3_F32;
	check_refused(&late, DRM_T3_NAK_SEGMENT);
	late.dtype = DRM_T3_I32;
	late.op = DRM_T3_OP_MAX;
	check_refused(&late, DRM_T3_NAK_SEGMENT);
	late.op = DRM_T3_OP_ADD;
	late.segment = 1;
	check_refused(&late, DRM_T3_NAK_SEGMENT);
	late.segment = 0;
	late.rows = 3;
	check_refused(&late, DRM_T3_NAK_BOUNDS);
	late.rows = 4;
	late.row_bytes = late.pitch = 32;
	check_refused(&late, DRM_T3_NAK_BOUNDS);
}

/* The target's own store took the place of the source's. */
TEST("an update beyond the target's count is rejected")
{
	struct pair p;

	open_pair(&p, NULL);
	arm_pair(&p);
	raw_fill(&p.target, 0, 32, 1);
	raw_fill(&p.target, 64, 32, 1); /* tile 0 is complete */
	put64(p.source.aperture, 1);
	check_fault(&p.source, DRM_T3_FAULT_REJECTED, DRM_T3_NAK_OVERSHOOT, 1);
	CHECK_EQ(*(volatile uint64_t *)p.target.memory, 0x100000001);
	close_pair(&p);
}

/* After a reset, an export and an import on both sides, all works. */
TEST("a pair works again after a fault and a reset")
{
	struct drm_t3_segment_map segment;
	struct pair p;

	open_pair(&p, NULL);
	arm_pair(&p);
	put8(p.source.aperture, 1);
	check_fault(&p.target, DRM_T3_FAULT_PEER_POISON, 0, 0);
	CHECK_EQ(space_reset(p.source.fd, p.source.space), 0);
	CHECK_EQ(space_reset(p.target.fd, p.target.space), 0);
	/* The source's remote segment and import are removed. The local segment stays. */
	CHECK_EQ(raw_unmap_segment(&p.source, 0), -ENOENT);
	segment = raw_sender(&p.source, DRM_T3_SEGMENT_REMOTE, p.import, 0);
	CHECK_EQ(raw_map(&p.source, &segment), -ENOENT);
	segment.import = raw_join(&p.source, &p.target);
	CHECK_EQ(raw_map(&p.source, &segment), 0);
	arm_pair(&p);
	raw_fill(&p.source, 0, RAW_SEGMENT_BYTES, 8);
	CHECK_EQ(raw_wait(&p.target, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(5000)), 0);
	CHECK_EQ(*(volatile uint32_t *)(p.target.memory + 252), 8);
	close_pair(&p);
}

/* A fast source may not spill its next epoch into the target's current one. */
TEST("a source waits for the target's release")
{
	struct pair p;

	open_pair(&p, NULL);
	arm_pair(&p);
	raw_fill(&p.source, 0, RAW_SEGMENT_BYTES, 4);
	CHECK_EQ(raw_wait(&p.source, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(5000)), 0);
	raw_release(&p.source, 1);
	raw_arm(&p.source, 2);
	CHECK_EQ(raw_wait(&p.source, DRM_T3_WAIT_ARMED, 2, 0, after_ms(30)), -ETIMEDOUT);
	raw_release(&p.target, 1);
	CHECK_EQ(raw_wait(&p.source, DRM_T3_WAIT_ARMED, 2, 0, after_ms(30)), -ETIMEDOUT);
	raw_arm(&p.target, 2);
	CHECK_EQ(raw_wait(&p.source, DRM_T3_WAIT_ARMED, 2, 0, after_ms(5000)), 0);
	raw_fill(&p.source, 0, RAW_SEGMENT_BYTES, 5);
	CHECK_EQ(raw_wait(&p.target, DRM_T3_WAIT_DELIVERED, 2, 0, after_ms(5000)), 0);
	CHECK_EQ(*(volatile uint32_t *)p.target.memory, 5);
	close_pair(&p);
}

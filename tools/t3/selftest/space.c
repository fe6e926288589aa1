// SPDX-License-Identifier: MIT
/* Spaces: stores, doorbells, a neighbour's updates, and the end of a wait. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "selftest/selftest.h"

#define EPOCH	 1
#define NAP_NS	 20000000
#define ALL_BITS 1

static bool arm(struct selftest *test, struct t3_space *space)
{
	return selftest_good(test, "arming", t3_arm(space, EPOCH)) &&
	       selftest_good(test, "waiting until the space is armed",
			     t3_wait_armed(space, EPOCH, test->deadline));
}

static bool wait_delivered(struct selftest *test, struct t3_space *space)
{
	struct drm_t3_fault fault;
	char text[128];
	int ret;

	ret = t3_wait(space, EPOCH, 0, T3_DELIVERED, test->deadline);
	if (ret != -EIO || t3_space_fault(space, &fault))
		return selftest_good(test, "waiting until all updates are counted", ret);
	t3_fault_text(&fault, text, sizeof(text));
	return selftest_fail(test, "the space has faulted: %s", text);
}

static bool store_all(struct selftest *test, const struct selftest_bed *bed)
{
	uint64_t tiles = t3_desc_tiles(&bed->desc), tile;
	uint32_t update;

	for (update = 0; update < bed->desc.updates; update++)
		for (tile = 0; tile < tiles; tile++)
			if (!selftest_store_tile(test, bed, update, tile))
				return false;
	return true;
}

static bool store_and_compare(struct selftest *test, struct selftest_bed *bed)
{
	return selftest_good(test, "mapping a local segment",
			     t3_local_map(bed->space, &bed->desc)) &&
	       arm(test, bed->space) && store_all(test, bed) && wait_delivered(test, bed->space) &&
	       selftest_compare(test, bed) &&
	       selftest_good(test, "releasing", t3_release(bed->space, EPOCH));
}

static bool store_by_op(struct selftest *test, uint32_t op)
{
	struct selftest_bed bed = { 0 };
	bool good = selftest_bed_open(test, &bed, test->device->dev, test->variant, op) &&
		    store_and_compare(test, &bed);

	selftest_bed_close(&bed);
	return good;
}

bool selftest_store(struct selftest *test)
{
	char done[sizeof(test->text)] = "";
	uint32_t op;

	for (op = DRM_T3_OP_STORE; op <= DRM_T3_OP_MUL; op++) {
		if (!selftest_device_has(test, test->variant, op))
			continue;
		if (!store_by_op(test, op) || test->skipped)
			return false;
		strcat(strcat(done, *done ? " " : ""), t3_op_name(op));
	}
	if (!*done)
		return selftest_skip(test, "the device does not have the type");
	strcpy(test->text, done);
	return true;
}

/* Each update has a slot of its own, so no slot is filled again. */
static bool stage_all(struct selftest *test, const struct selftest_bed *bed, void *staging)
{
	uint64_t stride = (uint64_t)bed->desc.rows * bed->desc.pitch, number;
	unsigned char values[SELFTEST_BYTES];
	struct t3_view view;
	struct t3_tile tile;
	uint32_t slot;
	int ret = 0;

	for (slot = 0; slot < bed->desc.updates && !ret; slot++) {
		selftest_values(bed, slot, values);
		ret = t3_view_memory((char *)staging + slot * stride, &bed->desc, &view);
		for (number = 0; number < t3_desc_tiles(&bed->desc) && !ret; number++) {
			ret = t3_desc_tile(&bed->desc, number, &tile);
			if (!ret)
				ret = t3_stage_tile(&view, number, values + tile.offset,
						    bed->desc.pitch);
			if (!ret)
				ret = t3_doorbell_tile(bed->space, 0, slot, (uint32_t)number);
		}
	}
	return selftest_good(test, "ringing a tile's doorbell", ret);
}

static bool stage_and_compare(struct selftest *test, struct selftest_bed *bed,
			      struct t3_buffer *staging)
{
	uint64_t stride = (uint64_t)bed->desc.rows * bed->desc.pitch;
	void *memory;

	return selftest_good(test, "mapping staging memory", t3_buffer_map(staging, &memory)) &&
	       selftest_good(test, "mapping a local segment",
			     t3_local_map(bed->space, &bed->desc)) &&
	       selftest_good(test, "binding staging memory",
			     t3_staging_bind(bed->space, 0, staging, 0, stride,
					     bed->desc.updates)) &&
	       arm(test, bed->space) && stage_all(test, bed, memory) &&
	       wait_delivered(test, bed->space) && selftest_compare(test, bed);
}

bool selftest_doorbell(struct selftest *test)
{
	struct t3_buffer *staging = NULL;
	struct selftest_bed bed = { 0 };
	uint32_t op = selftest_device_has(test, test->variant, DRM_T3_OP_ADD) ? DRM_T3_OP_ADD
									      : DRM_T3_OP_STORE;
	bool good;

	if (!selftest_device_has(test, test->variant, op))
		return selftest_skip(test, "the device does not have the type");
	if (!(test->device->info.features & DRM_T3_FEATURE_STAGING))
		return selftest_skip(test, "the device has no staging");
	good = selftest_bed_open(test, &bed, test->device->dev, test->variant, op) &&
	       selftest_good(test, "allocating staging memory",
			     t3_buffer_create(test->device->dev, 2 * SELFTEST_BYTES, &staging)) &&
	       stage_and_compare(test, &bed, staging);
	selftest_bed_close(&bed);
	t3_buffer_destroy(staging);
	return good;
}

/* ---------------------------------------------------------------- neighbour */

static bool connect_beds(struct selftest *test, struct selftest_bed *source,
			 struct selftest_bed *target)
{
	struct t3_target to = { .op = target->desc.op };
	uint32_t grant;
	int fd, ret;

	ret = t3_local_map(target->space, &target->desc);
	if (!ret)
		ret = t3_grant_export(target->space, ALL_BITS, 1u << to.op, &fd, &grant);
	if (ret)
		return selftest_good(test, "granting at the neighbour", ret);
	ret = t3_grant_import(source->space, fd, &to.import, NULL);
	close(fd);
	source->desc.op = 0;
	source->desc.init = 0;
	if (!ret)
		ret = t3_remote_map(source->space, &source->desc, &to);
	return selftest_good(test, "mapping a remote segment", ret);
}

static bool send_and_compare(struct selftest *test, struct selftest_bed *source,
			     struct selftest_bed *target)
{
	return connect_beds(test, source, target) && arm(test, target->space) &&
	       arm(test, source->space) && store_all(test, source) &&
	       wait_delivered(test, source->space) && wait_delivered(test, target->space) &&
	       selftest_compare(test, target);
}

bool selftest_remote(struct selftest *test)
{
	const struct drm_t3_device_info *info = &test->device->info;
	struct selftest_bed source = { 0 }, target = { 0 };
	uint32_t peer = info->ranks ? (info->rank + 1) % info->ranks : 0;
	struct t3_device *dev;
	bool good;
	int ret;

	if (info->ranks < 2)
		return selftest_skip(test, "the device is on no fabric");
	ret = t3_device_open_rank(info->fabric_id, peer, &dev);
	if (ret == -ENODEV || ret == -ENOENT || ret == -EACCES || ret == -EPERM)
		return selftest_skip(test, "rank %u is not there, or not for this process", peer);
	if (ret)
		return selftest_good(test, "opening the neighbour", ret);
	good = selftest_bed_open(test, &target, dev, DRM_T3_F32, DRM_T3_OP_ADD) &&
	       selftest_bed_open(test, &source, test->device->dev, DRM_T3_F32, DRM_T3_OP_ADD) &&
	       send_and_compare(test, &source, &target);
	selftest_bed_close(&source);
	selftest_bed_close(&target);
	t3_device_close(dev);
	return good;
}

/* -------------------------------------------------------------------- waits */

/* Stores the last tile later, while the other thread waits. */
struct late_store {
	struct selftest test; /* of this thread */
	const struct selftest_bed *bed;
	uint64_t ns; /* just before the store */
	bool good;
};

static void *store_late(void *arg)
{
	struct late_store *late = arg;

	sleep_ns(NAP_NS);
	late->ns = now_ns();
	late->good = selftest_store_tile(&late->test, late->bed, late->bed->desc.updates - 1,
					 t3_desc_tiles(&late->bed->desc) - 1);
	return NULL;
}

/* Store all but the last tile's last update. */
static bool store_most(struct selftest *test, const struct selftest_bed *bed)
{
	uint64_t tiles = t3_desc_tiles(&bed->desc), tile;
	uint32_t update;

	for (update = 0; update < bed->desc.updates; update++)
		for (tile = 0; tile < tiles - (update + 1 == bed->desc.updates); tile++)
			if (!selftest_store_tile(test, bed, update, tile))
				return false;
	return true;
}

static bool wait_for_late_store(struct selftest *test, const struct selftest_bed *bed)
{
	struct late_store late = { .test = *test, .bed = bed };
	uint64_t woken;
	pthread_t thread;
	bool good;

	if (pthread_create(&thread, NULL, store_late, &late))
		return selftest_fail(test, "no thread could be started");
	good = wait_delivered(test, bed->space);
	woken = now_ns();
	pthread_join(thread, NULL);
	if (!late.good)
		return selftest_fail(test, "%s", late.test.text);
	if (good)
		snprintf(test->text, sizeof(test->text), "%.0f us after the last store",
			 (double)(woken - late.ns) / 1000);
	return good && selftest_compare(test, bed);
}

static bool wait_by(struct selftest *test, uint64_t spin_ns)
{
	struct selftest_bed bed = { 0 };
	bool good = selftest_bed_open(test, &bed, test->device->dev, DRM_T3_I32, DRM_T3_OP_ADD) &&
		    selftest_good(test, "mapping a local segment",
				  t3_local_map(bed.space, &bed.desc)) &&
		    arm(test, bed.space) && store_most(test, &bed);

	if (good) {
		t3_space_set_spin(bed.space, spin_ns);
		good = wait_for_late_store(test, &bed);
	}
	selftest_bed_close(&bed);
	return good;
}

/* The spin is longer than the other thread's delay. So the wait never sleeps, and still ends. */
bool selftest_poll(struct selftest *test)
{
	return wait_by(test, 100 * (uint64_t)NAP_NS);
}

bool selftest_interrupt(struct selftest *test)
{
	struct drm_t3_counters before, after;
	int ret = t3_device_counters(test->device->dev, &before);

	if (!selftest_good(test, "reading counters", ret) || !wait_by(test, 0))
		return false;
	ret = t3_device_counters(test->device->dev, &after);
	if (!selftest_good(test, "reading counters", ret))
		return false;
	return after.value[T3_DEVICE_INTERRUPTS] > before.value[T3_DEVICE_INTERRUPTS] ||
	       selftest_fail(test, "the wait ended without an interrupt of the device");
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/counters.h"
#include "common/message.h"
#include "timed/device.h"

#define RESULT_OFFSET 1024u
#define BUFFER_BYTES  4096u
#define COUNTED_BYTES (17 * 4096u)

_Static_assert(sizeof(struct t3_timed_args) <= RESULT_OFFSET, "the arguments have room");
_Static_assert(sizeof(struct t3_timed_args) + TIMED_COUNTS * sizeof(uint32_t) <= COUNTED_BYTES,
	       "and so have the counts");

/* ------------------------------------------------------------------- opening */

/* The first device that can be opened, in the order of `t3 list`. */
static int open_any(const struct t3_device_list *list, struct t3_device **dev)
{
	int ret = -ENODEV;
	char words[1024];
	size_t i;

	for (i = 0; ret && i < t3_device_list_count(list); i++)
		if (*t3_device_list_get(list, i)->node)
			ret = t3_device_open(t3_device_list_get(list, i)->node, dev);
	if (!ret)
		return EXIT_OK;
	t3_device_explain(NULL, ret, words, sizeof(words));
	return complain(EXIT_FAIL, "--device: %s", words);
}

/* Any of its ranks: others may be on other nodes. */
static int open_fabric(uint64_t fabric_id, struct t3_device **dev)
{
	char words[512];
	uint32_t rank;
	int ret = -ENODEV;

	for (rank = 0; ret && rank < T3_MAX_RANKS; rank++)
		ret = t3_device_open_rank(fabric_id, rank, dev);
	if (!ret)
		return EXIT_OK;
	t3_device_explain(NULL, ret, words, sizeof(words));
	return complain(EXIT_FAIL, "--device: %s", words);
}

/* fabric_id 0: any of the machine. */
static int open_first(uint64_t fabric_id, struct t3_device **dev)
{
	struct t3_device_list *list;
	int ret;

	if (fabric_id)
		return open_fabric(fabric_id, dev);
	ret = t3_device_list(&list);
	if (ret)
		return complain(EXIT_FAIL, "--device: the devices cannot be listed: %s",
				error_words(ret));
	ret = open_any(list, dev);
	t3_device_list_free(list);
	return ret;
}

static int check_device(const struct t3_device *dev, bool every, struct drm_t3_device_info *info)
{
	int ret = t3_device_info(dev, info);

	if (ret)
		return complain(EXIT_FAIL, "the device does not say what it is: %s",
				error_words(ret));
	if (!(info->features & DRM_T3_FEATURE_TIMED))
		return complain(EXIT_FAIL, "the device does not run the timed model: its fabric "
					   "needs the property timed=on");
	if (every && (info->ranks < 2 || info->ranks > T3_MAX_RANKS))
		return complain(EXIT_FAIL, "--every-device needs a fabric of 2 to %u ranks, not %u",
				T3_MAX_RANKS, info->ranks);
	return EXIT_OK;
}

static int prepare(struct timed_rank *rank, uint32_t number)
{
	void *memory;
	int ret;

	rank->fence = -1;
	ret = t3_queue_create(rank->dev, 0, &rank->queue);
	if (!ret)
		ret = t3_buffer_create_host(rank->dev, BUFFER_BYTES, &rank->buffer);
	if (!ret)
		ret = t3_buffer_map(rank->buffer, &memory);
	if (ret)
		return complain(EXIT_FAIL, "rank %u has no queue or buffer for the run: %s", number,
				error_words(ret));
	rank->memory = memory;
	return EXIT_OK;
}

/* The first device was opened only to read its fabric. */
static int open_rank(struct timed_devices *devices, uint64_t fabric, uint32_t number)
{
	struct timed_rank *rank = &devices->rank[devices->count];
	char words[1024];
	int ret;

	rank->number = number;
	ret = t3_device_open_rank(fabric, number, &rank->dev);
	if (ret) {
		t3_device_explain(NULL, ret, words, sizeof(words));
		return complain(EXIT_FAIL, "rank %u of the fabric: %s", number, words);
	}
	devices->count++;
	return prepare(rank, number);
}

int timed_devices_open(struct timed_devices *devices, uint64_t fabric_id, bool every)
{
	struct drm_t3_device_info info = { 0 };
	struct t3_device *first;
	uint32_t i;
	int ret;

	*devices = (struct timed_devices){ 0 };
	ret = open_first(fabric_id, &first);
	if (ret != EXIT_OK)
		return ret;
	ret = check_device(first, every, &info);
	devices->ranks = info.ranks;
	devices->every = every;
	devices->full = info.topology >= T3_TOPOLOGY_FULL;
	if (ret == EXIT_OK && !every) {
		devices->rank[devices->count++].dev = first;
		return prepare(&devices->rank[0], info.rank);
	}
	t3_device_close(first);
	for (i = 0; ret == EXIT_OK && i < info.ranks; i++)
		if (info.node_ranks >> i & 1)
			ret = open_rank(devices, info.fabric_id, i);
	return ret;
}

void timed_devices_close(struct timed_devices *devices)
{
	uint32_t i;

	for (i = 0; i < devices->count; i++) {
		t3_queue_destroy(devices->rank[i].queue);
		t3_buffer_destroy(devices->rank[i].table);
		t3_buffer_destroy(devices->rank[i].buffer);
		t3_device_close(devices->rank[i].dev);
	}
	devices->count = 0;
}

/* ------------------------------------------------------------------- running */

static struct t3_timed_args arguments(const struct t3_timed_setup *setup)
{
	const struct t3_timed_workload *w = &setup->workload;
	struct t3_timed_args args = {
		.program = setup->program,
		.flags = setup->mirrored ? T3_TIMED_MIRRORED : 0,
		.ranks = (uint32_t)w->ranks,
		.element_bytes = (uint32_t)w->element_bytes,
		.rows = w->rows,
		.columns = w->columns,
		.depth = w->depth,
		.chunks = w->chunks,
		.collective = w->collective,
		.nodes = (uint32_t)w->nodes,
	};
	size_t i;

	for (i = 0; i < T3_TIMED_PARAMS; i++)
		args.params[i] = t3_timed_param_get(&setup->params, &t3_timed_params[i]);
	if (setup->routing) {
		args.experts = (uint32_t)setup->routing->experts;
		args.way = setup->routing->way;
	}
	return args;
}

static int submit_counted(struct timed_rank *rank, const struct t3_timed_args *args,
			  const uint32_t *counts)
{
	struct t3_timed_desc desc = { .result = rank->buffer, .result_offset = RESULT_OFFSET };
	uint32_t count = args->ranks * args->experts;
	void *memory;
	int ret;

	if (!rank->table) {
		ret = t3_buffer_create(rank->dev, COUNTED_BYTES, &rank->table);
		if (!ret)
			ret = t3_buffer_map(rank->table, &memory);
		if (ret)
			return ret;
		rank->counted = memory;
	}
	desc.args = rank->table;
	memcpy(rank->counted, args, sizeof(*args));
	memcpy(rank->counted + sizeof(*args), counts, count * sizeof(counts[0]));
	return t3_queue_timed_experts(rank->queue, &desc, count, &rank->fence);
}

static int submit(struct timed_rank *rank, const struct t3_timed_args *args,
		  const struct t3_timed_routing *routing)
{
	struct t3_timed_desc desc = { rank->buffer, 0, rank->buffer, RESULT_OFFSET };

	memset(rank->memory, 0, BUFFER_BYTES);
	if (routing)
		return submit_counted(rank, args, routing->rows);
	memcpy(rank->memory, args, sizeof(*args));
	return t3_queue_timed(rank->queue, &desc, &rank->fence);
}

static int wait_for(struct timed_rank *rank)
{
	int ret;

	if (rank->fence < 0)
		return 0;
	ret = t3_fence_wait(rank->fence, INT64_MAX);
	close(rank->fence);
	rank->fence = -1;
	return ret;
}

static const char *reason(int error)
{
	switch (error) {
	case -EINVAL:
		return "it refuses arguments that the model accepts here";
	case -ENOMEM:
		return "there is not enough memory for the run";
	case -ECANCELED:
		return "another rank has left the run";
	case -ETIME:
		return "the run was not over within the driver's job_timeout_ms";
	default:
		return strerror(-error);
	}
}

/* Submit all runs before waiting for any. Wait for all that were submitted. */
static bool run_all(struct timed_devices *devices, const struct t3_timed_setup *setup, char *why)
{
	struct t3_timed_args args = arguments(setup);
	uint32_t i, failed = 0;
	int first = 0, ret;

	for (i = 0; i < devices->count && !first; i++) {
		first = submit(&devices->rank[i], &args, setup->routing);
		failed = i;
	}
	for (i = 0; i < devices->count; i++) {
		ret = wait_for(&devices->rank[i]);
		/* Keep the error of the rank that failed first, not -ECANCELED of the others. */
		if (ret && (!first || first == -ECANCELED)) {
			first = ret;
			failed = i;
		}
	}
	if (first)
		snprintf(why, SIM_WHY_SIZE, "device %u: %s", failed, reason(first));
	return !first;
}

/* ----------------------------------------------------------------- comparing */

static bool same_counters(const struct timed_devices *devices, uint32_t rank,
			  const struct t3_timed_result *result, const struct t3_timed *native,
			  char *why)
{
	struct t3_timed_counters model;
	char what[SIM_WHY_SIZE];

	t3_timed_counters(native, rank, &model);
	if (sim_counters_equal(&result->counters, &model, what))
		return true;
	snprintf(why, SIM_WHY_SIZE, "device %u of %u: %.200s", rank,
		 devices->every ? devices->ranks : 1, what);
	return false;
}

static bool check_result(const struct timed_devices *devices, uint32_t i,
			 const struct t3_timed *native, struct timed_device_run *run, char *why)
{
	struct t3_timed_result result;

	memcpy(&result, devices->rank[i].memory + RESULT_OFFSET, sizeof(result));
	if (!i)
		run->start = result.start;
	if (result.start != run->start) {
		snprintf(why, SIM_WHY_SIZE,
			 "device %u began at %llu virtual ns, the first one at %" PRIu64, i,
			 (unsigned long long)result.start, run->start);
		return false;
	}
	if (result.events != t3_timed_events(native)) {
		snprintf(why, SIM_WHY_SIZE, "device %u: events is %llu, and %" PRIu64 " natively",
			 i, (unsigned long long)result.events, t3_timed_events(native));
		return false;
	}
	run->host_paced |= result.flags & T3_TIMED_HOST_PACED;
	return same_counters(devices, devices->rank[i].number, &result, native, why);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

bool timed_devices_run(struct timed_devices *devices, const struct t3_timed_setup *setup,
		       const struct t3_timed *native, struct timed_device_run *run, char *why)
{
	double began = seconds();
	uint32_t i;

	if (!run_all(devices, setup, why))
		return false;
	*run = (struct timed_device_run){ .ran = true, .seconds = seconds() - began };
	for (i = 0; i < devices->count; i++)
		if (!check_result(devices, i, native, run, why))
			return false;
	return true;
}

static bool look(void *opaque, const struct t3_timed_setup *setup, const struct t3_timed *native,
		 char *why)
{
	struct timed_observer *observer = opaque;

	return timed_devices_run(observer->devices, setup, native, &observer->runs[setup->program],
				 why);
}

struct sim_witness timed_observe(struct timed_observer *observer)
{
	return (struct sim_witness){ look, observer };
}

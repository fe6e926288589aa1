// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "trace/clock.h"

#define SAME_MAX	64 /* of equal changes, at most that many are compared in each list */
#define DIFFERENCES_MAX (1u << 20)

/* Windows for the delays of true pairs. Most delays are close together, some are not. */
static const int64_t windows_ns[] = { 50000, 200000, 1000000, 5000000, 20000000 };

#define NEAR_NS 1000000 /* delays that differ by no more belong together */

#define WINDOWS ((int)(sizeof(windows_ns) / sizeof(*windows_ns)))

bool state_changes_add(struct state_changes *changes, const struct state_change *change)
{
	size_t room = changes->room ? 2 * changes->room : 256;
	struct state_change *list;

	if (changes->count == changes->room) {
		list = reallocarray(changes->list, room, sizeof(*list));
		if (!list)
			return false;
		changes->list = list;
		changes->room = room;
	}
	changes->list[changes->count++] = *change;
	return true;
}

void state_changes_free(struct state_changes *changes)
{
	free(changes->list);
	*changes = (struct state_changes){ 0 };
}

static int compare(const struct state_change *a, const struct state_change *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	if (a->epoch != b->epoch)
		return a->epoch < b->epoch ? -1 : 1;
	return strcmp(a->state, b->state);
}

static int by_change(const void *a, const void *b)
{
	const struct state_change *x = a, *y = b;
	int order = compare(x, y);

	return order ? order : (x->ns > y->ns) - (x->ns < y->ns);
}

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Count the equal changes from i on. */
static size_t run_length(const struct state_changes *changes, size_t i)
{
	size_t end = i + 1;

	while (end < changes->count && !compare(&changes->list[i], &changes->list[end]))
		end++;
	return end - i;
}

static void cross(const struct state_change *device, size_t devices,
		  const struct state_change *driver, size_t drivers, int64_t *differences,
		  size_t *count)
{
	size_t i, k;

	for (i = 0; i < devices && i < SAME_MAX; i++)
		for (k = 0; k < drivers && k < SAME_MAX && *count < DIFFERENCES_MAX; k++)
			differences[(*count)++] = driver[k].ns - device[i].ns;
}

/* Add the difference of each pair of equal changes, one from each list. */
static size_t all_differences(const struct state_changes *device,
			      const struct state_changes *driver, int64_t *differences)
{
	size_t i = 0, k = 0, count = 0, devices, drivers;
	int order;

	while (i < device->count && k < driver->count) {
		devices = run_length(device, i);
		drivers = run_length(driver, k);
		order = compare(&device->list[i], &driver->list[k]);
		if (!order)
			cross(&device->list[i], devices, &driver->list[k], drivers, differences,
			      &count);
		i += order <= 0 ? devices : 0;
		k += order >= 0 ? drivers : 0;
	}
	return count;
}

/*
 * Equal programs that run one after the other have equal changes, at nearly the same distances. The
 * true pairs are the closest together. So narrow windows count, too.
 */
static size_t densest(const int64_t *differences, size_t count)
{
	size_t end[WINDOWS] = { 0 }, first, score, best = 0, found = 0;
	int i;

	for (first = 0; first < count; first++) {
		for (i = 0, score = 0; i < WINDOWS; i++) {
			while (end[i] < count &&
			       differences[end[i]] - differences[first] <= windows_ns[i])
				end[i]++;
			score += end[i] - first;
		}
		if (score <= best)
			continue;
		best = score;
		found = first;
	}
	return found;
}

/*
 * No change is seen before it happens. So the shortest delay of the true pairs is the clocks' offset,
 * also where it is a little shorter than those that are close together.
 */
static void match_pairs(const int64_t *differences, size_t count, struct clock_match *match)
{
	size_t first = densest(differences, count), end = first;

	*match = (struct clock_match){ 0 };
	if (!count)
		return;
	while (end < count && differences[end] - differences[first] <= windows_ns[WINDOWS - 1])
		end++;
	while (first && differences[first] - differences[first - 1] <= NEAR_NS)
		first--;
	match->pairs = end - first;
	match->offset_ns = differences[first];
	match->median_ns = differences[first + match->pairs / 2] - differences[first];
}

bool clock_match(struct state_changes *device, struct state_changes *driver,
		 struct clock_match *match)
{
	int64_t *differences = malloc(DIFFERENCES_MAX * sizeof(*differences));
	size_t count;

	if (!differences)
		return false;
	qsort(device->list, device->count, sizeof(*device->list), by_change);
	qsort(driver->list, driver->count, sizeof(*driver->list), by_change);
	count = all_differences(device, driver, differences);
	qsort(differences, count, sizeof(*differences), by_value);
	match_pairs(differences, count, match);
	free(differences);
	return match->pairs > 0;
}

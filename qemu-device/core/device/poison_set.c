/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Poisoned device memory: ranges that the device must not use. SPEC.md section 9.2. */
#include "device/device.h"

static const struct t3_rank_injection *injected_at(const struct t3_dev *dev)
{
	return dev->fabric ? &dev->fabric->injected[dev->rank] : NULL;
}

bool t3_poisoned(const struct t3_dev *dev, uint64_t offset, uint64_t len, uint64_t *where)
{
	const struct t3_rank_injection *injected = injected_at(dev);
	uint32_t i;

	for (i = 0; injected && len && i < injected->poisons; i++) {
		const struct t3_poison *poison = &injected->poison[i];

		if (poison->end <= offset)
			continue;
		if (poison->start > offset && poison->start - offset >= len)
			return false;
		*where = poison->start > offset ? poison->start : offset;
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------- the set */

/* Joins the new range with those that it overlaps or touches, so that gaps separate all. */
uint32_t t3_poison_add(struct t3_rank_injection *injected, uint64_t start, uint64_t end)
{
	struct t3_poison *poison = injected->poison;
	uint32_t first = 0, last, count = injected->poisons;

	while (first < count && poison[first].end < start)
		first++;
	for (last = first; last < count && poison[last].start <= end; last++) {
		if (poison[last].start < start)
			start = poison[last].start;
		if (poison[last].end > end)
			end = poison[last].end;
	}
	if (first == last && count == T3_POISON_RANGES)
		return T3_ADMIN_NO_RESOURCE;
	memmove(&poison[first + 1], &poison[last], (count - last) * sizeof(*poison));
	poison[first] = (struct t3_poison){ start, end };
	injected->poisons = count + 1 - (last - first);
	return T3_ADMIN_OK;
}

/* Cuts a range out of the set. One range may become two, for which there may be no room. */
uint32_t t3_poison_remove(struct t3_rank_injection *injected, uint64_t start, uint64_t end)
{
	struct t3_poison left[T3_POISON_RANGES + 1];
	uint32_t i, count = 0;

	for (i = 0; i < injected->poisons; i++) {
		struct t3_poison *poison = &injected->poison[i];

		if (poison->end <= start || poison->start >= end) {
			left[count++] = *poison;
			continue;
		}
		if (poison->start < start)
			left[count++] = (struct t3_poison){ poison->start, start };
		if (poison->end > end)
			left[count++] = (struct t3_poison){ end, poison->end };
	}
	if (count > T3_POISON_RANGES)
		return T3_ADMIN_NO_RESOURCE;
	memcpy(injected->poison, left, count * sizeof(left[0]));
	injected->poisons = count;
	return T3_ADMIN_OK;
}

/* ------------------------------------------------------------------- reporting */

void t3_poison_report(struct t3_dev *dev, uint64_t where)
{
	dev->counter[T3_COUNTER_POISON_HITS]++;
	t3_count_injected(dev->fabric, dev->rank);
	if (!(dev->error_status & T3_ERROR_POISON))
		dev->poison_address = where;
	t3_error_raise(dev, T3_ERROR_POISON);
}

/* SPDX-License-Identifier: MIT */
#include "migrate.h"
#include "trail.h"

static void put(void *opaque, const void *data, size_t len)
{
	struct blob *blob = opaque;

	while (blob->room < blob->len + len) {
		blob->room = blob->room ? 2 * blob->room : 4096;
		blob->data = realloc(blob->data, blob->room);
		assert_non_null(blob->data);
	}
	memcpy(blob->data + blob->len, data, len);
	blob->len += len;
}

void blobs_save(struct blobs *blobs, struct host *host)
{
	memset(blobs, 0, sizeof(*blobs));
	blobs_save_again(blobs, host);
}

void blobs_save_again(struct blobs *blobs, struct host *host)
{
	uint32_t i;

	blobs->ranks = host->ranks;
	for (i = 0; i <= host->ranks; i++)
		blobs->part[i].len = 0;
	for (i = 0; i < host->ranks; i++)
		t3_dev_save(host->dev[i].dev, put, &blobs->part[i]);
	t3_fabric_save(host->fabric, put, &blobs->part[host->ranks]);
	for (i = 0; i <= host->ranks; i++)
		trail_add(blobs->part[i].data, blobs->part[i].len);
}

void blobs_free(struct blobs *blobs)
{
	uint32_t i;

	for (i = 0; i <= blobs->ranks; i++)
		free(blobs->part[i].data);
}

void blobs_expect_equal(const struct blobs *a, const struct blobs *b)
{
	uint32_t i;

	for (i = 0; i <= a->ranks; i++) {
		assert_int_equal(a->part[i].len, b->part[i].len);
		assert_memory_equal(a->part[i].data, b->part[i].data, a->part[i].len);
	}
}

static const char *load_fabric(const struct blobs *blobs, struct host *host)
{
	const struct blob *blob = &blobs->part[blobs->ranks];

	return t3_fabric_load(host->fabric, blob->data, blob->len);
}

const char *blobs_load(const struct blobs *blobs, struct host *host, uint32_t order)
{
	const char *refused = order & 1 ? load_fabric(blobs, host) : NULL;
	uint32_t i;

	for (i = 0; i < blobs->ranks && !refused; i++)
		refused = t3_dev_load(host->dev[i].dev, blobs->part[i].data, blobs->part[i].len);
	if (!refused && !(order & 1))
		refused = load_fabric(blobs, host);
	refused = refused ? refused : t3_fabric_check(host->fabric);
	trail_text(refused);
	return refused;
}

static void expect_loaded(const struct blobs *blobs, struct host *host, uint32_t order)
{
	const char *refused = blobs_load(blobs, host, order);
	struct blobs again;

	if (refused)
		fail_msg("a good state is refused: %s", refused);
	blobs_save(&again, host);
	blobs_expect_equal(blobs, &again);
	blobs_free(&again);
}

void host_copy(struct host *to, struct host *from)
{
	struct blobs blobs;
	uint32_t i;

	for (i = 0; i < from->ranks; i++) {
		struct host_dev *d = &to->dev[i];

		memcpy(d->memory, from->dev[i].memory, HOST_MEMORY);
		memcpy(d->pages, from->dev[i].pages, HOST_PAGES * T3_PAGE_SIZE);
		memcpy(d->data, from->dev[i].data, HOST_DATA_SIZE);
		d->fail_after = from->dev[i].fail_after;
		d->watch = from->dev[i].watch;
		d->logged = 0;
	}
	blobs_save(&blobs, from);
	expect_loaded(&blobs, to, (uint32_t)blobs.part[0].len / 4);
	blobs_free(&blobs);
}

struct host *host_clone(struct host *host)
{
	struct host *clone = host_new(&host->config);

	host_copy(clone, host);
	return clone;
}

void host_migrate(struct host *host, uint32_t inline_budget)
{
	struct t3_fabric *old = host->fabric;
	struct t3_dev *dev[T3_MAX_RANKS];
	struct blobs blobs;
	uint32_t i;

	blobs_save(&blobs, host);
	host_new_fabric(host);
	for (i = 0; i < host->ranks; i++) {
		dev[i] = host->dev[i].dev;
		host_new_device(host, i);
	}
	t3_fabric_set_inline_budget(host->fabric, inline_budget);
	expect_loaded(&blobs, host, (uint32_t)blobs.part[0].len / 4);
	blobs_free(&blobs);
	t3_fabric_clear(old); /* the source no longer acts on the memory that both share */
	for (i = 0; i < host->ranks; i++)
		t3_dev_detach(dev[i]);
	for (i = 0; i < host->ranks; i++)
		t3_dev_free(dev[i]);
	t3_fabric_free(old);
}

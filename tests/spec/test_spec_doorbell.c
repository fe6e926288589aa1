/* SPDX-License-Identifier: MIT */
/* Doorbell pages against the table of SPEC.md section 2.2, read from the manual. */
#include "host.h"
#include "spec_tables.h"
#include "test.h"

#define DOORBELLS (sizeof(spec_doorbells) / sizeof(spec_doorbells[0]))

static const struct spec_doorbell *doorbell_at(uint32_t offset, uint32_t width, bool write)
{
	size_t i;

	for (i = 0; i < DOORBELLS; i++)
		if (spec_doorbells[i].offset == offset && spec_doorbells[i].width == width &&
		    spec_doorbells[i].write == write)
			return &spec_doorbells[i];
	return NULL;
}

/* Space 1: IDLE, with segment 0 that has a slot. */
static void begin_anew(struct host_dev *d)
{
	host_clear(d->host);
	host_space(d, 1);
	host_local(d, 1, 0);
	host_stage(d, 1, 0, 1);
}

static void check(struct host_dev *d, uint32_t offset, uint32_t width, bool write)
{
	const struct spec_doorbell *doorbell = doorbell_at(offset, width, write);
	const struct t3_event_area *area = host_area(d, 1);

	begin_anew(d);
	if (write)
		host_doorbell(d, 1, offset, 0, width);
	else if (!doorbell)
		assert_int_equal(host_doorbell_read(d, 1, offset, width), HOST_NONE64);
	else
		assert_int_equal(host_doorbell_read(d, 1, offset, width), area->state);
	if (doorbell ? area->fault.kind == T3_FAULT_BAD_DOORBELL
		     : area->fault.kind != T3_FAULT_BAD_DOORBELL)
		fail_msg("%s of %u bytes at 0x%x: fault %u", write ? "write" : "read", width,
			 offset, area->fault.kind);
}

TEST("each doorbell's offset and width is as the table says")
{
	/* Each offset of the first words, and the page's ends. */
	static const uint32_t far[] = { 0x7c, 0x80, 0x100, 0x800, 0xff8, 0xffc };
	struct host *host = host_ring(1);
	uint32_t offset, width, i;

	for (width = 1; width <= 8; width *= 2) {
		for (offset = 0; offset < 0x48; offset += width) {
			check(&host->dev[0], offset, width, false);
			check(&host->dev[0], offset, width, true);
		}
		for (i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
			check(&host->dev[0], far[i], width, false);
			check(&host->dev[0], far[i], width, true);
		}
	}
	host_free(host);
}

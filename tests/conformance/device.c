// SPDX-License-Identifier: MIT
/* Accesses, admin commands and waiting. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "conf.h"
#include "run.h"

/* Refuse a function that is no T3 of this version, because its results would mean nothing. */
int conf_identify(struct conf_device *d)
{
	uint32_t id = conf_reg(d, T3_REG_ID), version = conf_reg(d, T3_REG_VERSION);

	if (id != T3_ID_VALUE || version >> 16 != T3_VERSION_VALUE >> 16) {
		fprintf(stderr,
			"t3-conformance: %s: ID 0x%08x version %u.%u, wanted 0x%08x version %u.x\n",
			d->bdf, id, version >> 16, version & 0xffff, T3_ID_VALUE,
			T3_VERSION_VALUE >> 16);
		return -1;
	}
	d->fabric = conf_reg64(d, T3_REG_FABRIC_ID);
	d->rank = conf_reg(d, T3_REG_RANK);
	d->ranks = conf_reg(d, T3_REG_RANKS);
	d->topology = conf_reg(d, T3_REG_TOPOLOGY);
	return 0;
}

void conf_reset(struct conf_device *d)
{
	if (conf_counter(d, T3_COUNTER_INTERRUPTS))
		d->late = true;
	conf_reg_write(d, T3_REG_CONTROL, T3_CONTROL_RESET);
}

bool conf_guest_error(struct conf_device *d)
{
	bool set = conf_reg(d, T3_REG_ERROR_STATUS) & T3_ERROR_GUEST;

	conf_reg_write(d, T3_REG_ERROR_STATUS, T3_ERROR_GUEST);
	return set;
}

uint32_t conf_admin(struct conf_device *d, uint32_t opcode, void *args, size_t bytes)
{
	uint32_t *words = args;

	for (size_t i = 0; i < bytes / 4; i++)
		conf_reg_write(d, (uint32_t)(T3_REG_MAILBOX + 4 * i), words[i]);
	conf_reg_write(d, T3_REG_ADMIN_COMMAND, opcode);
	for (size_t i = 0; i < bytes / 4; i++)
		words[i] = conf_reg(d, (uint32_t)(T3_REG_MAILBOX + 4 * i));
	return conf_reg(d, T3_REG_ADMIN_STATUS);
}

/* State that a failed command must not change: spaces, host memory, and device memory in use. */
struct picture {
	uint64_t state[64];
	uint32_t spaces, pages;
	uint8_t page[32][T3_PAGE_SIZE];
	uint8_t memory[1 << 16];
};

static void take_picture(struct conf *c, struct conf_device *d, struct picture *p)
{
	uint64_t bytes = d->memory_used < sizeof(p->memory) ? d->memory_used : sizeof(p->memory);

	p->spaces = d->spaces_used < 64 ? d->spaces_used : 64;
	p->pages = c->pages_used < 32 ? c->pages_used : 32;
	for (uint32_t i = 0; i < p->spaces; i++)
		p->state[i] = conf_reg64(d, T3_DOORBELL_BASE + i * T3_PAGE_SIZE + T3_DB_STATE);
	for (uint32_t i = 0; i < p->pages; i++)
		memcpy(p->page[i], conf_page_memory(c, i), T3_PAGE_SIZE);
	conf_get(d->memory, p->memory, bytes);
}

void conf_try(struct conf *c, struct conf_device *d, uint32_t opcode, const void *args,
	      size_t bytes, uint32_t status)
{
	static struct picture before, after;
	uint8_t results[T3_MAILBOX_SIZE];

	memcpy(results, args, bytes);
	if (status != T3_ADMIN_OK)
		take_picture(c, d, &before);
	CHECK(c, !conf_guest_error(d), "a guest error before the command");
	CHECK_EQUAL(c, "ADMIN_STATUS", conf_admin(d, opcode, results, bytes), status);
	CHECK_EQUAL(c, "guest error", conf_guest_error(d), status != T3_ADMIN_OK);
	if (status == T3_ADMIN_OK)
		return;
	CHECK_EQUAL(c, "ADMIN_COMMAND", conf_reg(d, T3_REG_ADMIN_COMMAND), opcode);
	CHECK(c, !memcmp(results, args, bytes), "a refusal has results");
	take_picture(c, d, &after);
	CHECK(c, !memcmp(before.state, after.state, sizeof(after.state)), "a state has changed");
	CHECK(c, !memcmp(before.page, after.page, sizeof(after.page)), "host memory has changed");
	CHECK(c, !memcmp(before.memory, after.memory, sizeof(after.memory)),
	      "device memory has changed");
}

/* ------------------------------------------------------------------ waiting */

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

struct conf_deadline conf_deadline(const struct conf *c)
{
	return (struct conf_deadline){ now() + (uint64_t)(c->timeout * 1e9) };
}

bool conf_pause(const struct conf_deadline *deadline)
{
	conf_idle();
	return now() < deadline->end;
}

void conf_wait_word(struct conf *c, const volatile uint64_t *word, uint64_t wanted,
		    const char *what)
{
	struct conf_deadline deadline = conf_deadline(c);

	while (*word != wanted && conf_pause(&deadline))
		;
	conf_barrier(); /* The device writes a word after what it stands for. */
	CHECK_EQUAL(c, what, *word, wanted);
}

void conf_wait_counter(struct conf *c, struct conf_device *d, enum t3_counter_id id,
		       uint64_t wanted, const char *what)
{
	struct conf_deadline deadline = conf_deadline(c);

	while (conf_counter(d, id) != wanted && conf_pause(&deadline))
		;
	CHECK_EQUAL(c, what, conf_counter(d, id), wanted);
}

void conf_wait_state(struct conf *c, struct conf_space *s, uint32_t state, uint32_t epoch)
{
	conf_wait_word(c, &s->events->state, STATE(state, epoch), "state in the event area");
	CHECK_EQUAL(c, "STATE of the doorbell page", conf_state(s), STATE(state, epoch));
}

struct t3_fault_record conf_wait_fault(struct conf *c, struct conf_space *s, uint32_t kind)
{
	struct conf_deadline deadline = conf_deadline(c);
	struct t3_fault_record record;

	while (s->events->state >> 32 != T3_SPACE_FAULTED && conf_pause(&deadline))
		;
	conf_barrier();
	CHECK_EQUAL(c, "state in the event area", s->events->state >> 32, T3_SPACE_FAULTED);
	memcpy(&record, (const void *)&s->events->fault, sizeof(record));
	CHECK_EQUAL(c, "kind of the first fault", record.kind, kind);
	return record;
}

void conf_expect_fault(struct conf *c, struct conf_space *s, uint32_t kind, uint32_t segment,
		       uint32_t tile, uint64_t offset)
{
	struct t3_fault_record record = conf_wait_fault(c, s, kind);

	CHECK_EQUAL(c, "detail of the fault", record.detail, 0);
	CHECK_EQUAL(c, "segment of the fault", record.segment, segment);
	CHECK_EQUAL(c, "tile of the fault", record.tile, tile);
	CHECK_EQUAL(c, "offset of the fault", record.offset, offset);
	CHECK_EQUAL(c, "src_rank of the fault", record.src_rank, s->dev->rank);
	CHECK_EQUAL(c, "epoch of the fault", record.epoch, (uint32_t)s->events->state);
	CHECK(c, record.vtime <= conf_reg64(s->dev, T3_REG_VCLOCK), "its vtime is in the future");
	CHECK(c, s->events->faults >= 1, "no fault is counted");
	CHECK(c,
	      s->events->faults > T3_FAULT_RING ||
		      !memcmp((const void *)&s->events->ring[0], &record, sizeof(record)),
	      "ring[0] is not the first fault");
}

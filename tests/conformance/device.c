// SPDX-License-Identifier: MIT
/* Accesses, admin commands and waiting. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conf.h"
#include "run.h"

uint64_t conf_read(const volatile uint8_t *base, uint64_t offset, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return base[offset];
	case 2:
		return *(const volatile uint16_t *)(base + offset);
	case 4:
		return *(const volatile uint32_t *)(base + offset);
	default:
		return *(const volatile uint64_t *)(base + offset);
	}
}

void conf_write(volatile uint8_t *base, uint64_t offset, unsigned bytes, uint64_t value)
{
	switch (bytes) {
	case 1:
		base[offset] = (uint8_t)value;
		break;
	case 2:
		*(volatile uint16_t *)(base + offset) = (uint16_t)value;
		break;
	case 4:
		*(volatile uint32_t *)(base + offset) = (uint32_t)value;
		break;
	default:
		*(volatile uint64_t *)(base + offset) = value;
		break;
	}
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
	usleep(100);
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

// SPDX-License-Identifier: MIT
/* Runs the tests, each after a function reset, and ends them. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

/* A limit for a bus that does not answer, which no wait can detect. */
#define TEST_SECONDS 60

static sigjmp_buf bus_error;

static void on_bus_error(int number)
{
	siglongjmp(bus_error, number);
}

static void on_alarm(int number)
{
	static const char text[] = "Bail out! a test hangs in an access\n";

	(void)number;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(4);
	_exit(3);
}

/* -------------------------------------------------------------- how one ends */

_Noreturn void conf_fail(struct conf *c, const char *file, int line, const char *format, ...)
{
	const char *slash = strrchr(file, '/');
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(c->result->message, sizeof(c->result->message), "%s (%s:%d)", text,
		 slash ? slash + 1 : file, line);
	c->result->verdict = CONF_FAILED;
	longjmp(c->leave, 1);
}

_Noreturn void conf_skip(struct conf *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->result->message, sizeof(c->result->message), format, args);
	va_end(args);
	c->result->verdict = CONF_SKIPPED;
	longjmp(c->leave, 1);
}

void conf_equal(struct conf *c, const char *file, int line, const char *what, uint64_t got,
		uint64_t wanted)
{
	if (got != wanted)
		conf_fail(c, file, line, "%s is 0x%llx, wanted 0x%llx", what,
			  (unsigned long long)got, (unsigned long long)wanted);
}

/* ------------------------------------------------------------------ one test */

struct conf_device *conf_device(struct conf *c, unsigned index)
{
	return &c->device[index];
}

unsigned conf_devices(const struct conf *c)
{
	return c->linked;
}

static void prepare(struct conf *c)
{
	conf_extra_restore(c);
	conf_inject_clear(c);
	for (unsigned i = 0; i < c->count; i++) {
		struct conf_device *d = &c->device[i];

		conf_bus_master(c, d, true);
		if (d->vectors != T3_MAX_VECTORS)
			conf_vectors(c, d, T3_MAX_VECTORS);
		conf_reset(d);
		d->memory_used = d->aperture_used = 0;
		d->spaces_used = 0;
	}
	conf_pages_restore(c);
	for (unsigned i = 0; i < c->count; i++)
		conf_irq_drain(&c->device[i]);
}

static void run_test(struct conf *c, const struct conf_test *test, unsigned row)
{
	unsigned needed = test->devices ? test->devices : 1;
	const char *lacks;

	if (setjmp(c->leave))
		return;
	if (sigsetjmp(bus_error, 1))
		conf_fail(c, __FILE__, __LINE__, "the bus refused an access");
	prepare(c);
	if (c->linked < needed)
		conf_skip(c, "needs %u devices, each with a link to the next; there %s %u", needed,
			  c->linked == 1 ? "is" : "are", c->linked);
	lacks = conf_lacks(c, needed, test->needs);
	if (lacks)
		conf_skip(c, "%s", lacks);
	test->run(c, row);
	c->result->verdict = CONF_PASSED;
}

/* ------------------------------------------------------------------ sections */

/* "2" is section 2 and all below it. */
bool conf_section_matches(const struct conf_section *section, const char *wanted)
{
	size_t length = wanted ? strlen(wanted) : 0;

	return !length || (!strncmp(section->number, wanted, length) &&
			   (section->number[length] == '\0' || section->number[length] == '.'));
}

static unsigned rows_of(const struct conf_test *test)
{
	return test->rows ? test->rows : 1;
}

unsigned conf_total(const char *wanted)
{
	unsigned total = 0;

	for (const struct conf_section *s = conf_sections; s; s = s->next)
		for (const struct conf_test *test = s->tests; test; test = test->next)
			if (conf_section_matches(s, wanted))
				total += rows_of(test);
	return total;
}

void conf_test_name(char *name, size_t bytes, const struct conf_section *section,
		    const struct conf_test *test, unsigned row)
{
	if (!test->rows)
		snprintf(name, bytes, "%s/%s", section->number, test->name);
	else if (test->label)
		snprintf(name, bytes, "%s/%s/%s", section->number, test->name, test->label(row));
	else
		snprintf(name, bytes, "%s/%s/%u", section->number, test->name, row);
}

static unsigned run_rows(struct conf *c, const struct conf_section *section,
			 const struct conf_test *test, struct conf_result *results, unsigned number,
			 void (*each)(const struct conf_result *result, unsigned number))
{
	for (unsigned row = 0; row < rows_of(test); row++) {
		c->result = &results[number + row];
		c->result->section = section;
		conf_test_name(c->result->name, sizeof(c->result->name), section, test, row);
		alarm(TEST_SECONDS);
		run_test(c, test, row);
		alarm(0);
		if (each)
			each(c->result, number + row + 1);
	}
	return rows_of(test);
}

unsigned conf_run(struct conf *c, const char *wanted, struct conf_result **results,
		  void (*each)(const struct conf_result *result, unsigned number))
{
	unsigned total = conf_total(wanted), number = 0;

	*results = calloc(total ? total : 1, sizeof(**results));
	if (!*results)
		return 0;
	signal(SIGBUS, on_bus_error);
	signal(SIGALRM, on_alarm);
	for (const struct conf_section *s = conf_sections; s; s = s->next)
		for (const struct conf_test *test = s->tests; test; test = test->next)
			if (conf_section_matches(s, wanted))
				number += run_rows(c, s, test, *results, number, each);
	return number;
}

// SPDX-License-Identifier: MIT
/* The sections in the order of their numbers, and the tests of each in the order of its file. */
#include <stdlib.h>

#include "run.h"

struct conf_section *conf_sections;

/* "2.1" comes before "10". Sections of one number are ordered by their titles. */
static bool comes_before(const struct conf_section *a, const struct conf_section *b)
{
	char *a_rest, *b_rest;
	unsigned long a_major = strtoul(a->number, &a_rest, 10);
	unsigned long b_major = strtoul(b->number, &b_rest, 10);
	int order = strcmp(a_rest, b_rest);

	if (a_major != b_major)
		return a_major < b_major;
	return order ? order < 0 : strcmp(a->title, b->title) < 0;
}

void conf_section_add(struct conf_section *section)
{
	struct conf_section **at = &conf_sections;

	while (*at && comes_before(*at, section))
		at = &(*at)->next;
	section->next = *at;
	*at = section;
}

void conf_test_add(struct conf_section *section, struct conf_test *test)
{
	struct conf_test **at = &section->tests;

	while (*at && (*at)->line < test->line)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
}

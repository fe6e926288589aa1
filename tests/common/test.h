/* SPDX-License-Identifier: MIT */
/*
 * Tests that register themselves. The name of a test is a sentence that says the behaviour:
 *
 *	TEST("a poisoned record is skipped")
 *	{
 *		...
 *	}
 *
 * TEST_WITH() also takes functions that run before and after the test. A room or a file may define
 * TEST() in its own way. main.c runs the tests of a program in the order of the source.
 */
#ifndef T3_COMMON_TEST_H
#define T3_COMMON_TEST_H

#include <stddef.h>

#include "sentence.h"

struct test {
	const char *name;
	void (*run)(void);
	int (*setup)(void); /* NULL, or a function that returns 0; the test fails otherwise */
	int (*teardown)(void);
	const char *file;
	int line;
	struct test *next;
};

void test_add(struct test *test);

/*
 * For a main() of a program's own: runs the tests that T3_TEST_FILTER selects, with what is to be
 * done before all of them and after them, or NULL. Returns the program's exit status.
 */
int test_run(int (*setup)(void), int (*teardown)(void));

#define TEST_WITH(sentence, before, after) TEST_AT(__LINE__, sentence, before, after)
#ifndef TEST
#define TEST(sentence) TEST_WITH(sentence, NULL, NULL)
#endif

/* The function's name has the line, for debuggers. TEST_AS() is for macros that make several. */
#define TEST_AT(number, sentence, before, after) TEST_AS(number, sentence, before, after)
#define TEST_AS(number, sentence, before, after)                                    \
	TEST_IS_SENTENCE(sentence);                                                 \
	static void test_##number(void);                                            \
	__attribute__((constructor)) static void register_##number(void)            \
	{                                                                           \
		static struct test test = { sentence, test_##number, before, after, \
					    __FILE__, __LINE__,	     NULL };        \
		test_add(&test);                                                    \
	}                                                                           \
	static void test_##number(void)

#endif

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

/* The line is a part of the function's name, for debuggers. TEST_AS() is for macros that make several. */
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

/*
 * Three words, no underscore, and no capital at the beginning but those of a name such as DMA.
 * clang does not take these expressions for constants; programs are built by gcc.
 */
#ifdef __clang__
#define TEST_IS_SENTENCE(text) _Static_assert(sizeof(text) > 1, "a test's name is a sentence")
#else
#define TEST_IS_SENTENCE(text)                                                                     \
	_Static_assert(__builtin_strcspn(text, "_#") == sizeof(text) - 1 &&                        \
			       __builtin_strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 1 &&        \
			       !__builtin_strstr(text, "  ") &&                                    \
			       TEST_WORD(text) + TEST_WORD(&(text)[TEST_WORD(text) + 1]) + 3 <     \
				       sizeof(text),                                               \
		       "a test's name must be a sentence: three words or more, no underscore, no " \
		       "capital at its beginning")
#define TEST_WORD(text) __builtin_strcspn(text, " ")
#endif
#endif

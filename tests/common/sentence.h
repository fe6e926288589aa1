/* SPDX-License-Identifier: MIT */
/*
 * The name of a test is a sentence: three words, no underscore, and no capital at the beginning but
 * those of a name such as DMA. clang does not take these expressions for constants; programs are
 * built by gcc.
 */
#ifndef T3_COMMON_SENTENCE_H
#define T3_COMMON_SENTENCE_H

#ifdef __clang__
#define TEST_IS_SENTENCE(text) _Static_assert(sizeof(text) > 1, "the name of a test is a sentence")
#else
#define TEST_IS_SENTENCE(text)                                                                   \
	_Static_assert(                                                                          \
		__builtin_strcspn(text, "_#") == sizeof(text) - 1 &&                             \
			__builtin_strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 1 &&             \
			!__builtin_strstr(text, "  ") && TEST_WORD(text) < sizeof(text) - 1 &&   \
			TEST_WORD(text) + TEST_WORD(&(text)[TEST_WORD(text) + 1]) + 3 <          \
				sizeof(text),                                                    \
		"the name of a test must be a sentence: three words or more, no underscore, no " \
		"capital at its beginning")
#define TEST_WORD(text) __builtin_strcspn(text, " ")
#endif

#endif

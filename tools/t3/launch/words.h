/* SPDX-License-Identifier: MIT */
/* Messages of t3 launch itself while ranks run: a reader who stops must not stop the clock. */
#ifndef T3_LAUNCH_WORDS_H
#define T3_LAUNCH_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Room for all that is said while stderr takes nothing: three sentences for each of 32 ranks. */
#define LAUNCH_WORDS_BYTES 12288

struct launch_words {
	size_t used;
	char text[LAUNCH_WORDS_BYTES];
};

/* As complain(), but what stderr does not take at once is kept. Returns the code. */
__attribute__((format(printf, 3, 4))) int launch_say(struct launch_words *words, int code,
						     const char *format, ...);

/* Print what was kept, while stderr takes it; with `wait` all. */
void launch_print_words(struct launch_words *words, bool wait);

#endif /* T3_LAUNCH_WORDS_H */

// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "launch/output.h"
#include "launch/words.h"

static const char prefix[] = "t3: ";

int launch_say(struct launch_words *words, int code, const char *format, ...)
{
	size_t room = sizeof(words->text) - words->used;
	char sentence[256];
	va_list args;
	int bytes;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	bytes = snprintf(words->text + words->used, room, "%s%s\n", prefix, sentence);
	if (bytes > 0 && (size_t)bytes < room)
		words->used += (size_t)bytes;
	launch_print_words(words, false);
	return code;
}

void launch_print_words(struct launch_words *words, bool wait)
{
	size_t bytes;
	char *end;

	while ((end = memchr(words->text, '\n', words->used))) {
		if (!wait && !launch_takes(stderr))
			return;
		bytes = (size_t)(end + 1 - words->text);
		fwrite(words->text, 1, bytes, stderr);
		words->used -= bytes;
		memmove(words->text, words->text + bytes, words->used);
	}
}

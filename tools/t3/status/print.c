// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "status/nodes.h"

/* The first part is on the first line, and each other one on a line below. */
static void print_sentence(const char *text)
{
	for (; *text; text++) {
		if (strncmp(text, "; ", 2) != 0) {
			putchar(*text);
			continue;
		}
		fputs("\n    ", stdout);
		text++;
	}
	putchar('\n');
}

void status_print(const json_t *sentences, const char *where)
{
	json_t *sentence;
	size_t i;

	if (!json_array_size(sentences))
		printf("nothing is in flight on %s\n", where);
	json_array_foreach(sentences, i, sentence) print_sentence(json_string_value(sentence));
}

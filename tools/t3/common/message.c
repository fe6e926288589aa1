// SPDX-License-Identifier: MIT
/* Output of commands: sentences and documents; and numbers from text. */
#define _GNU_SOURCE /* vasprintf */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "t3.h"

void (*tool_before_message)(void);

int complain(int code, const char *format, ...)
{
	char *sentence;
	va_list args;
	int length;

	if (tool_before_message)
		tool_before_message();
	fflush(stdout);
	va_start(args, format);
	length = vasprintf(&sentence, format, args);
	va_end(args);
	/* One write: lines of ranks that share standard error stay apart. */
	fprintf(stderr, "t3: %s\n", length < 0 ? "out of memory" : sentence);
	if (length >= 0)
		free(sentence);
	return code;
}

const char *error_words(int error)
{
	static _Thread_local char words[400];
	struct drm_t3_refusal refusal;
	char field[300];

	if (!t3_refusal(error, &refusal) && t3_refusal_text(&refusal, field, sizeof(field)) > 0)
		snprintf(words, sizeof(words), "%s: %s", strerror(-error), field);
	else
		snprintf(words, sizeof(words), "%s", strerror(-error));
	return words;
}

bool parse_number(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t number = 0;
	unsigned int digit;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		digit = (unsigned int)(*text - '0');
		if (digit > max || number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*value = number;
	return true;
}

json_t *json_from_name(const char *name)
{
	json_t *text = json_string(name);
	char *copy, *at;

	if (text)
		return text;
	copy = strdup(name);
	for (at = copy; at && *at; at++)
		if ((unsigned char)*at > '~')
			*at = '?';
	text = json_string(copy);
	free(copy);
	return text;
}

int print_json(json_t *root)
{
	int ret;

	if (!root)
		return complain(EXIT_FAIL, "no memory for the JSON document");
	ret = json_dumpf(root, stdout, JSON_INDENT(2));
	json_decref(root);
	if (ret || putchar('\n') == EOF)
		return complain(EXIT_FAIL, "the JSON document could not be written");
	return EXIT_OK;
}

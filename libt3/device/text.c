// SPDX-License-Identifier: MIT
/* Texts for people. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "device/device.h"

void t3_text_say(struct t3_text *text, const char *format, ...)
{
	size_t room = text->length < text->size ? text->size - text->length : 0;
	va_list args;
	int ret;

	va_start(args, format);
	ret = vsnprintf(room ? text->at + text->length : NULL, room, format, args);
	va_end(args);
	text->length += ret > 0 ? (size_t)ret : 0;
}

void t3_text_errno(struct t3_text *text, int error)
{
	t3_text_say(text, "%s", strerror(-error));
}

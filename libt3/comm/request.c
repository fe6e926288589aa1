// SPDX-License-Identifier: MIT
/* The text of a failed create function, for the files that handle a request. */
#include <stdarg.h>
#include <stdio.h>

#include "comm/bootstrap.h"

int comm_request_fail(const struct comm_request *request, int ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(request->text, request->text_size, format, args);
	va_end(args);
	return ret;
}

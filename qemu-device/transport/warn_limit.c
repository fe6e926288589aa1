/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Warnings that others can cause. See warn_limit.h. */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "transport/warn_limit.h"

#define T3_WARN_SECONDS 10
#define T3_WARN_LINES	5

void t3_warn_limit_tick(T3WarnLimit *limit)
{
	if (!limit->begin ||
	    g_get_monotonic_time() - limit->begin < T3_WARN_SECONDS * G_USEC_PER_SEC)
		return;
	if (limit->left_out)
		warn_report("t3-fabric: %" PRIu64 " more %s in %d s were not reported",
			    limit->left_out, limit->what, T3_WARN_SECONDS);
	limit->begin = 0;
	limit->lines = 0;
	limit->left_out = 0;
}

void t3_warn_limited(T3WarnLimit *limit, const char *format, ...)
{
	va_list arguments;

	t3_warn_limit_tick(limit);
	if (!limit->begin)
		limit->begin = g_get_monotonic_time();
	if (limit->lines == T3_WARN_LINES) {
		limit->left_out++;
		return;
	}
	limit->lines++;
	va_start(arguments, format);
	warn_vreport(format, arguments);
	va_end(arguments);
}

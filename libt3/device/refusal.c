// SPDX-License-Identifier: MIT
/* Why this thread's last call failed: the driver's word, or this library's own. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "device/device.h"

#define DECIMAL_MAX 65535u /* larger values are shown in hexadecimal, too */

static _Thread_local struct drm_t3_refusal last; /* error 0: none */

/* An older driver has no such ioctl. Then the error alone is known. */
void t3_refusal_ask(int fd, unsigned long request, int error)
{
	struct drm_t3_refusal refusal = { 0 };

	if (ioctl(fd, DRM_IOCTL_T3_REFUSAL, &refusal) || refusal.request != (uint32_t)request ||
	    refusal.error != (uint32_t)-error)
		refusal = (struct drm_t3_refusal){
			.request = (uint32_t)request,
			.error = (uint32_t)-error,
			.index = ~0u,
		};
	last = refusal;
}

int t3_refuse(const char *type, const char *field, uint64_t value, const char *allowed)
{
	static _Thread_local uint64_t serial;

	last = (struct drm_t3_refusal){
		.serial = ++serial,
		.error = EINVAL,
		.index = ~0u,
		.what = DRM_T3_REFUSAL_VALUE,
		.value = value,
	};
	snprintf(last.struct_name, sizeof(last.struct_name), "%s", type);
	snprintf(last.field, sizeof(last.field), "%s", field);
	snprintf(last.allowed, sizeof(last.allowed), "%s", allowed);
	return -EINVAL;
}

int t3_refusal(int error, struct drm_t3_refusal *refusal)
{
	if (error >= 0 || !refusal)
		return -EINVAL;
	if (last.error != (uint32_t)-error)
		return -ENODATA;
	*refusal = last;
	return 0;
}

static void say_value(struct t3_text *text, const struct drm_t3_refusal *r)
{
	if (r->what & DRM_T3_REFUSAL_SIGNED) {
		t3_text_say(text, " is %" PRId64, (int64_t)r->value);
		return;
	}
	t3_text_say(text, " is %" PRIu64, (uint64_t)r->value);
	if (r->value > DECIMAL_MAX)
		t3_text_say(text, " (%#" PRIx64 ")", (uint64_t)r->value);
}

int t3_refusal_text(const struct drm_t3_refusal *refusal, char *out, size_t size)
{
	struct t3_text text = { .at = out, .size = size };

	if (!refusal || (!out && size))
		return -EINVAL;
	if (size)
		*out = '\0';
	if (!refusal->struct_name[0])
		return 0;
	t3_text_say(&text, "%.*s", DRM_T3_REFUSAL_NAME, refusal->struct_name);
	if (refusal->field[0])
		t3_text_say(&text, ".%.*s", DRM_T3_REFUSAL_NAME, refusal->field);
	if (refusal->index != ~0u)
		t3_text_say(&text, " of element %" PRIu32, refusal->index);
	if (refusal->what & DRM_T3_REFUSAL_VALUE)
		say_value(&text, refusal);
	t3_text_say(&text, "%s allowed: %.*s", refusal->what & DRM_T3_REFUSAL_VALUE ? ";" : ":",
		    DRM_T3_REFUSAL_TEXT, refusal->allowed);
	return (int)text.length;
}

const char *t3_error_words(int error, char *words, size_t size)
{
	struct t3_text text = { .at = words, .size = size };
	struct drm_t3_refusal refusal;
	char why[256];

	t3_text_errno(&text, error);
	if (!t3_refusal(error, &refusal) && t3_refusal_text(&refusal, why, sizeof(why)) > 0)
		t3_text_say(&text, ": %s", why);
	return words;
}

// SPDX-License-Identifier: MIT
#include "refusal.h"

static unsigned int checked, named;

int refusal_get(int fd, struct drm_t3_refusal *refusal)
{
	memset(refusal, 0, sizeof(*refusal));
	return call(fd, DRM_IOCTL_T3_REFUSAL, refusal);
}

static bool one_of(const char *names, const char *name)
{
	size_t length = strlen(name);
	const char *at = names;

	while (at) {
		if (!strncmp(at, name, length) && (!at[length] || at[length] == '|'))
			return length;
		at = strchr(at, '|');
		at = at ? at + 1 : NULL;
	}
	return false;
}

int refusal_check(int fd, unsigned long request, const char *what, int error, const char *type,
		  const char *field)
{
	struct drm_t3_refusal refusal;
	int ret;

	if (error == ETIMEDOUT || error == ETIME || error == EINTR)
		return 0;
	checked++;
	ret = refusal_get(fd, &refusal);
	if (!ret && refusal.request == (uint32_t)request && (int)refusal.error == error &&
	    !strcmp(refusal.struct_name, type) && one_of(field, refusal.field) &&
	    refusal.allowed[0]) {
		named++;
		return 0;
	}
	fprintf(stderr,
		"# ioctl %#lx, %s: error %d is of %s.%s; it says (%d) %#x, error %u, %s.%s: %s\n",
		request, what, error, type, field, ret, refusal.request, refusal.error,
		refusal.struct_name, refusal.field, refusal.allowed);
	return 1;
}

void refusal_check_command(int fd, const struct deviation *row, uint32_t index)
{
	struct drm_t3_refusal refusal;

	CHECK_EQ(refusal_get(fd, &refusal), 0);
	if (refusal.error != (uint32_t)row->error || refusal.index != index ||
	    strcmp(refusal.struct_name, row->type) || !one_of(row->field, refusal.field) ||
	    !refusal.allowed[0])
		guest_fail(__FILE__, __LINE__, "%s of %s.%s: error %u of %s.%s [%u]", row->what,
			   row->type, row->field, refusal.error, refusal.struct_name, refusal.field,
			   refusal.index);
}

void refusal_report(void)
{
	fprintf(stderr, "# %u of %u refusals named\n", named, checked);
}

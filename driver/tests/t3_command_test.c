// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which commands are accepted, by their types and tails alone.
 */
#include "t3_kunit.h"

/* Only errors that are found without a file. */
static int t3_command_test_parse(u32 type, size_t set)
{
	union drm_t3_any_command user;
	struct t3_command command = {};

	memset(&user, 0, sizeof(user));
	user.head.type = type;
	if (set)
		((u8 *)&user)[set] = 1;
	return t3_command_parse(NULL, &user, &command, 1);
}

static void t3_command_test_tails(struct kunit *test)
{
	static const struct {
		u32 type;
		size_t size;
	} types[] = {
		{ DRM_T3_COMMAND_COPY, sizeof(struct drm_t3_copy) },
		{ DRM_T3_COMMAND_FILL, sizeof(struct drm_t3_fill) },
		{ DRM_T3_COMMAND_UPDATE, sizeof(struct drm_t3_update) },
		{ DRM_T3_COMMAND_GEMM, sizeof(struct drm_t3_gemm) },
		{ DRM_T3_COMMAND_TIMED, sizeof(struct drm_t3_timed) },
	};
	size_t at;
	u32 i;

	KUNIT_EXPECT_EQ(test, t3_command_test_parse(0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, t3_command_test_parse(DRM_T3_COMMAND_TIMED + 1, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, t3_command_test_parse(U32_MAX, 0), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (at = types[i].size; at < sizeof(union drm_t3_any_command); at++)
			KUNIT_EXPECT_EQ_MSG(test, t3_command_test_parse(types[i].type, at),
					    -E2BIG, "type %u, byte %zu", types[i].type, at);
}

static struct kunit_case t3_command_cases[] = {
	KUNIT_CASE(t3_command_test_tails),
	{}
};

static struct kunit_suite t3_command_suite = {
	.name = "t3_command",
	.test_cases = t3_command_cases,
};

kunit_test_suite(t3_command_suite);

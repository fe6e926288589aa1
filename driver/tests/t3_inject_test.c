// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: text for debugfs' inject, right and wrong. Included by t3_debugfs_inject.c.
 */
#include "t3_kunit.h"

struct t3_inject_case {
	const char *text;
	struct t3_cmd_inject cmd; /* what it means at rank 1; kind 0: it is wrong */
};

static const struct t3_inject_case t3_inject_cases[] = {
	{ "drop peer=2", { .kind = T3_INJECT_DROP, .peer = 2, .nth = 1, .count = 1 } },
	{ "\tdrop  peer=2 \t nth=3 ", { .kind = T3_INJECT_DROP, .peer = 2, .nth = 3, .count = 1 } },
	{ "drop rank=1 peer=0x2 nth=0 count=4294967295",
	  { .kind = T3_INJECT_DROP, .peer = 2, .count = U32_MAX } },
	{ "delay peer=0 value=1000",
	  { .kind = T3_INJECT_DELAY, .nth = 1, .count = 1, .value = 1000 } },
	{ "link-random peer=3 nth=65535 seed=0xffffffffffffffff",
	  { .kind = T3_INJECT_LINK_RANDOM, .peer = 3, .nth = 65535, .value = U64_MAX } },
	{ "link-down peer=2", { .kind = T3_INJECT_LINK_DOWN, .peer = 2 } },
	{ "poison address=64 value=128",
	  { .kind = T3_INJECT_POISON, .address = 64, .value = 128 } },
	{ "unpoison", { .kind = T3_INJECT_UNPOISON } },
	{ "lose-irq", { .kind = T3_INJECT_LOSE_IRQ, .nth = 1, .count = 1 } },
	{ "hang-queue queue=5", { .kind = T3_INJECT_HANG_QUEUE, .peer = 5 } },
	{ "dro peer=2" },
	{ "drops peer=2" },
	{ "peer=2 drop" },
	{ "drop" },
	{ "drop peer" },
	{ "drop peer=" },
	{ "drop peer =2" },
	{ "drop peer= 2" },
	{ "drop =2" },
	{ "drop pee=2" },
	{ "drop peer=2 peer=2" },
	{ "drop peer=-1" },
	{ "drop peer=+1" },
	{ "drop peer=0x" },
	{ "drop peer=0X1" },
	{ "drop peer=1f" },
	{ "drop peer=4294967296" },
	{ "drop peer=99999999999999999999999" },
	{ "drop peer=2 queue=1" },
	{ "drop peer=2 rank=0" },
	{ "drop rank=4294967297 peer=2" },
	{ "link-down peer=2 nth=1" },
	{ "poison address=64" },
	{ "hang-queue peer=5" },
	{ "link-random peer=3 nth=1 seed=0x10000000000000000" },
	{ "\x01\xff" },
};

static void t3_inject_test_case(struct kunit *test, const struct t3_inject_case *c)
{
	struct t3_cmd_inject want = c->cmd;
	char *text = kunit_kstrdup(test, c->text, GFP_KERNEL);
	struct t3_inject_text in;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, text);
	ret = t3_inject_parse(&in, 1, text);
	KUNIT_EXPECT_EQ_MSG(test, ret, want.kind ? 1 : -EINVAL, "%s", c->text);
	want.rank = 1;
	if (want.kind)
		KUNIT_EXPECT_EQ_MSG(test, memcmp(&in.cmd, &want, sizeof(want)), 0, "%s", c->text);
	else
		KUNIT_EXPECT_TRUE_MSG(test, in.word && in.why, "%s", c->text);
}

static void t3_inject_test_text(struct kunit *test)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t3_inject_cases); i++)
		t3_inject_test_case(test, &t3_inject_cases[i]);
}

static void t3_inject_test_empty(struct kunit *test)
{
	struct t3_inject_text in;
	char none[] = "", blank[] = " \t ";

	KUNIT_EXPECT_EQ(test, t3_inject_parse(&in, 1, none), 0);
	KUNIT_EXPECT_EQ(test, t3_inject_parse(&in, 1, blank), 0);
}

/* As many as there may be, with empty ones between; then one more. */
static void t3_inject_test_many(struct kunit *test)
{
	struct t3_device *tdev = t3_kunit_device(test);
	char *text = t3_kunit_zalloc(test, T3_INJECT_TEXT);
	struct t3_cmd_inject cmds[T3_INJECT_AT_ONCE];
	int i;

	for (i = 0; i < T3_INJECT_AT_ONCE; i++)
		strcat(text, "; link-up peer=2 ;;\n");
	KUNIT_EXPECT_EQ(test, t3_inject_parse_all(tdev, text, cmds), T3_INJECT_AT_ONCE);
	for (i = 0; i < T3_INJECT_AT_ONCE; i++) {
		KUNIT_EXPECT_EQ(test, cmds[i].kind, T3_INJECT_LINK_UP);
		KUNIT_EXPECT_EQ(test, cmds[i].rank, 1);
	}
	*text = '\0';
	for (i = 0; i <= T3_INJECT_AT_ONCE; i++)
		strcat(text, "link-up peer=2;");
	KUNIT_EXPECT_EQ(test, t3_inject_parse_all(tdev, text, cmds), -EINVAL);
}

/* Any bytes: an answer, and nothing beyond the text (KASAN). */
static void t3_inject_test_noise(struct kunit *test)
{
	static const char *const words[] = {
		"drop", "unpoison", "peer=", "rank=", "nth=", "0x", "1", "99999999999", " ", "=",
		"\t", "-", "\x80", "poison", "address=64", "value=0xffffffffffffffff",
	};
	struct t3_inject_text in;
	struct rnd_state random;
	char text[128];
	int round, ret;

	prandom_seed_state(&random, 12);
	for (round = 0; round < 5000; round++) {
		*text = '\0';
		while (strlen(text) < sizeof(text) - 32 && prandom_u32_state(&random) % 8)
			strcat(text, words[prandom_u32_state(&random) % ARRAY_SIZE(words)]);
		ret = t3_inject_parse(&in, 1, text);
		KUNIT_ASSERT_TRUE(test, ret == -EINVAL || ret == 0 || ret == 1);
		KUNIT_ASSERT_EQ(test, ret == 1 && in.cmd.rank != 1, false);
	}
}

static struct kunit_case t3_inject_kunit_cases[] = {
	KUNIT_CASE(t3_inject_test_text),
	KUNIT_CASE(t3_inject_test_empty),
	KUNIT_CASE(t3_inject_test_many),
	KUNIT_CASE(t3_inject_test_noise),
	{}
};

static struct kunit_suite t3_inject_kunit_suite = {
	.name = "t3_inject",
	.test_cases = t3_inject_kunit_cases,
};

kunit_test_suite(t3_inject_kunit_suite);

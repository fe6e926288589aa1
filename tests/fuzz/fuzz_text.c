/* SPDX-License-Identifier: MIT */
/*
 * Injections as text (SPEC.md section 12.2), from a host and from a guest: words that are right, and
 * any bytes between them. What is refused comes with a reason, in any room; what is taken keeps the
 * devices in order, while they work.
 */
#include "ops.h"
#include "world.h"

#define STEPS_MAX 64u
#define TEXT_MAX  1024u

struct run {
	struct stream *in;
	struct host *host;
	struct host_dev *d;
	char text[TEXT_MAX];
	size_t size;
};

/* ---------------------------------------------------------------------- text */

static void add(struct run *run, const char *word)
{
	size_t size = strlen(word);

	if (size >= TEXT_MAX - run->size)
		return;
	memcpy(run->text + run->size, word, size);
	run->size += size;
}

static void kind(struct run *run)
{
	const char *name = t3_name_inject(stream_u8(run->in) % 24);

	add(run, name ? name : "?");
}

static void key(struct run *run)
{
	static const char *const keys[] = { " rank=",  " peer=",    " queue=", " nth=",
					    " count=", " address=", " value=", " seed=",
					    " ms=",    " node=",    " cut=",   " stall=" };

	add(run, keys[stream_u8(run->in) % (sizeof(keys) / sizeof(keys[0]))]);
}

static void number(struct run *run)
{
	uint64_t value = stream_u64(run->in);
	uint32_t how = stream_u8(run->in);
	char text[32];

	value = how & 0x40 ? value : value % 5; /* mostly a rank, or a few times */
	snprintf(text, sizeof(text), how & 0x80 ? "0x%llx" : "%llu", (unsigned long long)value);
	add(run, text);
}

static void separator(struct run *run)
{
	static const char *const between[] = { ";", "; ", " ; ", ";;", "\n", " " };

	add(run, between[stream_u8(run->in) % (sizeof(between) / sizeof(between[0]))]);
}

static void bytes(struct run *run)
{
	char text[16] = "";

	stream_bytes(run->in, text, 1 + stream_u8(run->in) % (sizeof(text) - 1));
	add(run, text);
}

/* ----------------------------------------------------------------------- use */

/* The host's: the reason ends in the room that it has, and the parser goes on or stops. */
static void by_host(struct run *run)
{
	size_t room = 1 + stream_u8(run->in);
	char *why = malloc(room);
	const char *at = run->text, *before = at;
	struct t3_cmd_inject what;
	enum t3_inject_found found;

	assert_non_null(why);
	while ((found = t3_inject_parse(&at, &what, why, room)) == T3_INJECT_FOUND_ONE) {
		assert_true(at > before && at <= run->text + run->size);
		before = at;
		assert_true(what.kind && t3_name_inject(what.kind));
		t3_fabric_inject(run->host->fabric, &what);
	}
	if (found == T3_INJECT_FOUND_WRONG)
		assert_true(strnlen(why, room) < room && (room == 1 || why[0]));
	free(why);
	run->size = 0;
	memset(run->text, 0, sizeof(run->text));
}

/* The guest's, which need not end in 0. */
static void by_guest(struct run *run)
{
	struct t3_cmd_inject_text cmd;

	memset(&cmd, stream_u8(run->in), sizeof(cmd));
	memcpy(cmd.text, run->text,
	       run->size < sizeof(cmd.text) ? run->size + 1 : sizeof(cmd.text));
	host_command(run->d, T3_CMD_INJECT_TEXT, &cmd, sizeof(cmd));
	run->size = 0;
	memset(run->text, 0, sizeof(run->text));
}

static void work(struct run *run)
{
	uint32_t what = stream_u8(run->in);

	host_fill(run->d, 0, what % 3, what);
	t3_fabric_run(run->host->fabric, what);
}

static void (*const operations[OP_TEXT_COUNT])(struct run *) = {
	[OP_TEXT_KIND] = kind,		 [OP_TEXT_KEY] = key,	  [OP_TEXT_NUMBER] = number,
	[OP_TEXT_SEPARATOR] = separator, [OP_TEXT_BYTES] = bytes, [OP_TEXT_HOST] = by_host,
	[OP_TEXT_GUEST] = by_guest,	 [OP_TEXT_WORK] = work,
};

static void one(struct stream *in, struct host *host)
{
	struct run run = { .in = in, .host = host };
	uint32_t steps;

	world_build(host, 0, T3_DTYPE_I32, 2);
	world_arm(host, 0);
	for (steps = 0; steps < STEPS_MAX && stream_more(in); steps++) {
		uint32_t op = stream_u8(in);

		run.d = &host->dev[(op >> 4) % host->ranks];
		operations[(op & 15) % OP_TEXT_COUNT](&run);
	}
	by_host(&run);
}

const struct fuzz_target fuzz_target = { .one = one };

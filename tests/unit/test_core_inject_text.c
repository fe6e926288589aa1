/* SPDX-License-Identifier: MIT */
/* Injections as text: SPEC.md section 12.2. */
#include "host.h"
#include "t3_node.h"
#include "test.h"

struct good {
	const char *text;
	struct t3_cmd_inject what;
};

static const struct good goods[] = {
	{ "drop rank=0 peer=1 nth=3 count=2",
	  { .kind = T3_INJECT_DROP, .peer = 1, .nth = 3, .count = 2 } },
	{ "duplicate rank=1 peer=0",
	  { .kind = T3_INJECT_DUPLICATE, .rank = 1, .nth = 1, .count = 1 } },
	{ "corrupt peer=2 rank=1 count=5",
	  { .kind = T3_INJECT_CORRUPT, .rank = 1, .peer = 2, .nth = 1, .count = 5 } },
	{ "reorder rank=1 peer=2 nth=0",
	  { .kind = T3_INJECT_REORDER, .rank = 1, .peer = 2, .count = 1 } },
	{ "delay rank=1 peer=2 value=0x7d0",
	  { .kind = T3_INJECT_DELAY, .rank = 1, .peer = 2, .nth = 1, .count = 1, .value = 2000 } },
	{ "drop-response rank=1 peer=2",
	  { .kind = T3_INJECT_DROP_RESPONSE, .rank = 1, .peer = 2, .nth = 1, .count = 1 } },
	{ "link-down rank=0 peer=1", { .kind = T3_INJECT_LINK_DOWN, .peer = 1 } },
	{ "\tlink-up \n rank=0   peer=1 ", { .kind = T3_INJECT_LINK_UP, .peer = 1 } },
	{ "link-random rank=0 peer=1 nth=655 seed=18446744073709551615",
	  { .kind = T3_INJECT_LINK_RANDOM, .peer = 1, .nth = 655, .value = ~0ull } },
	{ "link-random rank=0 peer=1 nth=1",
	  { .kind = T3_INJECT_LINK_RANDOM, .peer = 1, .nth = 1 } },
	{ "poison rank=2 address=0x1000 value=64",
	  { .kind = T3_INJECT_POISON, .rank = 2, .address = 0x1000, .value = 64 } },
	{ "unpoison rank=2 address=0x1000 value=64",
	  { .kind = T3_INJECT_UNPOISON, .rank = 2, .address = 0x1000, .value = 64 } },
	{ "unpoison rank=2", { .kind = T3_INJECT_UNPOISON, .rank = 2 } },
	{ "lose-irq rank=1 nth=4294967295",
	  { .kind = T3_INJECT_LOSE_IRQ, .rank = 1, .nth = ~0u, .count = 1 } },
	{ "fail-dma rank=1 nth=2 count=3",
	  { .kind = T3_INJECT_FAIL_DMA, .rank = 1, .nth = 2, .count = 3 } },
	{ "hang-queue rank=0 queue=3", { .kind = T3_INJECT_HANG_QUEUE, .peer = 3 } },
	{ "unhang-queue rank=0 queue=3", { .kind = T3_INJECT_UNHANG_QUEUE, .peer = 3 } },
	{ "node-cut node=1", { .kind = T3_INJECT_NODE_CUT, .peer = 1, .nth = 1, .count = 1 } },
	{ "node-cut ms=500 node=31 count=4 nth=100",
	  { .kind = T3_INJECT_NODE_CUT, .peer = 31, .nth = 100, .count = 4, .value = 500 } },
	{ "node-stall node=2 ms=60000",
	  { .kind = T3_INJECT_NODE_STALL, .peer = 2, .nth = 1, .count = 1, .value = 60000 } },
	{ "node-random node=1 cut=1 stall=655 seed=18446744073709551615",
	  { .kind = T3_INJECT_NODE_RANDOM, .peer = 1, .nth = 1, .count = 655, .value = ~0ull } },
	{ "node-random node=1", { .kind = T3_INJECT_NODE_RANDOM, .peer = 1 } },
};

#define GOODS (sizeof(goods) / sizeof(goods[0]))

TEST("each good text is read")
{
	size_t i;

	for (i = 0; i < GOODS; i++) {
		const char *at = goods[i].text;
		struct t3_cmd_inject what;
		char why[200] = "";

		assert_int_equal(t3_inject_parse(&at, &what, why, sizeof(why)),
				 T3_INJECT_FOUND_ONE);
		assert_memory_equal(&what, &goods[i].what, sizeof(what));
		assert_int_equal(t3_inject_parse(&at, &what, why, sizeof(why)),
				 T3_INJECT_FOUND_NONE);
		assert_string_equal(at, "");
		assert_string_equal(why, "");
	}
}

/* All of them in one text, with empty ones between. */
TEST("several texts in one are read in order")
{
	char text[2048] = " ;; ", why[200];
	struct t3_cmd_inject what;
	const char *at = text;
	size_t i;

	for (i = 0; i < GOODS; i++) {
		strcat(text, goods[i].text);
		strcat(text, i % 2 ? ";" : "; ;");
	}
	for (i = 0; i < GOODS; i++) {
		assert_int_equal(t3_inject_parse(&at, &what, why, sizeof(why)),
				 T3_INJECT_FOUND_ONE);
		assert_memory_equal(&what, &goods[i].what, sizeof(what));
	}
	assert_int_equal(t3_inject_parse(&at, &what, why, sizeof(why)), T3_INJECT_FOUND_NONE);
}

static const char *const wrong[][2] = {
	{ "dorp rank=0 peer=1",
	  "'dorp' is no kind of fault: allowed are drop, duplicate, corrupt, reorder, delay, "
	  "drop-response, link-down, link-up, link-random, poison, unpoison, lose-irq, fail-dma, "
	  "hang-queue, unhang-queue, port-reset, node-cut, node-stall, node-random" },
	{ "node-cut rank=0 node=1", "node-cut takes no 'rank': it takes nth, count, ms, node" },
	{ "node-cut", "node-cut needs node" },
	{ "node-stall node=1", "node-stall needs ms" },
	{ "node-random node=1 nth=5",
	  "node-random takes no 'nth': it takes seed, node, cut, stall" },
	{ "node-cut node=1 peer=1", "node-cut takes no 'peer': it takes nth, count, ms, node" },
	{ "drop rank=0 node=1", "drop takes no 'node': it takes rank, peer, nth, count" },
	{ "node-random node=1 cut=4294967296",
	  "node-random: cut='4294967296' is not allowed: it takes a number, decimal or 0x, of 32 "
	  "bits" },
	{ "node-stall node=1 ms=18446744073709551616",
	  "node-stall: ms='18446744073709551616' is not allowed: it takes a number, decimal or 0x, "
	  "of 64 bits" },
	{ "drop rank=0 peer=1 seed=3", "drop takes no 'seed': it takes rank, peer, nth, count" },
	{ "drop rank=0 peer=1 =3", "drop takes no '': it takes rank, peer, nth, count" },
	{ "poison rank=0 addres=3", "poison takes no 'addres': it takes rank, address, value" },
	{ "hang-queue rank=0 peer=1", "hang-queue takes no 'peer': it takes rank, queue" },
	{ "drop rank=0", "drop needs peer" },
	{ "poison", "poison needs rank, address, value" },
	{ "link-random rank=0 peer=1", "link-random needs nth" },
	{ "drop rank=0 rank=1 peer=1", "drop: rank is given twice" },
	{ "drop rank=x peer=1",
	  "drop: rank='x' is not allowed: it takes a number, decimal or 0x, of 32 bits" },
	{ "drop rank= peer=1",
	  "drop: rank='' is not allowed: it takes a number, decimal or 0x, of 32 bits" },
	{ "drop rank peer=1",
	  "drop: rank='' is not allowed: it takes a number, decimal or 0x, of 32 bits" },
	{ "drop rank=-1 peer=1",
	  "drop: rank='-1' is not allowed: it takes a number, decimal or 0x, of 32 bits" },
	{ "drop rank=0x peer=1",
	  "drop: rank='0x' is not allowed: it takes a number, decimal or 0x, of 32 bits" },
	{ "drop rank=4294967296 peer=1",
	  "drop: rank='4294967296' is not allowed: it takes a number, decimal or 0x, of 32 bits" },
	{ "poison rank=0 value=64 address=18446744073709551616",
	  "poison: address='18446744073709551616' is not allowed: it takes a number, decimal or "
	  "0x, of 64 bits" },
	{ "poison rank=0 value=64 address=1111111111111111111111111111111111111111111111111111",
	  "poison: address='1111111111111111111111111111111111111111' is not allowed: it takes a "
	  "number, decimal or 0x, of 64 bits" },
	{ "drop rank=1,peer=2",
	  "drop: rank='1,peer=2' is not allowed: it takes a number, decimal or 0x, of 32 bits" },
};

TEST("each wrong text is refused with its reason")
{
	size_t i, size;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct t3_cmd_inject what;
		const char *at = wrong[i][0];
		char why[400];

		assert_int_equal(t3_inject_parse(&at, &what, why, sizeof(why)),
				 T3_INJECT_FOUND_WRONG);
		assert_string_equal(why, wrong[i][1]);
		for (size = 1; size < sizeof(why); size += 7) {
			char *cut = malloc(size); /* its end is watched */

			at = wrong[i][0];
			assert_int_equal(t3_inject_parse(&at, &what, cut, size),
					 T3_INJECT_FOUND_WRONG);
			assert_true(strlen(cut) < size);
			assert_memory_equal(cut, why, strlen(cut));
			free(cut);
		}
	}
}

/* Any bytes at all: it ends, within the text. */
TEST("any bytes end within the text")
{
	static const char some[] = "drop rank=0 peer=1;node-cut ms poison value=0x40 \t\n=;;x9";
	uint64_t random = 5;
	uint32_t round;

	for (round = 0; round < 20000; round++) {
		size_t length = host_below(&random, 60), i;
		char *text = malloc(length + 1);
		const char *at = text;
		struct t3_cmd_inject what;
		char why[64];

		for (i = 0; i < length; i++)
			text[i] = host_below(&random, 4) ? some[host_below(&random, 53)]
							 : (char)(1 + host_below(&random, 255));
		text[length] = 0;
		while (t3_inject_parse(&at, &what, why, sizeof(why)) == T3_INJECT_FOUND_ONE)
			assert_true(at <= text + length);
		free(text);
	}
}

TEST("a refused injection is explained")
{
	struct t3_cmd_inject what = { .kind = T3_INJECT_DROP, .peer = 9 };
	uint32_t status;
	char why[400];

	t3_inject_explain(&what, T3_ADMIN_NO_ROUTE, why, sizeof(why));
	assert_string_equal(why, "drop: there is no link from rank=0 to peer=9");
	what.kind = T3_INJECT_HANG_QUEUE;
	t3_inject_explain(&what, T3_ADMIN_BAD_QUEUE, why, sizeof(why));
	assert_string_equal(why, "hang-queue: rank=0 has no queue=9");
	what.kind = T3_INJECT_NODE_CUT;
	t3_inject_explain(&what, T3_ADMIN_NO_ROUTE, why, sizeof(why));
	assert_string_equal(why, "node-cut: there is no connection to node=9");
	t3_inject_explain(&what, T3_ADMIN_BAD_VALUE, why, sizeof(why));
	assert_non_null(strstr(why, "node-stall ms 1 to 60000"));
	what.kind = ~0u;
	for (status = 1; status < 20; status++) {
		t3_inject_explain(&what, status, why, sizeof(why));
		assert_memory_equal(why, "fault: ", 7);
	}
}

/* ------------------------------------------------------- the guest's command */

static uint32_t inject(struct host_dev *d, const char *text, struct t3_cmd_inject_text *cmd)
{
	*cmd = (struct t3_cmd_inject_text){ 0 };
	memcpy(cmd->text, text, strlen(text));
	return host_command(d, T3_CMD_INJECT_TEXT, cmd, sizeof(*cmd));
}

/* Of the own rank, which need not be named. */
TEST("the command injects for its own rank")
{
	struct host *host = host_ring(2);
	struct host_dev *b = &host->dev[1];
	struct t3_cmd_link_query query = { 0 };
	struct t3_cmd_inject node = { .kind = T3_INJECT_NODE_CUT, .rank = 1, .nth = 1, .count = 1 };
	struct t3_cmd_inject_text cmd;

	host_replace(host, 1, true);
	assert_int_equal(inject(b, "drop peer=0 nth=2; ;link-down rank=1 peer=0", &cmd),
			 T3_ADMIN_OK);
	assert_string_equal((char *)cmd.text, "");
	assert_int_equal(host_command(b, T3_CMD_LINK_QUERY, &query, sizeof(query)), T3_ADMIN_OK);
	assert_int_equal(query.flags, T3_LINK_DOWN);
	assert_int_equal(inject(b, " ;; ", &cmd), T3_ADMIN_OK);
	/* Connections between nodes are not the guest's. */
	assert_int_equal(host_command(b, T3_CMD_INJECT, &node, sizeof(node)), T3_ADMIN_BAD_VALUE);
	host_free(host);
}

struct refusal {
	const char *text;
	uint32_t status;
	const char *why;
	bool down; /* what stands before it is in force */
};

static const struct refusal refusals[] = {
	{ "link-down peer=0; drop", T3_ADMIN_BAD_VALUE, "drop needs peer", false },
	{ "link-down peer=0; link-down rank=0 peer=1", T3_ADMIN_BAD_VALUE,
	  "link-down: rank=0 is another device's; this one's is 1", false },
	{ "link-down peer=0; node-cut node=1", T3_ADMIN_BAD_VALUE,
	  "'node-cut' is no kind of fault: allowed are drop, duplicate, corrupt, reorder, delay, "
	  "drop-response, link-down, link-up, link-random, poison, unpoison, lose-irq, fail-dma, "
	  "hang-queue, unhang-queue, port-reset",
	  false },
	{ "link-down peer=0; hang-queue queue=63", T3_ADMIN_BAD_QUEUE,
	  "hang-queue: rank=1 has no queue=63", true },
	{ "link-down peer=0; drop peer=7", T3_ADMIN_NO_ROUTE,
	  "drop: there is no link from rank=1 to peer=7", true },
};

TEST("a refused command says why")
{
	size_t i;

	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct host *host = host_ring(2);
		struct host_dev *b = &host->dev[1];
		struct t3_cmd_link_query query = { 0 };
		struct t3_cmd_inject_text cmd;

		host_replace(host, 1, true);
		assert_int_equal(inject(b, refusals[i].text, &cmd), refusals[i].status);
		assert_string_equal((char *)cmd.text, refusals[i].why);
		host_command(b, T3_CMD_LINK_QUERY, &query, sizeof(query));
		assert_int_equal(query.flags, refusals[i].down ? T3_LINK_DOWN : 0);
		host_free(host);
	}
}

/* A text without an end, a reserved word, a device that does not allow it. */
TEST("a hostile command does no harm")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0];
	struct t3_cmd_inject_text cmd = { 0 };
	uint64_t random = 3;
	uint32_t round;

	assert_int_equal(inject(a, "unpoison", &cmd), T3_ADMIN_BAD_OPCODE);
	host_replace(host, 0, true);
	memset(cmd.text, ';', sizeof(cmd.text));
	assert_int_equal(host_command(a, T3_CMD_INJECT_TEXT, &cmd, sizeof(cmd)),
			 T3_ADMIN_BAD_VALUE);
	cmd.text[sizeof(cmd.text) - 1] = 0;
	assert_int_equal(host_command(a, T3_CMD_INJECT_TEXT, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	cmd.mbz = 1;
	assert_int_equal(host_command(a, T3_CMD_INJECT_TEXT, &cmd, sizeof(cmd)),
			 T3_ADMIN_BAD_VALUE);
	for (round = 0; round < 2000; round++) {
		size_t length = host_below(&random, sizeof(cmd.text) + 1), i;

		cmd = (struct t3_cmd_inject_text){ 0 };
		for (i = 0; i < length; i++)
			cmd.text[i] = (uint8_t)(1 + host_below(&random, 255));
		if (host_command(a, T3_CMD_INJECT_TEXT, &cmd, sizeof(cmd)) && length < 248)
			assert_non_null(memchr(cmd.text, 0, sizeof(cmd.text)));
	}
	host_free(host);
}

TEST("the command names what each kind takes")
{
	struct host *host = host_ring(2);
	struct t3_cmd_inject_text cmd = { .kind = T3_INJECT_DELAY };
	struct host_dev *a = &host->dev[0];

	host_replace(host, 0, true);
	assert_int_equal(host_command(a, T3_CMD_INJECT_TEXT, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	assert_string_equal((char *)cmd.text, "delay needs=peer,value takes=nth,count");
	cmd = (struct t3_cmd_inject_text){ .kind = T3_INJECT_UNPOISON };
	assert_int_equal(host_command(a, T3_CMD_INJECT_TEXT, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	assert_string_equal((char *)cmd.text, "unpoison takes=address,value");
	cmd.kind = T3_INJECT_KIND_COUNT;
	assert_int_equal(host_command(a, T3_CMD_INJECT_TEXT, &cmd, sizeof(cmd)),
			 T3_ADMIN_BAD_INDEX);
	host_free(host);
}

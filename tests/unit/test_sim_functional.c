// SPDX-License-Identifier: MIT
/*
 * Functional runs as workloads: what a rank's stores, GEMMs and copies become, what K is given for,
 * and what is left out. T3_RECORD names a file that gets the record of the first test, for tests of
 * the tool.
 */
#include "gemm.h"
#include "ring.h"
#include "sim/functional.h"
#include "sim/step.h"
#include "tape.h"
#include "test.h"

#define RANKS	3u
#define DEPTH	7u
#define EPOCHS	2u
#define ROWS	15u /* of all chunks of ring_of() */
#define COLUMNS 6u

/* A run that is recorded: a sum over a ring, and a queue of rank 0. */
struct scene {
	struct tape tape;
	struct host *host;
	struct ring ring;
	struct queue queue;
};

static void scene_open(struct scene *s)
{
	struct host_config config = { T3_TOPOLOGY_RING, RANKS, 256, 8, T3_KEYS_FABRIC };

	*s = (struct scene){ 0 };
	s->host = host_new_recorded(&config, tape_emit, &s->tape);
	s->ring = ring_open(s->host, 0, T3_DTYPE_F32);
	s->queue = queue_new(&s->host->dev[0], 0, 0);
}

static void scene_close(struct scene *s)
{
	host_free(s->host);
	free(s->tape.data);
}

/* The chunk's part of a product of rank 0, into its segment. */
static void multiply(struct scene *s, uint32_t chunk, uint32_t depth)
{
	struct gemm x = gemm_new(T3_DTYPE_F32, 5, COLUMNS, depth);

	x.d.dst_kind = T3_LOC_SPACE;
	x.d.dst = chunk * 0x400;
	x.d.dst_pitch = 32;
	x.d.generation = host_query(&s->host->dev[0], 0).generation;
	gemm_submit(&s->queue, &x);
	host_drain(s->host);
}

/* One epoch; depth 0: rank 0 stores, too. */
static void epoch(struct scene *s, uint32_t number, uint32_t depth)
{
	uint32_t rank, chunk;

	ring_arm(&s->ring, number);
	for (chunk = RANKS; chunk-- > 0 && depth;)
		multiply(s, chunk, depth);
	for (rank = depth != 0; rank < RANKS; rank++)
		ring_produce(&s->ring, rank, number, false);
	host_drain(s->host);
	ring_expect_state(&s->ring, T3_SPACE_COMPLETE, number);
	ring_release(&s->ring, number);
}

/* The run as a workload, which t3 sim must take. NULL: refused, by `why`. */
static json_t *workload_of(const struct scene *s, uint32_t rank, const struct sim_given *given,
			   uint32_t count, char *why)
{
	FILE *file = fmemopen(s->tape.data, s->tape.size, "rb");
	struct sim_functional run;
	struct sim_step step;
	json_t *workload, *list;
	bool good = sim_functional_read(file, rank, &run, why);
	char *text;

	fclose(file);
	assert_true(good);
	good = sim_functional_workload(&run, given, count, &workload, &list, why);
	sim_functional_free(&run);
	if (!good)
		return NULL;
	text = json_dumps(workload, 0);
	file = fmemopen(text, strlen(text), "r");
	if (!sim_step_read(file, &step, why))
		fail_msg("%s", why);
	sim_step_free(&step);
	fclose(file);
	free(text);
	json_decref(list);
	return workload;
}

/* Operation i is exactly that. */
static void expect_operation(const json_t *workload, size_t i, const char *text)
{
	json_t *want = json_loads(text, 0, NULL);
	const json_t *got = json_array_get(json_object_get(workload, "operations"), i);

	assert_non_null(want);
	if (!json_equal(want, got))
		fail_msg("operation %zu is %s, not %s", i, json_dumps(got, JSON_ENCODE_ANY), text);
	json_decref(want);
}

static void expect_operations(const json_t *workload, size_t count)
{
	assert_int_equal(json_array_size(json_object_get(workload, "operations")), count);
}

static bool has_note(const json_t *workload, const char *part)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(workload, "notes"), i,
			   one) if (strstr(json_string_value(one), part)) return true;
	return false;
}

#define SCATTER(name) "{'name': '" name "', 'bytes': 360, 'ranks': 3, 'dtype': 'float32'}"

/* JSON with other quotes. */
static const char *json(const char *text)
{
	static char out[512];
	size_t i;

	for (i = 0; text[i] && i < sizeof(out) - 1; i++)
		out[i] = text[i] == '\'' ? '"' : text[i];
	out[i] = '\0';
	return out;
}

TEST("stores become a collective alone, and a product with the K that was given")
{
	struct sim_given given = { .k = 512 };
	char why[SIM_WHY_SIZE];
	struct scene s;
	json_t *workload;
	uint32_t i;

	scene_open(&s);
	for (i = 1; i <= EPOCHS; i++)
		epoch(&s, i, 0);
	workload = workload_of(&s, 0, NULL, 0, why);
	expect_operations(workload, 1);
	expect_operation(workload, 0,
			 json("{'pass': 'forward', 'count': 2, 'collective': " SCATTER(
				 "reduce_scatter_tensor") "}"));
	assert_true(has_note(workload, "2 outputs were stored by the program"));
	json_decref(workload);
	workload = workload_of(&s, 1, &given, 1, why);
	expect_operations(workload, 1);
	expect_operation(
		workload, 0,
		json("{'pass': 'forward', 'count': 2, 'summed': 'while made', 'gemm': {'m': "
		     "15, 'n': 6, 'k': 512, 'batch': 1, 'dtype': 'float32'}, "
		     "'collective': " SCATTER("matmul_reduce_scatter") "}"));
	assert_true(has_note(workload, "K was given by --k"));
	assert_false(has_note(workload, "were stored by the program"));
	json_decref(workload);
	scene_close(&s);
}

TEST("a GEMM of a queue has its K, and each K is an operation of its own")
{
	char why[SIM_WHY_SIZE];
	struct scene s;
	json_t *workload;

	scene_open(&s);
	epoch(&s, 1, DEPTH);
	epoch(&s, 2, DEPTH);
	epoch(&s, 3, DEPTH + 1);
	workload = workload_of(&s, 0, NULL, 0, why);
	expect_operations(workload, 2);
	expect_operation(
		workload, 0,
		json("{'pass': 'forward', 'count': 2, 'summed': 'while made', 'gemm': {'m': "
		     "15, 'n': 6, 'k': 7, 'batch': 1, 'dtype': 'float32'}, 'collective': " SCATTER(
			     "matmul_reduce_scatter") "}"));
	expect_operation(
		workload, 1,
		json("{'pass': 'forward', 'count': 1, 'summed': 'while made', 'gemm': {'m': "
		     "15, 'n': 6, 'k': 8, 'batch': 1, 'dtype': 'float32'}, 'collective': " SCATTER(
			     "matmul_reduce_scatter") "}"));
	json_decref(workload);
	scene_close(&s);
}

/* Two chunks with one K, and the third with another one. */
TEST("an output of GEMMs that differ is no single product")
{
	char why[SIM_WHY_SIZE];
	struct scene s;
	json_t *workload;
	uint32_t rank;

	scene_open(&s);
	ring_arm(&s.ring, 1);
	multiply(&s, 2, DEPTH);
	multiply(&s, 1, DEPTH);
	multiply(&s, 0, DEPTH + 1);
	for (rank = 1; rank < RANKS; rank++)
		ring_produce(&s.ring, rank, 1, false);
	host_drain(s.host);
	ring_expect_state(&s.ring, T3_SPACE_COMPLETE, 1);
	workload = workload_of(&s, 0, NULL, 0, why);
	expect_operations(workload, 2);
	expect_operation(workload, 0,
			 json("{'pass': 'forward', 'count': 1, 'left_out': {'name': 'a product of "
			      "several commands'}}"));
	expect_operation(workload, 1,
			 json("{'pass': 'forward', 'count': 1, 'collective': " SCATTER(
				 "reduce_scatter_tensor") "}"));
	json_decref(workload);
	scene_close(&s);
}

TEST("commands without a space are products and bytes, and failed ones are left out")
{
	struct t3_descriptor copy = queue_copy(GEMM_OUTPUT, GEMM_A, 4096);
	struct t3_descriptor down = queue_copy(HOST_DATA + QUEUE_BUS, GEMM_A, 1024);
	struct t3_descriptor update =
		queue_update(GEMM_OUTPUT, GEMM_A, 64, T3_OP_ADD, T3_DTYPE_F32);
	struct t3_descriptor fill = queue_fill(GEMM_OUTPUT, 0, 128), bad = queue_nop();
	struct gemm x = gemm_new(T3_DTYPE_BF16, 4, 6, 9);
	char why[SIM_WHY_SIZE];
	struct scene s;
	json_t *workload;

	scene_open(&s);
	down.dst_kind = T3_LOC_HOST;
	bad.opcode = 200;
	gemm_submit(&s.queue, &x);
	host_drain(s.host);
	queue_submit(&s.queue, &copy);
	queue_submit(&s.queue, &copy);
	queue_submit(&s.queue, &down);
	queue_submit(&s.queue, &update);
	queue_submit(&s.queue, &fill);
	queue_submit(&s.queue, &bad);
	host_drain(s.host);
	workload = workload_of(&s, 0, NULL, 0, why);
	expect_operations(workload, 5);
	expect_operation(workload, 0,
			 json("{'pass': 'forward', 'count': 1, 'gemm': {'m': 4, 'n': 6, 'k': 9, "
			      "'batch': 1, 'dtype': 'bfloat16'}}"));
	expect_operation(workload, 1,
			 json("{'pass': 'forward', 'count': 2, 'memory': {'name': 'copy', 'bytes': "
			      "8192}}"));
	expect_operation(workload, 2,
			 json("{'pass': 'forward', 'count': 1, 'memory': {'name': 'copy', 'bytes': "
			      "1024}}"));
	expect_operation(
		workload, 3,
		json("{'pass': 'forward', 'count': 1, 'memory': {'name': 'update', 'bytes': "
		     "192}}"));
	expect_operation(workload, 4,
			 json("{'pass': 'forward', 'count': 1, 'memory': {'name': 'fill', 'bytes': "
			      "128}}"));
	assert_true(has_note(workload, "1024 bytes of host memory"));
	assert_true(has_note(workload, "1 commands of queues failed"));
	json_decref(workload);
	assert_null(workload_of(&s, 1, NULL, 0, why));
	assert_non_null(strstr(why, "rank 1 has completed no epoch"));
	scene_close(&s);
}

/* Each of 32 x 32 shapes, and then all of them again, the other way round. */
TEST("commands of many kinds are counted once each, in the order of the first ones")
{
	enum { SIDE = 32, KINDS = SIDE * SIDE };
	char why[SIM_WHY_SIZE];
	struct sim_functional run;
	struct scene s;
	struct gemm x;
	uint32_t i, kind;
	FILE *file;

	scene_open(&s);
	for (i = 0; i < 2 * KINDS; i++) {
		kind = i < KINDS ? i : 2 * KINDS - 1 - i;
		x = gemm_new(T3_DTYPE_F32, 1 + kind / SIDE, 1 + kind % SIDE, 3);
		gemm_submit(&s.queue, &x);
		host_drain(s.host);
	}
	file = fmemopen(s.tape.data, s.tape.size, "rb");
	assert_true(sim_functional_read(file, 0, &run, why));
	fclose(file);
	assert_int_equal(run.commands, KINDS);
	for (kind = 0; kind < KINDS; kind++) {
		assert_int_equal(run.command[kind].m, 1 + kind / SIDE);
		assert_int_equal(run.command[kind].n, 1 + kind % SIDE);
		assert_int_equal(run.command[kind].count, 2);
	}
	sim_functional_free(&run);
	scene_close(&s);
}

TEST("an epoch that faults is left out, and so is one that does not end")
{
	char why[SIM_WHY_SIZE];
	struct scene s;
	json_t *workload;

	scene_open(&s);
	epoch(&s, 1, 0);
	ring_arm(&s.ring, 2);
	host_store(&s.host->dev[0], 0, 0x3000, 1, 4);
	host_drain(s.host);
	workload = workload_of(&s, 0, NULL, 0, why);
	expect_operations(workload, 2);
	expect_operation(workload, 1,
			 json("{'pass': 'forward', 'count': 1, 'left_out': {'name': 'an epoch that "
			      "did not complete'}}"));
	json_decref(workload);
	scene_close(&s);
}

/* The segment stays on its rank: nothing is sent. */
TEST("an output without routes is a product, or what it writes")
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 256, 8, T3_KEYS_FABRIC };
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_F32);
	struct sim_given given = { .number = 1, .k = 30 };
	struct scene s = { 0 };
	char why[SIM_WHY_SIZE];
	json_t *workload;

	s.host = host_new_recorded(&config, tape_emit, &s.tape);
	host_space(&s.host->dev[0], 0);
	host_map(&s.host->dev[0], &map);
	host_arm(&s.host->dev[0], 0, 1);
	host_fill(&s.host->dev[0], 0, 0, 1);
	host_expect(&s.host->dev[0], 0, T3_SPACE_COMPLETE, 1);
	workload = workload_of(&s, 0, NULL, 0, why);
	expect_operations(workload, 1);
	expect_operation(
		workload, 0,
		json("{'pass': 'forward', 'count': 1, 'memory': {'name': 'output', 'bytes': "
		     "64}}"));
	json_decref(workload);
	workload = workload_of(&s, 0, &given, 1, why);
	expect_operations(workload, 1);
	expect_operation(workload, 0,
			 json("{'pass': 'forward', 'count': 1, 'gemm': {'m': 4, 'n': 4, 'k': 30, "
			      "'batch': 1, 'dtype': 'float32'}}"));
	json_decref(workload);
	scene_close(&s);
}

static void expect_refused(const struct scene *s, struct sim_given given, const char *said)
{
	char why[SIM_WHY_SIZE];

	assert_null(workload_of(s, 0, &given, 1, why));
	assert_string_equal(why, said);
}

TEST("a K for an output that is not there, or with other elements, is refused")
{
	struct scene s;

	scene_open(&s);
	epoch(&s, 1, 0);
	expect_refused(&s, (struct sim_given){ .number = 2, .k = 8 },
		       "--k 2=...: it has 1 different outputs that the program stored");
	expect_refused(&s, (struct sim_given){ .number = 1, .m = 4, .n = 6, .k = 8 },
		       "--k gives 4 x 6 elements for output 1, which has 90");
	scene_close(&s);
}

static bool is_refused(const struct tape *tape, const char *said)
{
	FILE *file = fmemopen(tape->data, tape->size, "rb");
	struct sim_functional run;
	char why[SIM_WHY_SIZE];
	bool good = sim_functional_read(file, 0, &run, why);

	fclose(file);
	if (good)
		sim_functional_free(&run);
	return !good && strstr(why, said);
}

/* A changed byte of the second half is found, if a later record does not hide it. */
TEST("a record that is cut is read to its end, and one that is wrong is refused")
{
	char why[SIM_WHY_SIZE];
	struct scene s;
	json_t *workload;
	uint32_t found = 0;
	size_t at;

	scene_open(&s);
	epoch(&s, 1, 0);
	epoch(&s, 2, 0);
	workload = workload_of(&s, 0, NULL, 0, why);
	assert_true(has_note(workload, "the record ends in the middle"));
	json_decref(workload);
	for (at = s.tape.size / 2; at < s.tape.size; at += 1 + s.tape.size / 64) {
		s.tape.data[at] ^= 1;
		found += is_refused(&s.tape, "its replay differs from it");
		s.tape.data[at] ^= 1;
	}
	assert_true(found > 4);
	s.tape.data[0] ^= 1;
	assert_true(is_refused(&s.tape, "it is no T3 record"));
	scene_close(&s);
}

/* A layout of rank r of two: segments 0 and 1 are summed at rank 0, and rank 1 gets the sum of 1. */
static struct sim_layout layout_of_two(uint32_t rank)
{
	struct sim_layout l = { .rank = rank,
				.first_epoch = 1,
				.last_epoch = 1,
				.done_epoch = 1,
				.local = 16,
				.used = 3,
				.put = 3 };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		l.segment[i].kind = rank ? T3_SEG_REMOTE : i ? T3_SEG_DMA : T3_SEG_LOCAL;
		l.segment[i].op = T3_OP_ADD;
		l.segment[i].updates = 2;
		l.segment[i].routes = rank || i;
		l.segment[i].target_segment = rank ? i : 2;
	}
	if (rank)
		l.used = 7; /* the sum comes to segment 2 */
	l.route[0] = (struct sim_layout_route){ .used = true, .rank = !rank };
	return l;
}

TEST("a sum that arrives everywhere in part alone is no all-reduce")
{
	struct sim_layout first = layout_of_two(0), second = layout_of_two(1);
	struct sim_layout *both[] = { &first, &second };
	struct sim_functional run = { .ranks = 2, .layout = both, .layouts = 2 };
	struct sim_flow flow;

	sim_flow_find(&run, &first, &flow);
	assert_int_equal(flow.kind, SIM_FLOW_REDUCE_SCATTER);
	first.put = second.put = 2;
	sim_flow_find(&run, &first, &flow);
	assert_int_equal(flow.kind, SIM_FLOW_ALL_REDUCE);
}

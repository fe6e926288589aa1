// SPDX-License-Identifier: MIT
/* SPEC.md 11.8: timed runs of expert layers, with counts after the arguments; refused ones. */
#include "conf.h"
#include "queue.h"
#include "timed.h"

CONF_SECTION("11.8", "timed runs of experts");

#define RESULT_AT 2048u /* of a page */
#define RANKS	  4u	/* that a device stands for, with an expert each */
#define EXPERTS	  4u
#define COUNTS	  (RANKS * EXPERTS)
#define COLUMNS	  512u
#define DEPTH	  256u

struct counted {
	struct t3_timed_args args;
	uint32_t counts[COUNTS];
};

_Static_assert(offsetof(struct counted, counts) == sizeof(struct t3_timed_args), "no gap");

struct run {
	struct queue q;
	struct t3_descriptor d;
	struct counted timed;
	volatile uint8_t *args; /* from where the descriptor takes them */
	volatile struct t3_timed_result *result;
};

/* Each rank sends 32 rows to its own expert, 64 to that of the next rank, and so on. */
static void prepare(struct conf *c, struct conf_device *d, struct run *x, uint32_t program)
{
	uint64_t iova;

	if (!(conf_reg(d, T3_REG_CAPS) & T3_CAP_TIMED))
		conf_skip(c, "needs CAPS.TIMED");
	queue_create(c, d, &x->q, 0, 0);
	x->args = conf_page(c, &iova);
	x->result = (volatile void *)(x->args + RESULT_AT);
	for (unsigned i = 0; i < T3_PAGE_SIZE / 8; i++)
		((volatile uint64_t *)x->args)[i] = 0;
	x->timed = (struct counted){ .args = { .program = program,
					       .flags = T3_TIMED_MIRRORED,
					       .ranks = RANKS,
					       .element_bytes = 2,
					       .columns = COLUMNS,
					       .depth = DEPTH,
					       .collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL,
					       .experts = EXPERTS } };
	for (unsigned i = 0; i < T3_TIMED_PARAMS; i++)
		x->timed.args.params[i] = timed_machine[i];
	for (unsigned i = 0; i < COUNTS; i++) {
		x->timed.counts[i] = 32 * ((i % EXPERTS + RANKS - i / EXPERTS) % RANKS + 1);
		x->timed.args.rows += x->timed.counts[i];
	}
	x->d = (struct t3_descriptor){ .opcode = T3_DESC_TIMED,
				       .src_kind = T3_LOC_HOST,
				       .dst_kind = T3_LOC_HOST,
				       .row_bytes = sizeof(x->timed.counts),
				       .src = iova,
				       .dst = iova + RESULT_AT };
}

static void in_memory(struct run *x)
{
	x->args = x->q.dev->memory;
	x->d.src_kind = T3_LOC_MEMORY;
	x->d.src = 0;
}

static uint32_t start(struct run *x)
{
	uint32_t index;

	conf_put(x->args, &x->timed, sizeof(x->timed));
	index = queue_push(&x->q, &x->d);
	queue_submit(&x->q);
	return index;
}

static struct t3_timed_result finish(struct conf *c, struct run *x)
{
	struct t3_completion found = queue_wait(c, &x->q, start(x));

	CHECK_EQUAL(c, "status", QUEUE_STATUS(found), T3_DESC_OK);
	return *x->result;
}

/* clang-format off */
static const struct {
	const char *name;
	uint32_t program, way;
} kinds[] = {
	{"sequential-combine", T3_TIMED_SEQUENTIAL, T3_TIMED_COMBINE},
	{"sequential-dispatch", T3_TIMED_SEQUENTIAL, T3_TIMED_DISPATCH},
	{"t3-combine", T3_TIMED_T3, T3_TIMED_COMBINE},
	{"t3-dispatch", T3_TIMED_T3, T3_TIMED_DISPATCH},
	{"t3-mca-combine", T3_TIMED_T3_MCA, T3_TIMED_COMBINE},
	{"t3-mca-dispatch", T3_TIMED_T3_MCA, T3_TIMED_DISPATCH},
};

/* One field of good arguments; detail: 64 + `blamed`, or for the descriptor `blamed`. */
static const struct {
	const char *name;
	size_t offset, bytes;
	uint64_t value;
	size_t blamed;
} bads[] = {
#define FIELD(field) offsetof(struct counted, args.field), sizeof(((struct counted *)0)->args.field)
#define COUNT(i) offsetof(struct counted, counts) + 4 * (i), 4
#define AT(field) offsetof(struct t3_timed_args, field)
	{"program-alone", FIELD(program), T3_TIMED_ALONE, AT(experts)},
	{"all-reduce", FIELD(collective), T3_TIMED_COLLECTIVE_ALL_REDUCE, AT(experts)},
	{"experts-0", FIELD(experts), 0, AT(experts)},
	{"experts-3", FIELD(experts), EXPERTS - 1, AT(experts)},
	{"experts-8", FIELD(experts), 2 * EXPERTS, AT(experts)},
	{"experts-2-30", FIELD(experts), (1u << 30) + EXPERTS, AT(experts)},
	{"ranks-2", FIELD(ranks), 2, AT(experts)},
	{"way-2", FIELD(way), T3_TIMED_DISPATCH + 1, AT(way)},
	{"nodes-2", FIELD(nodes), 2, AT(rows)},
	{"rows-less", FIELD(rows), 1, AT(rows)},
	{"rows-0", FIELD(rows), 0, AT(rows)},
	{"not-alike", COUNT(0), 31, AT(rows)},
	{"count-max", COUNT(COUNTS - 1), 0xffffffff, AT(rows)},
#undef AT
#undef COUNT
#undef FIELD
};
/* clang-format on */

static const char *kind_label(unsigned row)
{
	return kinds[row].name;
}

static const char *bad_label(unsigned row)
{
	return bads[row].name;
}

/* Counts and shape alone decide these. Rows of other ranks' tokens cross the link once. */
static void check_counters(struct conf *c, const struct t3_timed_counters *counters, uint32_t way)
{
	uint64_t row = 2ull * (way == T3_TIMED_DISPATCH ? DEPTH : COLUMNS);
	uint64_t tile_rows = (32 + 64 + 96 + 128 + 127) / 128;

	CHECK(c, counters->end, "a run takes no time");
	CHECK_EQUAL(c, "groups", counters->groups, tile_rows * COLUMNS / 128);
	CHECK_EQUAL(c, "bytes sent", counters->link_bytes, (64 + 96 + 128) * row);
	CHECK_EQUAL(c, "received bytes", counters->received_bytes, (64 + 96 + 128) * row);
}

TEST("counts of host and of device memory give equal runs", .rows = ARRAY_SIZE(kinds),
     .label = kind_label)
{
	struct t3_timed_result first, second;
	struct run x;

	prepare(c, conf_device(c, 0), &x, kinds[row].program);
	x.timed.args.way = kinds[row].way;
	first = finish(c, &x);
	check_counters(c, &first.counters, kinds[row].way);
	in_memory(&x);
	second = finish(c, &x);
	CHECK_EQUAL(c, "events", second.events, first.events);
	CHECK(c, !memcmp(&first.counters, &second.counters, sizeof(first.counters)),
	      "the counters differ");
}

TEST("each wrong argument of experts is refused by its place", .rows = ARRAY_SIZE(bads),
     .label = bad_label)
{
	struct run x;

	prepare(c, conf_device(c, 0), &x, T3_TIMED_T3);
	conf_replace(&x.timed, bads[row].offset, bads[row].bytes, bads[row].value);
	queue_expect(c, &x.q, start(&x), T3_DESC_BAD_DESCRIPTOR,
		     sizeof(struct t3_descriptor) + bads[row].blamed);
	CHECK_EQUAL(c, "events of a result", x.result->events, 0);
}

TEST("more or fewer counts than the arguments say are refused", .rows = 3)
{
	static const uint32_t bytes[] = { 4 * COUNTS - 4, 4 * COUNTS + 4, 0 };
	struct run x;

	prepare(c, conf_device(c, 0), &x, T3_TIMED_T3);
	x.d.row_bytes = bytes[row];
	queue_expect(c, &x.q, start(&x), T3_DESC_BAD_DESCRIPTOR,
		     sizeof(struct t3_descriptor) + offsetof(struct t3_timed_args, experts));
}

/* The arguments end within the memory, and their counts do not. */
TEST("counts beyond the memory are out of range")
{
	struct run x;

	prepare(c, conf_device(c, 0), &x, T3_TIMED_T3);
	x.d.src_kind = T3_LOC_MEMORY;
	x.d.src = x.q.dev->memory_bytes - 448;
	queue_expect(c, &x.q, start(&x), T3_DESC_BAD_RANGE, x.d.src);
}

// SPDX-License-Identifier: MIT
/*
 * Every ioctl by one table. Its argument is short, exact and long, has each bit that must be zero
 * set, has values out of range, and is half unmapped. A call that fails has no effect, so the right
 * argument works after it.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "refusal.h"
#include "rows.h"

#define IOCTL_MAX 16383u /* the size field of a request can hold this */

/* --------------------------------------------------------------------- calls */

static int row_fd(const struct row *row, const struct world *world)
{
	return row->at_target ? world->target.fd : world->source.fd;
}

static unsigned long sized(const struct row *row, size_t size)
{
	return _IOC(_IOC_READ | _IOC_WRITE, 'd', _IOC_NR(row->request), size);
}

static size_t row_size(const struct row *row)
{
	return _IOC_SIZE(row->request);
}

static void fill(const struct row *row, struct world *world, uint8_t arg[ROW_ARG_MAX])
{
	CHECK(row_size(row) <= ROW_ARG_MAX);
	memset(arg, 0, ROW_ARG_MAX);
	row->fill(world, arg);
}

static int note(const struct row *row, const char *what, size_t where, int got, int want)
{
	if (got == want)
		return 0;
	fprintf(stderr, "# %s, %s %zu: %d, not %d\n", row->name, what, where, got, want);
	return 1;
}

/* The right argument has its effect. */
static int check_works(const struct row *row, struct world *world)
{
	uint8_t arg[ROW_ARG_MAX];

	fill(row, world, arg);
	return note(row, "exact", row_size(row), call(row_fd(row, world), row->request, arg), 0);
}

/*
 * A call that must fail, keep its argument unchanged, and have no effect. The driver says which
 * field it refused.
 */
static int check_fails(const struct row *row, struct world *world, uint8_t arg[ROW_ARG_MAX],
		       const char *what, size_t where, int error, const char *type,
		       const char *field)
{
	uint8_t before[ROW_ARG_MAX];
	int wrong;

	memcpy(before, arg, ROW_ARG_MAX);
	wrong = note(row, what, where, call(row_fd(row, world), row->request, arg), -error);
	wrong += note(row, "results after", where, memcmp(before, arg, ROW_ARG_MAX) != 0, 0);
	return wrong + refusal_check(row_fd(row, world), row->request, what, error, type, field);
}

/* ---------------------------------------------------------------------- tests */

TEST("the table has each ioctl in the order of its number")
{
	size_t i;

	for (i = 0; i < DRM_T3_IOCTL_COUNT; i++) {
		CHECK(abi_rows[i].fill);
		CHECK_EQ(_IOC_NR(abi_rows[i].request), DRM_COMMAND_BASE + i);
	}
}

/* Run a check with each row, in a world of its own. All failures are reported. */
static void for_each_row(int (*check)(const struct row *row, struct world *world))
{
	const struct snapshot idle = snapshot();
	struct world world;
	int wrong = 0;
	size_t i;

	for (i = 0; i < DRM_T3_IOCTL_COUNT; i++) {
		world_open(&world);
		if (row_works(&abi_rows[i], &world))
			wrong += check(&abi_rows[i], &world);
		world_close(&world);
		/* A finished job frees its memory later, which the next row would see. */
		check_memory(0, idle.free[0]);
		check_memory(1, idle.free[1]);
	}
	CHECK_EQ(wrong, 0);
}

TEST("each ioctl accepts its exact struct")
{
	for_each_row(check_works);
}

/* Bytes after the struct are not read and do not change. */
static int long_result(const struct row *row, size_t size, uint8_t tail)
{
	static uint8_t arg[IOCTL_MAX];
	struct world world;
	size_t i;
	int got;

	world_open(&world);
	if (!row_works(row, &world)) {
		world_close(&world);
		return 0;
	}
	fill(row, &world, arg);
	memset(arg + row_size(row), tail, sizeof(arg) - row_size(row));
	got = call(row_fd(row, &world), sized(row, size), arg);
	for (i = row_size(row); i < sizeof(arg); i++)
		CHECK_EQ(arg[i], tail);
	world_close(&world);
	return got;
}

static int check_long(const struct row *row, uint8_t tail)
{
	size_t size = row_size(row);

	return note(row, "long", size + 1, long_result(row, size + 1, tail), 0) +
	       note(row, "long", size + 64, long_result(row, size + 64, tail), 0) +
	       note(row, "long", IOCTL_MAX, long_result(row, IOCTL_MAX, tail), 0);
}

SLOW_TEST("each ioctl accepts a longer struct that ends in zeros")
{
	int wrong = 0;
	size_t i;

	for (i = 0; i < DRM_T3_IOCTL_COUNT; i++)
		wrong += check_long(&abi_rows[i], 0);
	CHECK_EQ(wrong, 0);
}

SLOW_TEST("each ioctl accepts a longer struct that ends in other bytes")
{
	int wrong = 0;
	size_t i;

	for (i = 0; i < DRM_T3_IOCTL_COUNT; i++)
		wrong += check_long(&abi_rows[i], 0xa5);
	CHECK_EQ(wrong, 0);
}

/* The world stays the same until a call has had its effect. */
static int call_in_world(const struct row *row, struct world *world, size_t size, size_t keep,
			 uint8_t arg[ROW_ARG_MAX])
{
	int got;

	fill(row, world, arg);
	memset(arg + keep, size > keep ? 0 : 0xa5, ROW_ARG_MAX - keep);
	got = call(row_fd(row, world), sized(row, size), arg);
	if (!got) {
		world_close(world);
		world_open(world);
	}
	return got;
}

/* A struct cut short reads as zeros from there on, and nothing is written there. */
static int check_short(const struct row *row, struct world *world)
{
	uint8_t arg[ROW_ARG_MAX];
	size_t size, i;
	int wrong = 0, zeroed;

	for (size = 0; size < row_size(row); size += 4) {
		zeroed = call_in_world(row, world, row_size(row), size, arg);
		wrong += note(row, "short", size, call_in_world(row, world, size, size, arg),
			      zeroed);
		for (i = size; i < ROW_ARG_MAX; i++)
			wrong += note(row, "byte behind short", i, arg[i], 0xa5);
	}
	return wrong;
}

SLOW_TEST("each ioctl handles a short struct as one that ends in zeros")
{
	for_each_row(check_short);
}

/*
 * With more directions than the request has, as hostile callers and those of an older interface
 * use. An IOW's argument is read and never written, so it may be read-only.
 */
static int check_read_only(const struct row *row, struct world *world)
{
	bool returns = row->request & IOC_OUT;
	uint8_t arg[ROW_ARG_MAX], *page;
	int wrong;

	fill(row, world, arg);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	memcpy(page, arg, ROW_ARG_MAX);
	CHECK_EQ(mprotect(page, PAGE, PROT_READ), 0);
	wrong = note(row, "read-only, both directions", row_size(row),
		     call(row_fd(row, world), sized(row, row_size(row)), page),
		     returns ? -EFAULT : 0);
	wrong += note(row, "changed", 0, memcmp(page, arg, ROW_ARG_MAX) != 0, 0);
	munmap(page, PAGE);
	return wrong;
}

TEST("each ioctl handles an argument that cannot be written")
{
	for_each_row(check_read_only);
}

/*
 * With fewer directions: bytes that are not copied in read as zeros, and no result is copied out.
 */
static int check_direction(const struct row *row, struct world *world, unsigned int direction)
{
	uint8_t arg[ROW_ARG_MAX], before[ROW_ARG_MAX];
	unsigned long request = _IOC(direction, 'd', _IOC_NR(row->request), row_size(row));
	bool written = direction & row->request >> _IOC_DIRSHIFT & _IOC_READ;
	int got, zeros;

	memset(arg, 0, sizeof(arg));
	zeros = call(row_fd(row, world), row->request, arg);
	fill(row, world, arg);
	memcpy(before, arg, ROW_ARG_MAX);
	got = call(row_fd(row, world), request, arg);
	return (direction & _IOC_WRITE ? note(row, "direction", direction, got, 0)
				       : note(row, "direction", direction, got, zeros)) +
	       note(row, "changed", direction, !written && memcmp(before, arg, ROW_ARG_MAX) != 0,
		    0);
}

static int check_directions(const struct row *row, struct world *world)
{
	return check_direction(row, world, _IOC_NONE) + check_direction(row, world, _IOC_READ) +
	       check_direction(row, world, _IOC_WRITE);
}

TEST("each ioctl handles wrong direction bits")
{
	for_each_row(check_directions);
}

/* Alone, and together with a handle that does not exist: this error comes first. */
static int check_zero_bit(const struct row *row, struct world *world, const struct field *field,
			  unsigned int bit)
{
	size_t offset = field->offset;
	uint8_t arg[ROW_ARG_MAX];
	int wrong;

	fill(row, world, arg);
	arg[offset + bit / 8] ^= (uint8_t)(1u << bit % 8);
	wrong = check_fails(row, world, arg, "bit of the field at", offset, EINVAL, row->type,
			    field->name);
	if (row->no_handle)
		return wrong;
	memset(arg, 0x7f, 4);
	return wrong + check_fails(row, world, arg, "no handle, bit of the field at", offset,
				   EINVAL, row->type, field->name);
}

static int check_zero_bits(const struct row *row, struct world *world)
{
	struct snapshot before = snapshot(), after;
	unsigned int bit;
	int wrong = 0;
	size_t i;

	for (i = 0; i < MAX_FIELDS; i++)
		for (bit = 0; bit < 8 * row->zero[i].size; bit++)
			if (!(row->zero[i].named & 1ull << bit))
				wrong += check_zero_bit(row, world, &row->zero[i], bit);
	after = snapshot();
	wrong += note(row, "something is left after bit", bit,
		      memcmp(&before, &after, sizeof(before)) != 0, 0);
	return wrong + check_works(row, world);
}

SLOW_TEST("each ioctl refuses bits that must be zero")
{
	for_each_row(check_zero_bits);
}

static int check_bad_values(const struct row *row, struct world *world)
{
	struct snapshot before = snapshot(), after;
	uint8_t arg[ROW_ARG_MAX];
	int wrong = 0;
	size_t i;

	for (i = 0; i < row->bad_count; i++) {
		fill(row, world, arg);
		memcpy(arg + row->bad[i].offset, &row->bad[i].value, row->bad[i].size);
		wrong += check_fails(row, world, arg, row->bad[i].what, i, row->bad[i].error,
				     row->bad[i].type, row->bad[i].field);
	}
	after = snapshot();
	wrong += note(row, "something is left after value", i,
		      memcmp(&before, &after, sizeof(before)) != 0, 0);
	return wrong + check_works(row, world);
}

SLOW_TEST("each ioctl refuses values out of range")
{
	for_each_row(check_bad_values);
}

/* An argument that crosses the end of the last mapped page. */
static int check_half_there(const struct row *row, struct world *world)
{
	uint8_t arg[ROW_ARG_MAX], *pages;
	size_t there;
	int wrong = 0;

	pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	CHECK_EQ(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	fill(row, world, arg);
	for (there = 0; there < row_size(row); there += 4) {
		memcpy(pages + PAGE - there, arg, there);
		wrong +=
			note(row, "bytes there", there,
			     call(row_fd(row, world), row->request, pages + PAGE - there), -EFAULT);
		wrong += refusal_check(row_fd(row, world), row->request, "half mapped", EFAULT,
				       "ioctl", "argp");
	}
	munmap(pages, 2 * PAGE);
	return wrong + check_works(row, world);
}

TEST("each ioctl refuses an argument that is half unmapped")
{
	for_each_row(check_half_there);
}

int main(void)
{
	int ret = test_run(NULL, NULL);

	refusal_report();
	return ret;
}

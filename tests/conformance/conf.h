/* SPDX-License-Identifier: MIT */
/*
 * The interface with which the sections of the conformance suite are written. It acts on hardware
 * through VFIO, or on the model in this process. Nothing depends on how the device is made.
 *
 * A test that finds a deviation ends by conf_fail(), which does not return. So checks need no error
 * paths. All devices in use are reset before each test.
 */
#ifndef T3_CONFORMANCE_CONF_H
#define T3_CONFORMANCE_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../common/sentence.h"
#include "t3_hw.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif

struct conf;

/* ------------------------------------------------------- tests and sections */

struct conf_test {
	const char *name;
	void (*run)(struct conf *c, unsigned row);
	unsigned rows; /* a table's rows, each a test of its own; 0: no table */
	const char *(*label)(unsigned row); /* one word; NULL: the row's number */
	unsigned devices;		    /* needed, each linked to the next; 0 is 1 */
	unsigned needs;			    /* CONF_STEP and so on */
	int line;
	struct conf_test *next;
};

/* Capabilities of some hosts and devices. A test that needs one is skipped by name without it. */
enum conf_capability {
	CONF_STEP = 1u << 0,	/* the host holds the devices' work and does it event by event */
	CONF_WATCH = 1u << 1,	/* the host sees each DMA write and interrupt, in order */
	CONF_TRACKER = 1u << 2, /* the host makes devices with another tracker */
	CONF_INJECT = 1u << 3,	/* the devices have CAPS.INJECT */
	CONF_SWITCH = 1u << 4,	/* TOPOLOGY of the devices is switch */
};

struct conf_section {
	const char *number; /* in SPEC.md */
	const char *title;
	struct conf_test *tests;
	struct conf_section *next;
};

void conf_section_add(struct conf_section *section);
void conf_test_add(struct conf_section *section, struct conf_test *test);

/* Once in a file, before its tests. */
#define CONF_SECTION(number_, title_)                                                     \
	static struct conf_section this_section = { .number = number_, .title = title_ }; \
	__attribute__((constructor)) static void register_section(void)                   \
	{                                                                                 \
		conf_section_add(&this_section);                                          \
	}                                                                                 \
	struct conf_section

/*
 * A test, by a sentence that says the behaviour, and members of struct conf_test where it needs them:
 *
 *	TEST("a reset of the target ends its source", .rows = 2, .devices = 2)
 *	{
 *		...
 *	}
 *
 * The body has `c`, the run, and `row`, the row of the table.
 */
#define TEST(...)	     TEST_AT(__LINE__, __VA_ARGS__)
#define TEST_AT(number, ...) TEST_AS(number, __VA_ARGS__)
#define TEST_AS(number, sentence, ...)                                                        \
	TEST_IS_SENTENCE(sentence);                                                           \
	static void test_##number(struct conf *c, unsigned row);                              \
	__attribute__((constructor)) static void register_##number(void)                      \
	{                                                                                     \
		static struct conf_test test = {                                              \
			.name = sentence, .run = test_##number, .line = number, ##__VA_ARGS__ \
		};                                                                            \
		conf_test_add(&this_section, &test);                                          \
	}                                                                                     \
	static void test_##number(struct conf *c __attribute__((unused)),                     \
				  unsigned row __attribute__((unused)))

/* End the test: by a deviation, or by a reason why this device cannot run it. */
_Noreturn void conf_fail(struct conf *c, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
_Noreturn void conf_skip(struct conf *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define CHECK(c, condition, ...)                                       \
	do {                                                           \
		if (!(condition))                                      \
			conf_fail(c, __FILE__, __LINE__, __VA_ARGS__); \
	} while (0)

#define CHECK_EQUAL(c, what, got, wanted) \
	conf_equal(c, __FILE__, __LINE__, what, (uint64_t)(got), (uint64_t)(wanted))

void conf_equal(struct conf *c, const char *file, int line, const char *what, uint64_t got,
		uint64_t wanted);

/* ------------------------------------------------------------------ devices */

struct conf_host;

/*
 * An access to a BAR goes by conf_read() and the like: there may be no memory behind these addresses,
 * as a device need not be on this machine's bus.
 */
struct conf_device {
	char bdf[16];
	int group_fd, fd;
	volatile uint8_t *regs, *memory, *aperture;
	uint64_t regs_bytes, memory_bytes, aperture_bytes;
	uint64_t config_offset;	    /* of configuration space in fd */
	int vector[T3_MAX_VECTORS]; /* eventfds */
	unsigned vectors;	    /* given to the function */
	struct conf_host *host;	    /* of the way to it, or NULL */
	uint64_t fabric;
	uint32_t rank, ranks, topology;
	/* The resources that the running test has taken, all zero at its start. */
	uint64_t memory_used, aperture_used;
	uint32_t spaces_used;
	/* An interrupt from before a reset may still arrive. */
	bool late;
	bool remade; /* by conf_tracker() */
};

/* Devices of the running test, with those that it asked for first; count >= those. */
struct conf_device *conf_device(struct conf *c, unsigned index);
unsigned conf_devices(const struct conf *c);

uint32_t conf_config(struct conf *c, struct conf_device *d, uint32_t offset, unsigned bytes);
void conf_config_write(struct conf *c, struct conf_device *d, uint32_t offset, unsigned bytes,
		       uint32_t value);
void conf_bus_master(struct conf *c, struct conf_device *d, bool on);
void conf_flr(struct conf *c, struct conf_device *d);
void conf_reset(struct conf_device *d); /* CONTROL.RESET */

/* Aligned accesses of 1, 2, 4 or 8 bytes, each one access on the bus. */
uint64_t conf_read(const volatile uint8_t *base, uint64_t offset, unsigned bytes);
void conf_write(volatile uint8_t *base, uint64_t offset, unsigned bytes, uint64_t value);
/* Many bytes of device memory or of a page, by accesses of any width. */
void conf_get(const volatile uint8_t *base, void *to, size_t bytes);
void conf_put(volatile uint8_t *base, const void *from, size_t bytes);

/* A field of a structure that is the test's own. Host and device are little-endian. */
static inline void conf_replace(void *structure, size_t offset, size_t bytes, uint64_t value)
{
	memcpy((uint8_t *)structure + offset, &value, bytes);
}

static inline uint32_t conf_reg(struct conf_device *d, uint32_t offset)
{
	return (uint32_t)conf_read(d->regs, offset, 4);
}

static inline uint64_t conf_reg64(struct conf_device *d, uint32_t offset)
{
	return conf_read(d->regs, offset, 8);
}

static inline void conf_reg_write(struct conf_device *d, uint32_t offset, uint32_t value)
{
	conf_write(d->regs, offset, 4, value);
}

static inline uint64_t conf_counter(struct conf_device *d, enum t3_counter_id id)
{
	return conf_reg64(d, T3_REG_COUNTERS + 8 * (uint32_t)id);
}

/* Whether the device has set ERROR_STATUS.GUEST since the last call. */
bool conf_guest_error(struct conf_device *d);

/* -------------------------------------------------- host memory, interrupts */

/* One page that devices reach at *iova. unmap removes it from them for this test. */
void *conf_page(struct conf *c, uint64_t *iova);
void conf_unmap(struct conf *c, uint64_t iova);
/* Map again what was unmapped. The pages stay the test's. */
void conf_pages_map(struct conf *c);

/* Give the function `count` MSI-X vectors; every test starts with all four. */
void conf_vectors(struct conf *c, struct conf_device *d, unsigned count);
/* The number of interrupts on that vector since the last call. Waits for the first one. */
uint64_t conf_interrupts(struct conf *c, struct conf_device *d, unsigned vector);
/* As above, but waits no longer than a device may take for its earlier actions. */
uint64_t conf_interrupts_now(struct conf *c, struct conf_device *d, unsigned vector);

/* --------------------------------------------------- what only some hosts have */

/*
 * CONF_STEP. From conf_hold() on, links and engines do nothing but conf_step()'s events, so a test
 * that waits lets them go first. conf_step() returns whether there is more to do. An access does all
 * that it does itself.
 */
void conf_hold(struct conf *c);
bool conf_step(struct conf *c, unsigned events);
/* Do all that is left, and hold no longer. */
void conf_let_go(struct conf *c);

/* CONF_WATCH. A write to host memory, or an interrupt. */
struct conf_action {
	uint64_t iova;
	size_t bytes;	 /* 0: an interrupt */
	uint32_t vector; /* of the interrupt */
	uint64_t seen;	 /* device memory at the watched offset, when it came */
};

#define CONF_ACTIONS 64u

/* Begin anew, and note the 8 bytes of device memory at `offset` with each action. */
void conf_watch(struct conf_device *d, uint64_t offset);
/* The actions since then, of which the first CONF_ACTIONS are kept. */
unsigned conf_watched(struct conf_device *d, const struct conf_action **actions);

/* CONF_TRACKER. The device, as after its making, with such a tracker for the running test. */
void conf_tracker(struct conf *c, struct conf_device *d, uint32_t entries, uint32_t ways);

/* ------------------------------------------------------------------ waiting */

struct conf_deadline {
	uint64_t end; /* ns */
};

struct conf_deadline conf_deadline(const struct conf *c);
/* Sleeps a little; false when the time is up. */
bool conf_pause(const struct conf_deadline *deadline);

/* ----------------------------------------------------------- admin commands */

/* Runs a command; its results replace the arguments. Returns ADMIN_STATUS. */
uint32_t conf_admin(struct conf_device *d, uint32_t opcode, void *args, size_t bytes);

#define ADMIN(c, d, opcode, args)                                                          \
	CHECK_EQUAL(c, "status of " #opcode, conf_admin(d, opcode, args, sizeof(*(args))), \
		    T3_ADMIN_OK)

/* A command that must fail with that status, or be OK. One that fails changes nothing at all. */
void conf_try(struct conf *c, struct conf_device *d, uint32_t opcode, const void *args,
	      size_t bytes, uint32_t status);

/* One field of the arguments of a good command is replaced. */
struct conf_change {
	const char *name;
	size_t offset, bytes;
	uint64_t value;
	uint32_t status;
};

#define CONF_FIELD(type, field) offsetof(struct type, field), sizeof(((struct type *)0)->field)

static inline void conf_change(void *args, const struct conf_change *change)
{
	conf_replace(args, change->offset, change->bytes, change->value);
}

/* ---------------------------------------------------------- spaces, segments */

struct conf_space {
	struct conf_device *dev;
	struct t3_cmd_space_create args; /* space, generation, ranges */
	volatile struct t3_event_area *events;
};

/*
 * Arguments of a valid SPACE_CREATE with fresh ranges: `bytes` of a space and its buffer, and
 * `records` zeroed counter records.
 */
void conf_space_prepare(struct conf *c, struct conf_device *d, struct conf_space *s, uint64_t bytes,
			uint32_t records);
void conf_space_create(struct conf *c, struct conf_device *d, struct conf_space *s, uint64_t bytes,
		       uint32_t records);
struct t3_cmd_space conf_space_command(struct conf *c, struct conf_space *s, uint32_t opcode);
/* One page, one LOCAL i32 segment of 16 elements in two tiles, one update each. */
void conf_space_simple(struct conf *c, struct conf_device *d, struct conf_space *s);

/* A LOCAL i32 segment, op ADD from identity, one row of 64 bytes in two tiles. */
struct t3_cmd_seg_map conf_segment(const struct conf_space *s, uint32_t segment);
void conf_map(struct conf *c, struct conf_space *s, const struct t3_cmd_seg_map *segment);

/* `slots` staging slots of a segment at that offset of the buffer. */
void conf_stage(struct conf *c, struct conf_space *s, uint32_t segment, uint64_t offset,
		uint64_t stride, uint32_t slots);
/* Accumulators of a segment at that offset of the buffer. Without CAPS.WIDEN the test is skipped. */
void conf_widen(struct conf *c, struct conf_space *s, uint32_t segment, uint64_t offset);
struct t3_cmd_seg_stats conf_stats(struct conf *c, struct conf_space *s, uint32_t segment);
struct t3_cmd_tile_query conf_tile_query(struct conf *c, struct conf_space *s, uint32_t segment,
					 uint32_t tile, uint32_t tiles);
/* Record `index` of the counter table, as it is in memory. */
struct t3_tile_record conf_record(struct conf_space *s, uint32_t index);

/* route of `s` to `to`, through import `import` there, which allows everything. */
void conf_connect(struct conf *c, struct conf_space *s, uint32_t route, struct conf_space *to,
		  uint32_t import);

volatile uint8_t *conf_doorbell(const struct conf_space *s);
void conf_arm(struct conf_space *s, uint32_t epoch);
/* A device may refuse the space's own updates before it is ARMED, which may take a while. */
void conf_arm_wait(struct conf *c, struct conf_space *s, uint32_t epoch);
void conf_release(struct conf_space *s, uint32_t epoch);
void conf_tile(struct conf_space *s, uint32_t segment, uint32_t slot, uint32_t tile);
uint64_t conf_state(const struct conf_space *s); /* STATE of the doorbell page */

void conf_store(struct conf_space *s, uint64_t offset, unsigned bytes, uint64_t value);
uint64_t conf_load(struct conf_space *s, uint64_t offset, unsigned bytes);
/* The buffer behind the space, through BAR2. */
uint64_t conf_buffer(struct conf_space *s, uint64_t offset, unsigned bytes);
void conf_buffer_write(struct conf_space *s, uint64_t offset, unsigned bytes, uint64_t value);
void conf_memory_fill(struct conf_device *d, uint64_t offset, uint64_t bytes, uint64_t word);

#define STATE(state, epoch) ((uint64_t)(state) << 32 | (uint32_t)(epoch))

/* Wait until event area and STATE both have that state. */
void conf_wait_state(struct conf *c, struct conf_space *s, uint32_t state, uint32_t epoch);
/* Check that the space is FAULTED with a first fault of this kind. Returns the record. */
struct t3_fault_record conf_wait_fault(struct conf *c, struct conf_space *s, uint32_t kind);
/* The same, of an access of this device, with the place. CONF_NO_TILE: none. */
void conf_expect_fault(struct conf *c, struct conf_space *s, uint32_t kind, uint32_t segment,
		       uint32_t tile, uint64_t offset);
#define CONF_NO_SEGMENT 0xffffffffu
#define CONF_NO_TILE	0xffffffffu
#define CONF_NO_OFFSET	(~0ull)

/*
 * Order what the device sees, or what it wrote. Compilers order threads alone, which on arm64 does
 * not reach a device.
 */
static inline void conf_barrier(void)
{
#ifdef __aarch64__
	__asm__ volatile("dmb osh" ::: "memory");
#else
	__sync_synchronize();
#endif
}

/* Wait until the 64-bit word at `word` in host memory is `wanted`. */
void conf_wait_word(struct conf *c, const volatile uint64_t *word, uint64_t wanted,
		    const char *what);
void conf_wait_counter(struct conf *c, struct conf_device *d, enum t3_counter_id id,
		       uint64_t wanted, const char *what);

#endif

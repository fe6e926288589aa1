/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Helpers of the T3 qtests: a q35 machine with T3 devices. */
#ifndef T3_TEST_H
#define T3_TEST_H

#include "tests/qtest/libqtest.h"
#include "tests/qtest/libqos/pci.h"
#include "t3_hw.h"

#define MIB		0x100000ull
#define T3_TEST_DEVICES 4 /* ranks of the fabric, unless a test says otherwise */

/* Sizes that differ from the defaults and from each other. */
#define TEST_MEMORY   (64 * MIB)
#define TEST_APERTURE (32 * MIB)

/* Guest memory that the tests use. */
#define EVENT_BASE 0x1000000ull /* event area of space slot k: dev_event() */
#define MSI_BASE   0x4000000ull /* where MSI-X messages are sent: dev_msi() */

/* Where dev_map() puts the BARs of rank r, and what a bridge above it has to pass. */
#define REGS_BASE   0xc0000000ull
#define REGS_WINDOW 0x1000000ull
#define BIG_BASE    0x40ull /* upper half of the address of BAR2 and BAR4, plus r */

struct t3_vm;

struct t3_test_dev {
	struct t3_vm *vm;
	QTestState *qts;
	QPCIDevice pci;
	uint32_t rank;
	uint64_t regs, memory, aperture; /* bus addresses; dev_map() sets them */
};

struct t3_vm {
	QTestState *qts;
	QPCIBus *bus;
	unsigned int count;
	struct t3_test_dev dev[T3_MAX_RANKS];
};

/* ----------------------------------------------------------------- machine */

/* `count` devices in slots 4.. of pcie.0 on ring fabric f0; more options may follow. */
struct t3_vm *vm_start(unsigned int count, const char *options);
/* Without a device: the command line has all options. */
struct t3_vm *vm_start_raw(const char *options);
void vm_end(struct t3_vm *vm);
/* Check that the answer is an error whose text has all of the words. */
void qmp_expect_error(struct t3_vm *vm, QDict *response, const char *word,
		      ...) G_GNUC_NULL_TERMINATED;
/* -object and -device for a test's own command line. The device's place follows. */
GString *fabric_options(unsigned int ranks);
/* The same with another topology, and whatever properties follow it. */
GString *fabric_options_of(const char *topology, unsigned int ranks);
void device_options(GString *options, unsigned int rank);
/* The next rank is at this place: bus << 8 | devfn. */
void vm_add_dev(struct t3_vm *vm, int devfn);

/* -------------------------------------------------------- bridges (t3-test-bus.c) */

/* Device i sits behind root port rp<i>, for hot-plug. */
struct t3_vm *vm_start_ports(unsigned int count, const char *options);
/* The same, but eight root ports to a slot, on a ring of `count`. */
struct t3_vm *vm_start_multifunction(unsigned int count);
/* Device i sits behind downstream port dp<i> of one switch. */
struct t3_vm *vm_start_switch(unsigned int count);
/* The machine, stopped, in a second QEMU (t3-migrate-test.c). */
struct t3_vm *vm_migrate(struct t3_vm *vm);
/* Into one that was started with -incoming defer and goes on then. */
void vm_move_to(struct t3_vm *vm, struct t3_vm *other);
void port_power(struct t3_vm *vm, unsigned int port, bool on);
/* Hot-plug at root port rp<rank>; a new device is mapped. */
void dev_unplug(struct t3_vm *vm, unsigned int rank);
void dev_plug(struct t3_vm *vm, unsigned int rank);
/* By surprise, anywhere. */
void dev_take_out(struct t3_vm *vm, unsigned int rank);
/* Secondary bus reset by root port rp<port>. */
void port_reset(struct t3_vm *vm, unsigned int port);
/* Config space through ECAM, where also the extended capabilities are. */
uint32_t ecam_read(struct t3_vm *vm, int devfn, unsigned int offset, unsigned int size);
void ecam_write(struct t3_vm *vm, int devfn, unsigned int offset, unsigned int size,
		uint32_t value);

/* ------------------------------------------------------------------ device */

/* Only set where dev_map() puts the BARs, because another VM has mapped them. */
void dev_place(struct t3_test_dev *dev);
/* The function answers there. dev_map() also reads its ID. */
void dev_enable(struct t3_test_dev *dev);
void dev_map(struct t3_test_dev *dev);
void dev_flr(struct t3_test_dev *dev);
uint8_t dev_cap(struct t3_test_dev *dev, uint8_t id);

uint32_t reg_read(struct t3_test_dev *dev, uint64_t offset);
uint64_t reg_read64(struct t3_test_dev *dev, uint64_t offset);
void reg_write(struct t3_test_dev *dev, uint64_t offset, uint32_t value);
/* Reads and clears. */
uint32_t errors_take(struct t3_test_dev *dev);
uint64_t counter(struct t3_test_dev *dev, enum t3_counter_id id);

void mem_write(struct t3_test_dev *dev, uint64_t offset, const void *buf, size_t len);
void mem_read(struct t3_test_dev *dev, uint64_t offset, void *buf, size_t len);

/* All vectors: message 0xc0de0000 | rank << 8 | vector to dev_msi(). */
void msix_setup(struct t3_test_dev *dev);
void msix_mask(struct t3_test_dev *dev, unsigned int vector, bool mask);
bool msix_pending(struct t3_test_dev *dev, unsigned int vector);
uint64_t dev_msi(struct t3_test_dev *dev, unsigned int vector);
/* Whether the vector has been sent since the last call. */
bool msix_take(struct t3_test_dev *dev, unsigned int vector);

/* ------------------------------------------------------------------- admin */

/* Runs a command; args are copied back. */
enum t3_admin_status admin(struct t3_test_dev *dev, enum t3_admin_opcode opcode, void *args,
			   size_t size);
/* The same, and it must succeed. */
void admin_ok(struct t3_test_dev *dev, enum t3_admin_opcode opcode, void *args, size_t size);

/* ------------------------------------------------------------------ spaces */

/*
 * Space slot k of a device: SPACE_SIZE of aperture and buffer, STAGING_SIZE of
 * staging memory, SPACE_RECORDS counters.
 */
#define SPACE_SIZE    (4 * MIB)
#define STAGING_SIZE  (2 * MIB)
#define STAGING_BASE  (32 * MIB)
#define COUNTERS_BASE (48 * MIB)
#define COUNTERS_SIZE 0x10000ull
#define SPACE_RECORDS 1024u

struct t3_test_space {
	struct t3_test_dev *dev;
	uint32_t id;
	uint32_t generation;
	unsigned int slot;
	uint64_t aperture; /* bus address of byte 0 */
	uint64_t buffer;   /* in device memory */
	uint64_t staging;  /* in device memory */
	uint64_t counters; /* in device memory */
	uint64_t event;	   /* guest memory */
};

/* What SPACE_CREATE is given for a slot. */
struct t3_cmd_space_create space_args(struct t3_test_dev *dev, uint32_t id, unsigned int slot);
struct t3_test_space space_create(struct t3_test_dev *dev, uint32_t id, unsigned int slot);
struct t3_cmd_space space_query(struct t3_test_dev *dev, uint32_t id);
void space_route(struct t3_test_space *from, struct t3_test_space *to);	 /* route 0 */
void space_import(struct t3_test_space *to, struct t3_test_space *from); /* import 0 */
void space_enable_event(struct t3_test_space *space);

/* One row of `bytes`, one tile, i32 ADD IDENTITY; change before seg_map(). */
struct t3_cmd_seg_map seg_args(struct t3_test_space *space, uint32_t segment, uint64_t offset,
			       uint32_t bytes, enum t3_segment_kind kind, uint32_t updates);
void seg_map(struct t3_test_space *space, const struct t3_cmd_seg_map *args);
void seg_staging(struct t3_test_space *space, uint32_t segment, uint32_t stride, uint32_t slots);

void db_arm(struct t3_test_space *space, uint32_t epoch);
void db_release(struct t3_test_space *space, uint32_t epoch);
void db_tile(struct t3_test_space *space, uint32_t segment, uint32_t slot, uint32_t tile);
uint64_t db_state(struct t3_test_space *space);

void store32(struct t3_test_space *space, uint64_t offset, uint32_t value);
void store64(struct t3_test_space *space, uint64_t offset, uint64_t value);

struct t3_event_area event_read(struct t3_test_space *space);
void expect_state(struct t3_test_space *space, enum t3_space_state state, uint32_t epoch);
/* Waits up to 5 s. */
void wait_state(struct t3_test_space *space, enum t3_space_state state, uint32_t epoch);
void expect_fault(struct t3_test_space *space, enum t3_fault_kind kind);
/* The segment word of `epoch` with both bits. */
void expect_delivered(struct t3_test_space *space, uint32_t segment, uint32_t epoch);

/* An armed space with one LOCAL i32 ADD segment of `bytes`, tiles of `tile` bytes. */
struct t3_test_space local_space(struct t3_test_dev *dev, uint32_t id, unsigned int slot,
				 uint32_t bytes, uint32_t tile, uint32_t updates);

/* A REMOTE segment of `bytes` and its LOCAL target, one tile, both spaces armed. */
struct t3_test_pair {
	struct t3_test_space source, target;
};
struct t3_test_pair remote_pair(struct t3_test_dev *source, struct t3_test_dev *target,
				unsigned int slot, uint32_t bytes);
/* Stores the whole segment; both spaces become COMPLETE with the data at the target. */
void pair_complete(struct t3_test_pair *pair, uint32_t bytes);

/* -------------------------------------------------------- rings (t3-test-ring.c) */

#define RING	 T3_TEST_DEVICES
#define RING_BIG 0x100000u /* 1024 packets for each hop: more events than one access drains */

/*
 * Reduce-scatter: chunk c starts on rank c + 1, passes each rank and stays on
 * rank c. Segment c of each space is chunk c, of `bytes`.
 */
struct t3_test_ring {
	struct t3_test_space space[RING];
	uint32_t bytes;
};

struct t3_test_ring ring_open(struct t3_vm *vm, uint32_t bytes);
void ring_arm(struct t3_test_ring *ring, uint32_t epoch);
/* What a rank adds to a word of the whole array. */
uint32_t ring_value(uint32_t epoch, uint32_t rank, uint32_t word);
/* Waits for the end and compares every word with the sum; no device has an error. */
void ring_check(struct t3_test_ring *ring, uint32_t epoch);
/* Every rank stores its whole array, the ranks interleaved word by word. */
void ring_store(struct t3_test_ring *ring, uint32_t epoch);
/* Fill a rank's staging slots. A doorbell for each chunk must follow. */
void ring_stage(struct t3_test_ring *ring, uint32_t epoch, uint32_t rank);
void ring_release(struct t3_test_ring *ring, uint32_t epoch);
/* All hops but the first of each chunk. The doorbells of ring_fire() start the rest. */
void ring_load(struct t3_test_ring *ring, uint32_t epoch);
void ring_fire(struct t3_test_ring *ring, uint32_t chunk);
/* Whether chunk 0 has arrived at its owner. It reads only guest memory. */
bool chunk_arrives(struct t3_test_ring *ring, unsigned int tries);

/* A word of chunk 0 at rank 3, from memory, because a register access runs the fabric. */
uint32_t ring_arrived(struct t3_test_ring *ring, uint32_t word);
#define RING_LAST (RING_BIG / 4 - 1)
/* Stops the VM with chunk 0 on its way: rank 2 has sent a part of it, rank 3 has that. */
struct t3_test_ring ring_in_flight(struct t3_vm *vm);

/* ------------------------------------------------------ nodes (t3-test-nodes.c) */

#define T3_TEST_UUID "6f1d2c3e-0000-4000-8000-0123456789ab"

/* Where two nodes meet. */
struct t3_test_place {
	char *folder;
	char *address;	     /* of node 0, in JSON */
	char *path;	     /* of its Unix socket */
	const char *more;    /* properties of the fabric, in JSON; NULL: none */
	const char *objects; /* options of QEMU; NULL: none */
};

struct t3_test_place place_new(void);
void place_free(struct t3_test_place *place);
/* The address becomes a TCP port of this machine that was free a moment ago. */
void place_on_tcp(struct t3_test_place *place);
/* Node i has rank i alone. */
struct t3_vm *node_start(const struct t3_test_place *place, unsigned int node);
/* A port of this machine that was free a moment ago, and an address with it, in JSON. */
uint16_t tcp_port(void);
char *tcp_address(uint16_t port);
/* The fabric's property inject takes the text. */
void node_inject(struct t3_vm *vm, const char *text);
/* Wait until `status` shows this state of the connection. */
void await_node_state(struct t3_vm *vm, const char *state);
/* The connection to the other node, as `status` shows it. To be freed. */
QDict *node_peer(struct t3_vm *vm);

/* ------------------------------------------------------ records (t3-record-test.c) */

/* A unique name of a file that does not exist. To be freed. */
char *record_name(void);
/* t3 sim replays the file, and the word is in its output. */
void record_replay(const char *file, const char *word);

/* ------------------------------------------------------------------- tests */

void add_pci_tests(void);
void add_caps_tests(void);
void add_power_tests(void);
void add_topology_tests(void);
void add_host_dma_tests(void);
void add_irq_tests(void);
void add_fabric_tests(void);
void add_reset_tests(void);
void add_status_tests(void);
void add_blind_tests(void);
void add_help_tests(void);
void add_lock_tests(void);
void add_thread_tests(void);
void add_nodes_tests(void);
void add_node_status_tests(void);
void add_node_fault_tests(void);
void add_node_proxy_tests(void);
void add_node_stranger_tests(void);
void add_ring_tests(void);
void add_tls_tests(void);
void add_nodes_perf(void);
void add_removal_tests(void);
void add_again_tests(void);
void add_flight_tests(void);
void add_inject_tests(void);
void add_migrate_tests(void);
void add_queue_tests(void);
void add_gemm_tests(void);
void add_timed_tests(void);
void add_hostile_tests(void);
void add_record_tests(void);
void add_switch_tests(void);

#endif /* T3_TEST_H */

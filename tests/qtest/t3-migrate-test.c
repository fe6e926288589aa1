/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: migration to a second QEMU in the middle of a reduce-scatter, snapshots,
 * and streams that are refused.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "t3-test.h"

/* --------------------------------------------------------------- two machines */

/*
 * Devices as vm_start() makes them, except the fabric's ranks and more properties. None of their
 * registers has been read.
 */
static struct t3_vm *vm_unread(unsigned int count, unsigned int ranks, const char *properties,
			       const char *options)
{
	GString *all = fabric_options(ranks);
	struct t3_vm *vm;
	unsigned int i;

	for (i = 0; i < count; i++) {
		device_options(all, i);
		g_string_append_printf(all, ",addr=%u%s ", i + 4, properties);
	}
	g_string_append(all, options);
	vm = vm_start_raw(all->str);
	g_string_free(all, true);
	for (i = 0; i < count; i++) {
		vm_add_dev(vm, QPCI_DEVFN(i + 4, 0));
		dev_place(&vm->dev[i]);
	}
	return vm;
}

static void enable_all(struct t3_vm *vm)
{
	unsigned int i;

	for (i = 0; i < vm->count; i++)
		dev_enable(&vm->dev[i]);
}

static struct t3_vm *vm_incoming(unsigned int count, unsigned int ranks, const char *properties,
				 const char *options)
{
	g_autofree char *all = g_strdup_printf("-incoming defer %s", options);

	return vm_unread(count, ranks, properties, all);
}

/* The status at the end of an outgoing or incoming migration. */
static char *migration_end(struct t3_vm *vm)
{
	unsigned int tries = 10000;

	while (tries--) {
		QDict *info =
			qtest_qmp_assert_success_ref(vm->qts, "{ 'execute': 'query-migrate' }");
		g_autofree char *status = g_strdup(qdict_get_try_str(info, "status"));

		qobject_unref(info);
		if (g_strcmp0(status, "completed") == 0 || g_strcmp0(status, "failed") == 0)
			return g_steal_pointer(&status);
		g_usleep(1000);
	}
	g_error("the migration does not end");
}

static char *stream_path(const char *name)
{
	return g_strdup_printf("%s/t3-migrate-%d-%s", g_get_tmp_dir(), getpid(), name);
}

static void save_to(struct t3_vm *vm, const char *path)
{
	g_autofree char *uri = g_strdup_printf("file:%s", path);
	g_autofree char *status = NULL;

	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'migrate', 'arguments': { 'uri': %s } }",
				 uri);
	status = migration_end(vm);
	g_assert_cmpstr(status, ==, "completed");
}

static char *load_from(struct t3_vm *vm, const char *path)
{
	g_autofree char *uri = g_strdup_printf("file:%s", path);

	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'migrate-incoming', 'arguments': "
				 "{ 'uri': %s, 'exit-on-error': false } }",
				 uri);
	return migration_end(vm);
}

struct t3_vm *vm_migrate(struct t3_vm *vm)
{
	struct t3_vm *other = vm_incoming(vm->count, T3_TEST_DEVICES, "", "");
	g_autofree char *path = stream_path("good");
	g_autofree char *status = NULL;

	save_to(vm, path);
	status = load_from(other, path);
	g_assert_cmpstr(status, ==, "completed");
	unlink(path);
	return other;
}

static void cont(struct t3_vm *vm)
{
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'cont' }");
}

/* The same spaces, in another machine. */
static struct t3_test_ring ring_in(const struct t3_test_ring *ring, struct t3_vm *vm)
{
	struct t3_test_ring moved = *ring;
	unsigned int i;

	for (i = 0; i < RING; i++)
		moved.space[i].dev = &vm->dev[i];
	return moved;
}

/* ------------------------------------------------------------------- in flight */

/*
 * Returns the virtual time at which chunk 0 had arrived. The others have no fixed time, because the
 * CPU sends them.
 */
static uint64_t finish(struct t3_test_ring *ring)
{
	struct t3_test_dev *dev = ring->space[0].dev;
	unsigned int chunk;
	uint64_t clock;

	g_assert_true(chunk_arrives(ring, 5000));
	reg_read64(dev, T3_REG_VCLOCK); /* the last responses */
	clock = reg_read64(dev, T3_REG_VCLOCK);
	for (chunk = 1; chunk < RING; chunk++)
		ring_fire(ring, chunk);
	ring_check(ring, 1);
	ring_release(ring, 1);
	return clock;
}

static void expect_same(struct t3_vm *a, struct t3_vm *b)
{
	unsigned int rank, id;

	for (rank = 0; rank < RING; rank++) {
		for (id = 0; id < T3_COUNTER_COUNT; id++)
			g_assert_cmpuint(counter(&a->dev[rank], id), ==,
					 counter(&b->dev[rank], id));
		g_assert_cmpuint(reg_read64(&a->dev[rank], T3_REG_FABRIC_ID), ==,
				 reg_read64(&b->dev[rank], T3_REG_FABRIC_ID));
	}
}

/* Both machines go on from there, with the same bits, counts and time. */
static void test_in_flight(void)
{
	struct t3_vm *vm = vm_start(RING, ""), *other;
	struct t3_test_ring ring = ring_in_flight(vm), moved;
	unsigned int chunk;

	other = vm_migrate(vm);
	moved = ring_in(&ring, other);
	g_assert_cmphex(ring_arrived(&moved, RING_LAST), ==, ring_arrived(&ring, RING_LAST));
	cont(vm);
	cont(other);
	g_assert_cmpuint(finish(&ring), ==, finish(&moved));
	expect_same(vm, other);
	ring_arm(&moved, 2);
	ring_load(&moved, 2);
	for (chunk = 0; chunk < RING; chunk++)
		ring_fire(&moved, chunk);
	ring_check(&moved, 2);
	vm_end(other);
	vm_end(vm);
}

/* Messages that wait behind a mask, and software's settings, are migrated. */
static void test_interrupt(void)
{
	struct t3_vm *vm = vm_start(1, ""), *other;
	struct t3_test_space space = local_space(&vm->dev[0], 37, 0, 64, 8, 1);

	msix_setup(&vm->dev[0]);
	reg_write(&vm->dev[0], T3_REG_EVENT_VECTOR, 3);
	reg_write(&vm->dev[0], T3_REG_SPACE_PENDING + 4, ~0u);
	space_enable_event(&space);
	msix_mask(&vm->dev[0], 3, true);
	store64(&space, 0, 1);
	reg_write(&vm->dev[0], T3_REG_CONTROL, 0);
	g_assert_false(msix_pending(&vm->dev[0], 3));
	store64(&space, 1024, 1); /* outside: a fault */
	g_assert_true(msix_pending(&vm->dev[0], 3));
	other = vm_migrate(vm);
	cont(other);
	g_assert_true(msix_pending(&other->dev[0], 3));
	g_assert_false(msix_take(&other->dev[0], 3));
	msix_mask(&other->dev[0], 3, false);
	g_assert_true(msix_take(&other->dev[0], 3));
	g_assert_cmphex(reg_read(&other->dev[0], T3_REG_EVENT_SUMMARY), ==, 1u << 1);
	space.dev = &other->dev[0];
	expect_state(&space, T3_SPACE_FAULTED, 1);
	vm_end(other);
	vm_end(vm);
}

/* And so are messages that wait for bus mastering. */
static void test_held_interrupt(void)
{
	struct t3_vm *vm = vm_start(1, ""), *other;
	struct t3_test_dev *dev = &vm->dev[0];

	msix_setup(dev);
	reg_write(dev, T3_REG_ERROR_VECTOR, 1);
	reg_write(dev, T3_REG_ERROR_ENABLE, T3_ERROR_GUEST);
	errors_take(dev);
	qpci_config_writew(&dev->pci, PCI_COMMAND, PCI_COMMAND_MEMORY);
	reg_read(dev, 0xfc); /* no register */
	g_assert_true(msix_pending(dev, 1));
	other = vm_migrate(vm);
	cont(other);
	dev = &other->dev[0];
	g_assert_true(msix_pending(dev, 1));
	g_assert_false(msix_take(dev, 1));
	qpci_config_writew(&dev->pci, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	g_assert_true(msix_take(dev, 1));
	vm_end(other);
	vm_end(vm);
}

/* A device without a fabric has a private one, with a clock of its own. */
static void test_private(void)
{
	const char *options = "-device t3,id=d0,addr=4,memory-size=64M,aperture-size=32M ";
	g_autofree char *incoming = g_strdup_printf("%s -incoming defer", options);
	struct t3_vm *vm = vm_start_raw(options), *other = vm_start_raw(incoming);
	g_autofree char *path = stream_path("private"), *status = NULL;
	struct t3_test_space space;

	vm_add_dev(vm, QPCI_DEVFN(4, 0));
	vm_add_dev(other, QPCI_DEVFN(4, 0));
	dev_map(&vm->dev[0]);
	dev_place(&other->dev[0]);
	space = local_space(&vm->dev[0], 3, 0, 16, 8, 1);
	store64(&space, 0, 0x1122334455667788ull);
	save_to(vm, path);
	status = load_from(other, path);
	g_assert_cmpstr(status, ==, "completed");
	unlink(path);
	cont(other);
	space.dev = &other->dev[0];
	expect_state(&space, T3_SPACE_ARMED, 1);
	store64(&space, 8, 2);
	expect_state(&space, T3_SPACE_COMPLETE, 1);
	expect_delivered(&space, 0, 1);
	vm_end(other);
	vm_end(vm);
}

static int64_t fabric_id(struct t3_vm *vm, const char *name)
{
	g_autofree char *path = g_strdup_printf("/objects/%s", name);
	QDict *answer = qtest_qmp(vm->qts,
				  "{ 'execute': 'qom-get', 'arguments': "
				  "{ 'path': %s, 'property': 'status' } }",
				  path);
	int64_t id = qdict_get_int(qdict_get_qdict(answer, "return"), "fabric-id");

	qobject_unref(answer);
	return id;
}

#define ON_G1 "-object t3-fabric,id=g1 -device t3,fabric=g1,addr=4,memory-size=4K "

/* A fabric whose id the guest has read keeps it, and a later one does not get the same. */
static void test_fabric_id(void)
{
	struct t3_vm *vm = vm_start_raw("-object t3-fabric,id=g0 " ON_G1);
	struct t3_vm *other = vm_start_raw(ON_G1 "-incoming defer");
	g_autofree char *path = stream_path("fabric-id"), *status = NULL;
	int64_t id = fabric_id(vm, "g1");

	vm_add_dev(vm, QPCI_DEVFN(4, 0));
	dev_map(&vm->dev[0]);
	g_assert_cmpint(reg_read64(&vm->dev[0], T3_REG_FABRIC_ID), ==, id);
	g_assert_cmpint(id, !=, fabric_id(other, "g1"));
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'object-del', 'arguments': { 'id': 'g0' } }");
	save_to(vm, path);
	status = load_from(other, path);
	g_assert_cmpstr(status, ==, "completed");
	unlink(path);
	g_assert_cmpint(fabric_id(other, "g1"), ==, id);
	qtest_qmp_assert_success(other->qts, "{ 'execute': 'object-add', 'arguments': "
					     "{ 'qom-type': 't3-fabric', 'id': 'g2' } }");
	g_assert_cmpint(fabric_id(other, "g2"), !=, id);
	vm_end(other);
	vm_end(vm);
}

/* ------------------------------------------------------------------- power-on */

void vm_move_to(struct t3_vm *vm, struct t3_vm *other)
{
	g_autofree char *path = stream_path("move"), *status = NULL;

	save_to(vm, path);
	status = load_from(other, path);
	g_assert_cmpstr(status, ==, "completed");
	unlink(path);
	cont(other);
}

/* A machine whose guest has not looked at the devices yet may go on with others, and again. */
static void test_power_on(void)
{
	struct t3_vm *vm = vm_unread(2, T3_TEST_DEVICES, "", "");
	struct t3_vm *between = vm_incoming(2, 2, ",tracker-ways=1", "");
	struct t3_vm *other = vm_incoming(2, 3, ",tracker-entries=16,guest-inject=on", "");
	struct t3_test_space space;

	enable_all(vm);
	vm_move_to(vm, between);
	vm_move_to(between, other);
	g_assert_cmpuint(reg_read(&other->dev[1], T3_REG_RANKS), ==, 3);
	space = local_space(&other->dev[1], 3, 0, 16, 8, 1);
	store64(&space, 0, 1);
	store64(&space, 8, 2);
	expect_delivered(&space, 0, 1);
	vm_end(other);
	vm_end(between);
	vm_end(vm);
}

/* It begins the record of another one, whose own states cannot be saved. */
static void test_power_on_recorded(void)
{
	g_autofree char *record = stream_path("record"), *path = stream_path("for-record");
	g_autofree char *options =
		g_strdup_printf("-object t3-fabric,id=g1,record=%s -device "
				"t3,fabric=g1,addr=4,memory-size=4K -incoming defer",
				record);
	struct t3_vm *vm = vm_start_raw(ON_G1), *other = vm_start_raw(options);
	g_autofree char *status = NULL;

	save_to(vm, path);
	status = load_from(other, path);
	g_assert_cmpstr(status, ==, "completed");
	unlink(path);
	cont(other);
	vm_end(other);
	g_assert_true(g_file_test(record, G_FILE_TEST_IS_REGULAR));
	unlink(record);
	vm_end(vm);
}

/* ----------------------------------------------------------------------- live */

static void limit_bandwidth(struct t3_vm *vm, int64_t bytes)
{
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'migrate-set-parameters', 'arguments': "
				 "{ 'max-bandwidth': %" PRId64 " } }",
				 bytes);
}

static void await_transfer(struct t3_vm *vm, int64_t bytes)
{
	unsigned int tries = 10000;
	int64_t done = 0;

	while (done < bytes && tries--) {
		QDict *info =
			qtest_qmp_assert_success_ref(vm->qts, "{ 'execute': 'query-migrate' }");

		if (qdict_haskey(info, "ram"))
			done = qdict_get_int(qdict_get_qdict(info, "ram"), "transferred");
		qobject_unref(info);
		g_usleep(1000);
	}
	g_assert_cmpint(done, >=, bytes);
}

#define PATTERN_BYTES (8 * MIB)

/*
 * What the device writes behind the migration's back is sent again: words to host memory, and memory
 * of its own, here on two pages that arming clears. The second device's memory is sent after both, and
 * slowly.
 */
static void test_live(void)
{
	g_autofree char *path = stream_path("live"), *uri = g_strdup_printf("unix:%s", path);
	struct t3_vm *vm = vm_unread(2, T3_TEST_DEVICES, "", "");
	struct t3_vm *other = vm_incoming(2, T3_TEST_DEVICES, "", "");
	g_autofree char *here = NULL, *there = NULL;
	uint8_t before[2 * T3_PAGE_SIZE], after[2 * T3_PAGE_SIZE];
	struct t3_event_area event, moved;
	struct t3_test_space space;
	struct t3_cmd_seg_map map;

	enable_all(vm);
	qtest_memset(vm->qts, vm->dev[1].memory, 0x5a, PATTERN_BYTES);
	space = space_create(&vm->dev[0], 3, 0);
	qtest_memset(vm->qts, vm->dev[0].memory + space.buffer, 0x77, sizeof(before));
	map = seg_args(&space, 0, T3_PAGE_SIZE - 64, 128, T3_SEG_LOCAL, 1);
	seg_map(&space, &map);
	limit_bandwidth(vm, MIB);
	qtest_qmp_assert_success(
		other->qts, "{ 'execute': 'migrate-incoming', 'arguments': { 'uri': %s } }", uri);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'migrate', 'arguments': { 'uri': %s } }",
				 uri);
	await_transfer(vm, 2 * MIB);
	db_arm(&space, 1);
	expect_state(&space, T3_SPACE_ARMED, 1);
	limit_bandwidth(vm, 1000 * MIB);
	here = migration_end(vm);
	there = migration_end(other);
	g_assert_cmpstr(here, ==, "completed");
	g_assert_cmpstr(there, ==, "completed");
	event = event_read(&space);
	qtest_bufread(vm->qts, vm->dev[0].memory + space.buffer, before, sizeof(before));
	space.dev = &other->dev[0];
	moved = event_read(&space);
	qtest_bufread(other->qts, other->dev[0].memory + space.buffer, after, sizeof(after));
	g_assert_cmpmem(&moved, sizeof(moved), &event, sizeof(event));
	g_assert_cmpmem(after, sizeof(after), before, sizeof(before));
	g_assert_cmpuint(event.state >> 32, ==, T3_SPACE_ARMED);
	unlink(path);
	vm_end(other);
	vm_end(vm);
}

/* -------------------------------------------------------------------- refused */

static void expect_refused(struct t3_vm *vm, unsigned int ranks, const char *properties,
			   const char *words)
{
	g_autofree char *path = stream_path("refused"), *log = stream_path("log");
	g_autofree char *options = g_strdup_printf("2>%s", log), *status = NULL, *text = NULL;
	struct t3_vm *other = vm_incoming(vm->count, ranks, properties, options);

	save_to(vm, path);
	status = load_from(other, path);
	g_assert_cmpstr(status, ==, "failed");
	vm_end(other);
	g_assert_true(g_file_get_contents(log, &text, NULL, NULL));
	if (!strstr(text, words))
		g_error("no '%s' in: %s", words, text);
	unlink(path);
	unlink(log);
	cont(vm);
}

/* The source runs on. */
static void test_refused(void)
{
	struct t3_vm *vm = vm_start(RING, "");
	struct t3_test_ring ring = ring_in_flight(vm);

	expect_refused(vm, RING, ",tracker-entries=16", "tracker-entries differs");
	finish(&ring);
	vm_end(vm);
}

static void read_register(struct t3_vm *vm)
{
	reg_read(&vm->dev[1], T3_REG_VERSION);
}

static void reset_function(struct t3_vm *vm)
{
	dev_flr(&vm->dev[1]);
}

static void inject_fault(struct t3_vm *vm)
{
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'qom-set', 'arguments': { 'path': "
					  "'/objects/f0', 'property': 'inject', 'value': "
					  "'drop rank=0 peer=1 nth=1' } }");
}

/* The guest may know of the ranks, or there is a state that depends on them. */
static void test_other_ranks(void)
{
	void (*const touch[])(struct t3_vm *) = { read_register, reset_function, inject_fault };
	unsigned int i;

	for (i = 0; i < G_N_ELEMENTS(touch); i++) {
		struct t3_vm *vm = vm_unread(2, T3_TEST_DEVICES, "", "");

		enable_all(vm);
		touch[i](vm);
		expect_refused(vm, 2, "", "ranks differ");
		vm_end(vm);
	}
}

/* Firmware has placed the BARs. */
static void test_other_sizes(void)
{
	struct t3_vm *vm = vm_unread(2, T3_TEST_DEVICES, "", "");

	enable_all(vm);
	expect_refused(vm, T3_TEST_DEVICES, ",aperture-size=16M", "aperture-size differs");
	expect_refused(vm, T3_TEST_DEVICES, ",memory-size=32M", "ize mismatch");
	vm_end(vm);
}

/* A function that was pulled out has no state: the migration ends, the source goes on. */
static void test_removed(void)
{
	struct t3_vm *vm = vm_start(2, "");
	g_autofree char *path = stream_path("removed"), *status = NULL;
	g_autofree char *uri = g_strdup_printf("file:%s", path);

	dev_take_out(vm, 1);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'migrate', 'arguments': { 'uri': %s } }",
				 uri);
	status = migration_end(vm);
	g_assert_cmpstr(status, ==, "failed");
	unlink(path);
	local_space(&vm->dev[0], 3, 0, 8, 8, 1);
	vm_end(vm);
}

/* ------------------------------------------------------------------- snapshots */

/* Its error, or NULL. */
static char *job_end(struct t3_vm *vm, const char *id)
{
	unsigned int tries = 10000;
	char *error = NULL;

	while (tries--) {
		QDict *answer = qtest_qmp(vm->qts, "{ 'execute': 'query-jobs' }");
		QDict *info = qobject_to(QDict, qlist_peek(qdict_get_qlist(answer, "return")));
		bool concluded = g_str_equal(qdict_get_str(info, "status"), "concluded");

		if (concluded)
			error = g_strdup(qdict_get_try_str(info, "error"));
		qobject_unref(answer);
		if (concluded)
			break;
		g_usleep(1000);
	}
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'job-dismiss', 'arguments': { 'id': %s } }",
				 id);
	return error;
}

static void job(struct t3_vm *vm, const char *id)
{
	g_autofree char *error = job_end(vm, id);

	if (error)
		g_error("%s: %s", id, error);
}

static void begin_snapshot(struct t3_vm *vm, const char *command)
{
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': %s, 'arguments': { 'job-id': %s, 'tag': 't', "
				 "'vmstate': 'disk', 'devices': [ 'disk' ] } }",
				 command, command);
}

static void snapshot(struct t3_vm *vm, const char *command)
{
	begin_snapshot(vm, command);
	job(vm, command);
}

static void add_disk(struct t3_vm *vm, const char *path, bool create)
{
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'blockdev-add', 'arguments': { 'driver': 'file', "
				 "'node-name': 'file', 'filename': %s } }",
				 path);
	if (create) {
		qtest_qmp_assert_success(vm->qts,
					 "{ 'execute': 'blockdev-create', 'arguments': { "
					 "'job-id': 'create', 'options': { 'driver': 'qcow2', "
					 "'file': 'file', 'size': 1048576 } } }");
		job(vm, "create");
	}
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'blockdev-add', 'arguments': { 'driver': 'qcow2', "
				 "'node-name': 'disk', 'file': 'file' } }");
}

/* Back to the middle, twice, in a machine that has gone on. */
static void test_snapshot(void)
{
	struct t3_vm *vm = vm_start(RING, "");
	g_autofree char *path = stream_path("disk");
	struct t3_test_ring ring;
	uint64_t clock;

	g_assert_true(g_file_set_contents(path, "", 0, NULL));
	add_disk(vm, path, true);
	ring = ring_in_flight(vm);
	snapshot(vm, "snapshot-save");
	cont(vm);
	clock = finish(&ring);
	ring_arm(&ring, 2);
	snapshot(vm, "snapshot-load");
	cont(vm);
	g_assert_cmpuint(finish(&ring), ==, clock);
	reg_write(&vm->dev[2], T3_REG_CONTROL, T3_CONTROL_RESET);
	snapshot(vm, "snapshot-load");
	cont(vm);
	g_assert_cmpuint(finish(&ring), ==, clock);
	vm_end(vm);
	unlink(path);
}

/* From a ring's middle back to the first step: as a machine that has just been made. */
static void test_snapshot_power_on(void)
{
	struct t3_vm *vm = vm_unread(RING, T3_TEST_DEVICES, "", "");
	struct t3_vm *fresh = vm_start(RING, "");
	g_autofree char *path = stream_path("disk-0");
	struct t3_test_ring ring;
	unsigned int rank;

	g_assert_true(g_file_set_contents(path, "", 0, NULL));
	add_disk(vm, path, true);
	snapshot(vm, "snapshot-save");
	cont(vm);
	enable_all(vm);
	ring = ring_in_flight(vm);
	cont(vm);
	finish(&ring);
	snapshot(vm, "snapshot-load");
	cont(vm);
	enable_all(vm);
	expect_same(vm, fresh);
	for (rank = 0; rank < RING; rank++)
		g_assert_cmpuint(reg_read64(&vm->dev[rank], T3_REG_VCLOCK), ==,
				 reg_read64(&fresh->dev[rank], T3_REG_VCLOCK));
	ring = ring_in_flight(vm);
	cont(vm);
	finish(&ring);
	vm_end(fresh);
	vm_end(vm);
	unlink(path);
}

/* A fabric that was made later has never been at power-on. */
static void test_snapshot_later(void)
{
	g_autofree char *path = stream_path("disk-1"), *log = stream_path("later");
	g_autofree char *options = g_strdup_printf("2>%s", log), *text = NULL, *error = NULL;
	struct t3_vm *vm = vm_start_raw("-object t3-fabric,id=g1"), *other = vm_start_raw(options);

	g_assert_true(g_file_set_contents(path, "", 0, NULL));
	add_disk(vm, path, true);
	snapshot(vm, "snapshot-save");
	vm_end(vm);
	add_disk(other, path, false);
	qtest_qmp_assert_success(other->qts, "{ 'execute': 'object-add', 'arguments': "
					     "{ 'qom-type': 't3-fabric', 'id': 'g1' } }");
	begin_snapshot(other, "snapshot-load");
	error = job_end(other, "snapshot-load");
	g_assert_nonnull(error);
	vm_end(other);
	g_assert_true(g_file_get_contents(log, &text, NULL, NULL));
	g_assert_nonnull(strstr(text, "when this device or fabric was not there"));
	unlink(path);
	unlink(log);
}

/*
 * The fabric is loaded, and then its device refuses its part. So all is reset when the machine starts,
 * once. What is done later stays.
 */
static void test_snapshot_in_part(void)
{
	g_autofree char *path = stream_path("disk-part"), *log = stream_path("part");
	g_autofree char *options = g_strdup_printf("2>%s", log), *text = NULL, *error = NULL;
	struct t3_vm *vm = vm_unread(1, T3_TEST_DEVICES, "", "");
	struct t3_vm *other = vm_unread(1, T3_TEST_DEVICES, ",tracker-entries=16", options);
	struct t3_test_space space;
	char *said;

	g_assert_true(g_file_set_contents(path, "", 0, NULL));
	enable_all(vm);
	local_space(&vm->dev[0], 3, 0, 16, 8, 1);
	add_disk(vm, path, true);
	snapshot(vm, "snapshot-save");
	vm_end(vm);
	enable_all(other);
	add_disk(other, path, false);
	begin_snapshot(other, "snapshot-load");
	error = job_end(other, "snapshot-load");
	g_assert_nonnull(error);
	cont(other);
	enable_all(other);
	space = local_space(&other->dev[0], 3, 0, 16, 8, 1);
	qtest_qmp_assert_success(other->qts, "{ 'execute': 'stop' }");
	cont(other);
	expect_state(&space, T3_SPACE_ARMED, 1);
	vm_end(other);
	g_assert_true(g_file_get_contents(log, &text, NULL, NULL));
	said = strstr(text, "was loaded only in part");
	g_assert_nonnull(said);
	g_assert_null(strstr(said + 1, "was loaded only in part"));
	unlink(path);
	unlink(log);
}

void add_migrate_tests(void)
{
	qtest_add_func("/t3/migrate/in-flight", test_in_flight);
	qtest_add_func("/t3/migrate/interrupt", test_interrupt);
	qtest_add_func("/t3/migrate/held-interrupt", test_held_interrupt);
	qtest_add_func("/t3/migrate/live", test_live);
	qtest_add_func("/t3/migrate/private", test_private);
	qtest_add_func("/t3/migrate/fabric-id", test_fabric_id);
	qtest_add_func("/t3/migrate/power-on", test_power_on);
	qtest_add_func("/t3/migrate/power-on-recorded", test_power_on_recorded);
	qtest_add_func("/t3/migrate/refused", test_refused);
	qtest_add_func("/t3/migrate/other-ranks", test_other_ranks);
	qtest_add_func("/t3/migrate/other-sizes", test_other_sizes);
	qtest_add_func("/t3/migrate/removed", test_removed);
	qtest_add_func("/t3/migrate/snapshot", test_snapshot);
	qtest_add_func("/t3/migrate/snapshot-power-on", test_snapshot_power_on);
	qtest_add_func("/t3/migrate/snapshot-later", test_snapshot_later);
	qtest_add_func("/t3/migrate/snapshot-in-part", test_snapshot_in_part);
}

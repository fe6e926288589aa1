// SPDX-License-Identifier: MIT
/*
 * libt3: the sentences about a device that cannot be opened and a space that does not make
 * progress.
 */
#include "test_lib_kernel.h"
#include "test.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* ------------------------------------------------------------ another machine */

/* Replaces libpci's result. */
static struct machine {
	struct t3_device_entry entry[12];
	size_t count;
	int error;
	const char *member;    /* of each group, if not NULL */
	const char *forbidden; /* a node that cannot be opened; its mode does not say so */
} machine;

/* Replaces the system's: a container's rules forbid nodes to root, too. */
int open(const char *path, int flags, ...)
{
	if (machine.forbidden && !strcmp(path, machine.forbidden)) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

/* Replaces the system's: its members may be those of the machine. */
int getgrgid_r(gid_t gid, struct group *found, char *unused, size_t size, struct group **result)
{
	static char *members[3] = { (char *)"t3-nobody" };
	const struct group *entry;

	(void)unused;
	(void)size;
	*result = NULL;
	setgrent();
	while ((entry = getgrent()) && entry->gr_gid != gid)
		;
	if (!entry)
		return 0;
	*found = *entry;
	members[1] = (char *)(uintptr_t)machine.member;
	if (machine.member)
		found->gr_mem = members;
	*result = found;
	return 0;
}

struct t3_device_list {
	int unused;
};

int t3_device_list(struct t3_device_list **list)
{
	*list = machine.error ? NULL : calloc(1, sizeof(**list));
	return machine.error;
}

void t3_device_list_free(struct t3_device_list *list)
{
	free(list);
}

size_t t3_device_list_count(const struct t3_device_list *list)
{
	return list ? machine.count : 0;
}

const struct t3_device_entry *t3_device_list_get(const struct t3_device_list *list, size_t index)
{
	return list && index < machine.count ? &machine.entry[index] : NULL;
}

static void add_device(const char *bdf, const char *node)
{
	struct t3_device_entry *entry = &machine.entry[machine.count++];

	snprintf(entry->bdf, sizeof(entry->bdf), "%s", bdf);
	snprintf(entry->node, sizeof(entry->node), "%s", node);
}

/* A file that stands for a node. */
static char node_path[40];

static int begin(void)
{
	int fd;

	memset(&machine, 0, sizeof(machine));
	strcpy(node_path, "/tmp/t3-node-XXXXXX");
	fd = mkstemp(node_path);
	assert_true(fd >= 0);
	close(fd);
	return start();
}

static int end(void)
{
	unlink(node_path);
	return stop();
}

/* ----------------------------------------------------------------------- said */

static char said[2048];

/* Check that the text fits, has the right length, and contains the words. */
static void check_said(int length, const char *words)
{
	assert_int_equal(length, strlen(said));
	if (!strstr(said, words))
		fail_msg("no \"%s\" in \"%s\"", words, said);
}

static void check_device(const char *path, int error, const char *words)
{
	check_said(t3_device_explain(path, error, said, sizeof(said)), words);
}

static void check_space(int error, const char *words)
{
	check_said(t3_space_explain(space, error, said, sizeof(said)), words);
}

/* -------------------------------------------------------------------- devices */

#define EXPLAIN_TEST(sentence) TEST_WITH(sentence, begin, end)

EXPLAIN_TEST("a machine without a device is explained")
{
	check_device(NULL, -ENODEV,
		     "no such T3 device: this machine has no T3 device (PCI function 1234:7433)");
	check_device("/dev/accel/accel77", -ENOENT,
		     "/dev/accel/accel77 does not exist: this machine has no");
	machine.error = -ENOSYS;
	check_device(NULL, -ENODEV, "the PCI devices cannot be listed: Function not implemented");
	check_device(NULL, -ENOSYS, "this system shows no PCI devices (/sys/bus/pci/devices)");
}

EXPLAIN_TEST("a device without a driver is explained")
{
	add_device("ffff:ff:1f.7", "");
	check_device(NULL, -ENODEV,
		     access("/sys/bus/pci/drivers/t3", F_OK)
			     ? "the driver of ffff:ff:1f.7 is not loaded: `modprobe t3`"
			     : "no driver is bound to ffff:ff:1f.7");
}

EXPLAIN_TEST("other devices are listed in the sentence")
{
	int i;

	add_device("ffff:ff:1e.7", "");
	add_device("ffff:ff:1f.7", node_path);
	snprintf(said, sizeof(said), "there are %s (index 1, rank 0 of fabric", node_path);
	{
		char words[80];

		strcpy(words, said);
		check_device(NULL, -ENODEV, words);
		check_device("/nowhere", -ENOENT, words);
	}
	check_device(node_path, -ENODEV, "was removed: there are");
	check_device(NULL, -ENOTUNIQ, "several fabrics have a device of that rank");
	check_device(NULL, -ENOTUNIQ, "there are");
	check_device(NULL, -EXDEV, "not on one fabric: there are");
	for (i = 0; i < 7; i++)
		add_device("ffff:ff:1d.7", node_path);
	check_device(NULL, -ENODEV, ", rank 0 of fabric");
	assert_null(strstr(said, " and others"));
	add_device("ffff:ff:1d.7", node_path);
	check_device(NULL, -ENODEV, "(index 8, rank 0 of fabric");
	check_said((int)strlen(said), ") and others");
	assert_null(strstr(said, "(index 9"));
	kernel.major = T3_DRIVER_MAJOR + 1;
	check_device(NULL, -ENODEV, "this machine's 9 T3 devices cannot be used here: ");
	check_said((int)strlen(said), " (index 1): the driver and libt3 have different versions; ");
}

/* A container has some of the nodes. The text never says that one is there and is not. */
EXPLAIN_TEST("nodes that a container lacks are explained")
{
	char words[160];

	add_device("ffff:ff:1c.7", "/nowhere/accel0");
	check_device("/nowhere/accel0", -ENOENT,
		     "/nowhere/accel0 does not exist: this machine's 1 T3 device cannot be used "
		     "here: /nowhere/accel0 (index 0): its node is not in this system's /dev, as "
		     "in a container that was not given it");
	add_device("ffff:ff:1d.7", node_path);
	add_device("ffff:ff:1e.7", "/nowhere/accel2");
	snprintf(words, sizeof(words), "/nowhere/accel0 does not exist: there are %s (index 1, ",
		 node_path);
	check_device("/nowhere/accel0", -ENOENT, words);
	check_said((int)strlen(said),
		   "; 2 more T3 devices cannot be used here: /nowhere/accel0 (index 0): "
		   "its node is not");
	check_said((int)strlen(said), "; `t3 list` has all");
	machine.forbidden = node_path;
	check_device(NULL, -ENODEV, "this machine's 3 T3 devices cannot be used here: ");
	/* The first without permission, whatever lacks before it. */
	snprintf(words, sizeof(words), "no permission for %s (owner ", node_path);
	check_device(NULL, -EPERM, words);
}

EXPLAIN_TEST("a missing link is explained")
{
	check_device(NULL, -EHOSTUNREACH, "the fabric has no link between the two ranks");
}

static const char *own_name(void)
{
	struct passwd *entry = getpwuid(geteuid());

	assert_non_null(entry);
	return entry->pw_name;
}

/* A group without this process: one of the system's groups without members. */
static gid_t foreign_group(const char **name)
{
	struct group *entry;
	gid_t groups[64], found = 0;
	int count = getgroups(64, groups), i;

	assert_true(count >= 0);
	setgrent();
	while (!found && (entry = getgrent())) {
		for (i = 0; i < count && groups[i] != entry->gr_gid; i++)
			;
		if (i == count && entry->gr_gid != getegid() && entry->gr_gid &&
		    !entry->gr_mem[0]) {
			found = entry->gr_gid;
			*name = entry->gr_name;
		}
	}
	assert_true(found);
	return found;
}

EXPLAIN_TEST("a missing permission is explained")
{
	const char *group = NULL;
	char words[256];
	gid_t gid;

	if (geteuid()) {
		print_message("another owner of a file is root's to choose\n");
		skip();
	}
	gid = foreign_group(&group);
	assert_int_equal(chown(node_path, 0, gid), 0);
	assert_int_equal(chmod(node_path, 0660), 0);
	snprintf(words, sizeof(words),
		 "no permission for %s (owner root, group %s, mode 0660): `usermod -aG %s %s` as "
		 "root, then log in again",
		 node_path, group, group, own_name());
	check_device(node_path, -EACCES, words);
	check_device(node_path, -EPERM, words);
	assert_int_equal(chmod(node_path, 0661), 0);
	check_device(node_path, -EACCES, "mode 0661): `usermod -aG ");
	machine.member = own_name();
	check_device(node_path, -EACCES,
		     " is in that group, but was not when this session began: log in again");
	machine.member = "somebody";
	check_device(node_path, -EACCES, "`usermod -aG ");
	/* The group has no right to write. */
	assert_int_equal(chmod(node_path, 0640), 0);
	check_device(node_path, -EACCES, "no group may use it; the udev rule 60-t3.rules");
	assert_int_equal(chown(node_path, 0, 0), 0);
	assert_int_equal(chmod(node_path, 0660), 0);
	check_device(node_path, -EACCES, "gives the nodes to group render");
}

EXPLAIN_TEST("a member of the node's group hears that something else forbids it")
{
	gid_t groups[64];
	int count = getgroups(64, groups), i;

	for (i = 0; i < count && !groups[i]; i++)
		;
	if (i == count) {
		groups[0] = getegid() ? getegid() : 4711;
		assert_int_equal(setgroups(1, groups), 0);
		i = 0;
	}
	assert_int_equal(chown(node_path, (uid_t)-1, groups[i]), 0);
	assert_int_equal(chmod(node_path, 0660), 0);
	check_device(node_path, -EACCES, "is in that group, so something else forbids it");
}

/* A directory service may give a user hundreds. */
EXPLAIN_TEST("one of hundreds of groups is found")
{
	gid_t before[64], many[300];
	int count = getgroups(64, before), i;

	if (geteuid()) {
		print_message("a process's groups are root's to choose\n");
		skip();
	}
	for (i = 0; i < 300; i++)
		many[i] = 70000 + (gid_t)i;
	assert_true(count >= 0);
	assert_int_equal(setgroups(300, many), 0);
	assert_int_equal(chown(node_path, (uid_t)-1, many[299]), 0);
	assert_int_equal(chmod(node_path, 0660), 0);
	check_device(node_path, -EACCES, "is in that group, so something else forbids it");
	assert_int_equal(setgroups((size_t)count, before), 0);
}

/* Not all calls name the node. Then the text is about the first one that does not open. */
EXPLAIN_TEST("the first node that does not open is explained")
{
	check_device(NULL, -EACCES, "no permission for the device");
	add_device("ffff:ff:1e.7", "");
	add_device("ffff:ff:1e.7", node_path);
	add_device("ffff:ff:1d.7", "/nowhere/accel1");
	add_device("ffff:ff:1f.7", "/forbidden/accel2");
	machine.forbidden = "/forbidden/accel2";
	check_device(NULL, -EACCES, "no permission for /forbidden/accel2");
}

EXPLAIN_TEST("a wrong driver is explained")
{
	char words[160];

	strcpy(kernel.name, "vgem");
	snprintf(words, sizeof(words), "%s is a device of the driver vgem, not of t3", node_path);
	check_device(node_path, -EPROTO, words);
	strcpy(kernel.name, "t3");
	kernel.major = 0;
	check_device(node_path, -EPROTO,
		     "the driver has version 0.0, this libt3 is for version 2: the driver is the "
		     "older one, and to be updated");
	kernel.major = T3_DRIVER_MAJOR + 1;
	check_device(node_path, -EPROTO,
		     "the driver has version 3.0, this libt3 is for version 2: libt3 is the older "
		     "one");
	kernel.no_version = true;
	check_device(node_path, -EPROTO, "is no node of the driver t3, version 2");
	check_device("/nowhere", -EPROTO, "/nowhere is no node of the driver t3");
	check_device(NULL, -EPROTO, "a device is no node of the driver t3");
}

EXPLAIN_TEST("other errors have the system's words")
{
	check_device("/dev/accel/accel0", -EMFILE, "/dev/accel/accel0: Too many open files");
	check_device(NULL, -ENOMEM, "Cannot allocate memory");
}

EXPLAIN_TEST("texts are cut at the end of the buffer")
{
	char full[2048], small[2048];
	int length, size;

	add_device("ffff:ff:1f.7", "");
	length = t3_device_explain("/nowhere", -ENOENT, full, sizeof(full));
	assert_int_equal(length, strlen(full));
	assert_int_equal(t3_device_explain("/nowhere", -ENOENT, NULL, 0), length);
	for (size = 1; size <= length + 1; size++) {
		memset(small, 'x', sizeof(small));
		assert_int_equal(t3_device_explain("/nowhere", -ENOENT, small, (size_t)size),
				 length);
		assert_int_equal(strlen(small), size - 1);
		assert_memory_equal(small, full, size - 1);
		assert_int_equal(small[size], 'x');
	}
	assert_int_equal(t3_device_explain(NULL, 1, small, 8), -EINVAL);
	assert_int_equal(t3_device_explain(NULL, -1, NULL, 8), -EINVAL);
	assert_int_equal(t3_space_explain(NULL, 0, small, 8), -EINVAL);
	assert_int_equal(t3_space_explain(space, 1, small, 8), -EINVAL);
	assert_int_equal(t3_space_explain(space, 0, NULL, 8), -EINVAL);
	assert_true(t3_space_explain(space, 0, NULL, 0) > 0);
}

/* --------------------------------------------------------------------- spaces */

static void map_two(void)
{
	struct t3_segment_desc d = desc;

	assert_int_equal(t3_local_map(space, &d), 0);
	d.segment = 9;
	assert_int_equal(t3_local_map(space, &d), 0);
	set_state(DRM_T3_SPACE_ARMED, 4);
	events()->segment[9] = 4 | DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED;
	/* The state belongs to the last epoch. */
	events()->segment[5] = 3 | DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED;
}

EXPLAIN_TEST("the tile that lacks updates is named")
{
	struct drm_t3_space_tile tile = {
		.tile = 2,
		.tiles = 8,
		.tile_flags = DRM_T3_TILE_OPEN | DRM_T3_TILE_STARTED,
		.counted = 48,
		.expected = 64,
	};

	map_two();
	kernel.tile = &tile;
	check_space(-ETIMEDOUT,
		    "timed out: space 21 is armed, epoch 4; segment 5: tile 2 of 8 is the "
		    "first that is not done: 48 of its 64 update bytes have come, 16 lack");
	assert_null(strstr(said, "segment 9"));
	/* Its counts are reached, and its targets have not acknowledged it. */
	events()->segment[9] = 4 | DRM_T3_WORD_TRACKED;
	check_space(-ETIMEDOUT, "; segment 9: tile 2 of 8");
	events()->segment[9] = 4 | DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED;
	tile.counted = 64;
	tile.tile_flags = DRM_T3_TILE_OPEN | DRM_T3_TILE_READY;
	check_space(-ETIMEDOUT, "its count is reached, it waits for its link");
	tile.tile_flags = DRM_T3_TILE_OPEN | DRM_T3_TILE_POISONED;
	check_space(-ETIMEDOUT, "its count is in poisoned memory");
	tile.tile = DRM_T3_TILE_NONE;
	tile.unacknowledged = 96;
	check_space(-ETIMEDOUT, "segment 5: all tiles have their counts, its targets have not "
				"acknowledged 96 bytes");
}

/* An older driver reports only the number of tiles. */
EXPLAIN_TEST("an older driver gives less detail")
{
	struct drm_t3_space_stats stats = { .tiles = 8, .tiles_tracked = 5 };

	map_two();
	kernel.fail_request = DRM_IOCTL_T3_SPACE_TILE;
	kernel.stats = &stats;
	check_space(-ETIMEDOUT, "segment 5: 5 of its 8 tiles have their counts");
	stats.tiles_tracked = 8;
	check_space(-ETIMEDOUT, "segment 5: all tiles have their counts, its targets have not "
				"acknowledged all of them");
}

EXPLAIN_TEST("many segments are cut short")
{
	struct t3_segment_desc d = desc;

	for (d.segment = 10; d.segment < 15; d.segment++)
		assert_int_equal(t3_local_map(space, &d), 0);
	set_state(DRM_T3_SPACE_ARMED, 4);
	check_space(-ETIMEDOUT, "; and other segments");
	assert_null(strstr(said, "segment 14"));
}

EXPLAIN_TEST("each state of a space is explained")
{
	volatile struct drm_t3_fault *fault = &events()->fault;

	set_state(DRM_T3_SPACE_IDLE, 3);
	check_space(-ETIMEDOUT, "timed out: space 21 is idle, epoch 3: it is not armed since");
	check_space(-EIO, "ended by a reset: space 21 is idle, epoch 3: it is not armed since");
	set_state(DRM_T3_SPACE_ARMING, 4);
	check_space(-ETIMEDOUT, "arming, epoch 4: not all targets of its segments are armed");
	set_state(DRM_T3_SPACE_COMPLETE, 4);
	check_space(0, "space 21 is complete, epoch 4");
	fault->kind = DRM_T3_FAULT_OVERSHOOT;
	fault->segment = 5;
	fault->tile = 3;
	fault->epoch = 4;
	events()->faults = 1;
	set_state(DRM_T3_SPACE_FAULTED, 4);
	check_space(-EIO,
		    "faulted: space 21 is faulted, epoch 4: fault overshoot, segment 5, tile 3");
	set_state(DRM_T3_SPACE_DEAD, 4);
	check_space(-ENODEV, "No such device: space 21 is dead, epoch 4: its device was removed or "
			     "reset");
	kernel.destroyed = true;
	check_space(-ENOENT, "destroyed: space 21 is dead, epoch 4: it was destroyed");
}

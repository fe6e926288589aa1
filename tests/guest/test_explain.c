// SPDX-License-Identifier: MIT
/* Explanations of real errors: nodes without permission, missing drivers, waits. */
#define _GNU_SOURCE /* unshare() */
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "child.h"
#include "module.h"
#include "t3.h"

#define SIZE	 8192u
#define DEADLINE t3_deadline(10000000000)

static char said[8192];

static void check_said(const char *words)
{
	if (!strstr(said, words))
		guest_fail(__FILE__, __LINE__, "no \"%s\" in \"%s\"", words, said);
}

static void check_device(const char *path, int error, const char *words)
{
	int length = t3_device_explain(path, error, said, sizeof(said));

	CHECK_EQ(length, strlen(said));
	check_said(words);
}

/* The output of a command, on both of its streams. Returns its exit status. */
static int check_command(const char *command, const char *words)
{
	FILE *output = popen(command, "r");
	size_t length;
	char rest[256];
	int status;

	CHECK(output);
	length = fread(said, 1, sizeof(said) - 1, output);
	said[length] = 0;
	while (fread(rest, 1, sizeof(rest), output))
		;
	status = pclose(output);
	check_said(words);
	return WEXITSTATUS(status);
}

static void check_status(const char *command, const char *words, int want)
{
	int got = check_command(command, words);

	if (got != want)
		guest_fail(__FILE__, __LINE__, "'%s' ends with %d, not %d: %s", command, got, want,
			   said);
}

/* ----------------------------------------------------------------- permission */

static void be_a_stranger(int sock, void *arg)
{
	struct t3_device *dev;
	int ret;

	(void)sock;
	(void)arg;
	become(UID_NOBODY, false);
	ret = t3_device_open(guest_node(0), &dev);
	CHECK_EQ(ret, -EACCES);
	check_device(guest_node(0), ret,
		     " (owner root, group render, mode 0660): `usermod -aG render nobody` as root, "
		     "then log in again");
	ret = t3_device_open_rank(0, 0, &dev);
	CHECK_EQ(ret, -EACCES);
	check_device(NULL, ret, "`usermod -aG render nobody`");
	check_command("t3 list 2>&1", "`usermod -aG render nobody` as root");
	check_command("t3 list --json 2>&1", "`usermod -aG render nobody` as root");
	check_command("t3 info -d 0 2>&1", "t3: device 0: no permission for ");
	check_command("t3 gemm-rs --ranks 2 2>&1", "`usermod -aG render nobody`");
}

/* The user is in the group's list, but the session is not in the group. */
static void be_new_in_the_group(int sock, void *arg)
{
	(void)sock;
	(void)arg;
	become(UID_USER, false);
	check_device(guest_node(0), -EACCES,
		     "user is in that group, but was not when this session began: log in again");
}

static void be_in_the_group(int sock, void *arg)
{
	struct t3_device *dev;

	(void)sock;
	(void)arg;
	become(UID_USER, true);
	CHECK_EQ(t3_device_open(guest_node(0), &dev), 0);
	t3_device_close(dev);
}

TEST("a node without permission is explained")
{
	static void (*const bodies[])(int, void *) = { be_a_stranger, be_new_in_the_group,
						       be_in_the_group };
	struct child child;
	size_t i;

	for (i = 0; i < ROWS(bodies); i++) {
		child_start(&child, bodies[i], NULL);
		CHECK_EQ(child_end(&child, 20000), 0);
	}
}

/* -------------------------------------------------------------------- devices */

TEST("a device that does not exist is explained")
{
	struct t3_device *dev;
	char words[64];

	snprintf(words, sizeof(words), "%s (index ", guest_node(1));
	CHECK_EQ(t3_device_open_index(77, &dev), -ENODEV);
	check_device(NULL, -ENODEV, "no such T3 device: there are /dev/accel/accel");
	check_said(words);
	check_said(", rank 1 of fabric 0x");
	CHECK_EQ(t3_device_open("/dev/accel/accel99", &dev), -ENOENT);
	check_device("/dev/accel/accel99", -ENOENT, "/dev/accel/accel99 does not exist: there are");
	CHECK_EQ(t3_device_open("/dev/null", &dev), -EPROTO);
	check_device("/dev/null", -EPROTO, "/dev/null is no node of the driver t3, version 2");
}

#define KEPT 2u /* the ranks that a container has: this and the next one */

/* The nodes of a container that was given two devices. modes: of these two. */
static void enter_container(mode_t first, mode_t second)
{
	const mode_t modes[2] = { first, second };
	char names[2][64];
	struct stat st[2];
	uint32_t i;

	CHECK_EQ(guest_ranks(), 4);
	for (i = 0; i < 2; i++) {
		snprintf(names[i], sizeof(names[i]), "%s", guest_node(KEPT + i));
		CHECK_EQ(stat(names[i], &st[i]), 0);
	}
	CHECK_EQ(unshare(CLONE_NEWNS), 0);
	CHECK_EQ(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	CHECK_EQ(mount("none", "/dev/accel", "tmpfs", 0, "mode=755"), 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(mknod(names[i], S_IFCHR | 0600, st[i].st_rdev), 0);
		CHECK_EQ(chmod(names[i], modes[i]), 0);
	}
}

/* Devices are in the order of their ranks: the VM has one fabric. */
static void be_in_a_container(int sock, void *arg)
{
	static const char *const commands[] = {
		"info",	    "status", "stat -- true", "list", "trace -o /tmp/o -- true",
		"selftest", "info -j"
	};
	char command[128], node[64];
	struct t3_device *dev;
	size_t i;
	int ret;

	(void)sock;
	(void)arg;
	snprintf(node, sizeof(node), "%s", guest_node(0));
	enter_container(0600, 0600);
	ret = t3_device_open_rank(0, 0, &dev);
	check_device(NULL, ret, "no such T3 device: there are ");
	check_said(" (index 2, rank 2 of fabric 0x");
	check_said("; 2 more T3 devices cannot be used here: ");
	CHECK(!strstr(said, "index 0, rank"));
	for (i = 0; i < ROWS(commands); i++) {
		snprintf(command, sizeof(command), "t3 %s 2>&1", commands[i]);
		check_status(command,
			     strcmp(commands[i], "list")
				     ? "device 0 and 1 more cannot be used here "
				       "and are left out: `t3 list` says why"
				     : " does not exist: there are ",
			     0);
	}
	check_status("t3 bench --only submit --rounds 1 2>&1",
		     "device 0 and 1 more cannot be used here and are left out: `t3 list` says why",
		     0);
	snprintf(command, sizeof(command), "t3: device 0: %s does not exist: there are ", node);
	check_status("t3 info -d 0 2>&1", command, 1);
	check_status("t3 gemm-rs --ranks 2 --shape 64x64x64 2>&1", "no such T3 device: there are ",
		     1);
	check_status("t3 gemm-rs --devices 2,3 --shape 64x64x64 --iters 1 2>&1", "\nPASS", 0);
	check_status("t3 gemm-rs --devices 0,1 --shape 64x64x64 2>&1", command, 1);
	check_status("t3 launch -n 2 -- t3 perf --max 1K 2>&1",
		     "has no device: no such T3 device: there are ", 1);
	check_said("; --devices names those to take");
	check_status("t3 launch -n 2 -- t3 perf --devices 2,3 --max 1K --iters 1 2>&1",
		     "all-reduce", 0);
	/* Not all were reset. */
	check_status("t3 reset --all --yes 2>&1", "device 2 (rank 2) was reset in ", 1);
	check_said("device 3 (rank 3) was reset in ");
	check_said("left out");
	CHECK_EQ(umount("/dev/accel"), 0);
	CHECK_EQ(mount("none", "/dev/accel", "tmpfs", 0, "mode=755"), 0);
	check_status("t3 info 2>&1",
		     " does not exist: this machine's 4 T3 devices cannot be used here: ", 1);
}

/* One of the two is another user's. */
static void be_allowed_one(int sock, void *arg)
{
	(void)sock;
	(void)arg;
	enter_container(0600, 0666);
	become(UID_NOBODY, false);
	check_status("t3 info 2>&1", "device 0 and 2 more cannot be used here", 0);
	check_status("t3 list 2>&1", "no permission for ", 0);
	check_device(NULL, -EACCES, "no permission for ");
	check_said(" (owner root, ");
}

SLOW_TEST("programs that see only some nodes are told so")
{
	static void (*const bodies[])(int, void *) = { be_in_a_container, be_allowed_one };
	struct child child;
	size_t i;

	check_status("t3 gemm-rs --devices 0,2 --shape 64x64x64 2>&1",
		     "--devices: 2 (rank 2) and 0 (rank 0) have no link: in a ring", 2);
	for (i = 0; i < ROWS(bodies); i++) {
		child_start(&child, bodies[i], NULL);
		CHECK_EQ(child_end(&child, 90000), 0);
	}
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file);
	CHECK(fputs(text, file) >= 0);
	CHECK_EQ(fclose(file), 0);
}

/* --------------------------------------------------------------------- spaces */

static const struct t3_segment_desc seg = {
	.segment = 3,
	.dtype = DRM_T3_F32,
	.updates = 1,
	.rows = 6,
	.row_bytes = 80,
	.pitch = 96,
	.tile_rows = 4,
	.tile_row_bytes = 32,
};

static void check_space(const struct t3_space *space, int error, const char *words)
{
	int length = t3_space_explain(space, error, said, sizeof(said));

	CHECK_EQ(length, strlen(said));
	check_said(words);
}

TEST("a wait that fails names the tile and what it lacks")
{
	unsigned char image[1024] = { 0 };
	struct t3_device *dev;
	struct t3_buffer *buffer;
	struct t3_space *space;
	struct t3_view view;
	uint64_t tile;
	int ret;

	CHECK_EQ(t3_device_open(guest_node(0), &dev), 0);
	CHECK_EQ(t3_buffer_create(dev, SIZE, &buffer), 0);
	CHECK_EQ(t3_space_create(dev, buffer, 64, &space), 0);
	CHECK_EQ(t3_local_map(space, &seg), 0);
	CHECK_EQ(t3_view_aperture(space, &seg, &view), 0);
	CHECK_EQ(t3_arm(space, 5), 0);
	for (tile = 0; tile < 6; tile++) {
		if (tile != 4)
			CHECK_EQ(t3_store_tile(&view, tile, image, 96), 0);
	}
	CHECK_EQ(t3_store_run(&view, 4, 32, image, 12), 0);
	ret = t3_wait(space, 5, 0, T3_DELIVERED, t3_deadline(1000000));
	CHECK_EQ(ret, -ETIMEDOUT);
	check_space(space, ret,
		    "is armed, epoch 5; segment 3: tile 4 of 6 is the first that is not "
		    "done: 12 of its 64 update bytes have come, 52 lack");
	CHECK_EQ(t3_store_run(&view, 4, 32, image, 12), 0);
	t3_store32(t3_space_aperture(space) + 4096, 1);
	ret = t3_wait(space, 5, 0, T3_DELIVERED, DEADLINE);
	CHECK_EQ(ret, -EIO);
	check_space(space, ret, "epoch 5: fault unmapped");
	CHECK_EQ(t3_space_destroy(space), 0);
	t3_buffer_destroy(buffer);
	t3_device_close(dev);
}

/* When all functions are unbound, the text is about the first one. */
TEST("a missing or other driver is explained")
{
	char bdf[GUEST_MAX_RANKS][32], words[128], path[80];
	uint32_t ranks = guest_ranks(), i;

	for (i = 0; i < ranks; i++)
		driver_unbind(i, bdf[i], sizeof(bdf[i]));
	snprintf(words, sizeof(words), "no driver is bound to %s: the kernel's log says why",
		 bdf[0]);
	check_device(NULL, -ENODEV, words);
	CHECK_EQ(system("modprobe vfio-pci"), 0);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver_override", bdf[0]);
	write_file(path, "vfio-pci");
	write_file("/sys/bus/pci/drivers/vfio-pci/bind", bdf[0]);
	snprintf(words, sizeof(words), "%s is bound to the driver vfio-pci, not to t3", bdf[0]);
	check_device(NULL, -ENODEV, words);
	write_file("/sys/bus/pci/drivers/vfio-pci/unbind", bdf[0]);
	write_file(path, "\n");
	CHECK_EQ(module_unload(), 0);
	snprintf(words, sizeof(words), "the driver of %s is not loaded: `modprobe t3`", bdf[0]);
	check_device(NULL, -ENODEV, words);
	check_command("t3 info 2>&1", words);
	check_command("t3 gemm-rs --ranks 2 2>&1", words);
	module_load();
}

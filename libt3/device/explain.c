// SPDX-License-Identifier: MIT
/* Explain in a sentence why a device cannot be opened and what to do. */
#include "device/device.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drm.h>

#define NODES_SAID 8u
#define NAME_BYTES 64u
#define DRIVER	   "/sys/bus/pci/drivers/t3"
#define DEVICES	   "/sys/bus/pci/devices"

/* ------------------------------------------------------------------ no device */

/* A function without a node: name its driver, or say why it has none. */
static void say_unbound(struct t3_text *text, const char *bdf)
{
	char path[sizeof(DEVICES) + 40], target[256];
	ssize_t length;

	snprintf(path, sizeof(path), DEVICES "/%s/driver", bdf);
	length = readlink(path, target, sizeof(target) - 1);
	if (length > 0) {
		target[length] = 0;
		t3_text_say(text, "%s is bound to the driver %s, not to t3", bdf,
			    strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
	} else if (access(DRIVER, F_OK)) {
		t3_text_say(text, "the driver of %s is not loaded: `modprobe t3`", bdf);
	} else {
		t3_text_say(text,
			    "no driver is bound to %s: the kernel's log says why, "
			    "`echo %s > " DRIVER "/bind` tries again",
			    bdf, bdf);
	}
}

/* A node that this process cannot use, and why. */
static void say_unusable(struct t3_text *text, size_t index, const char *node, int error)
{
	t3_text_say(text, "%s (index %zu): ", node, index);
	if (error == -ENOENT)
		t3_text_say(text, "its node is not in this system's /dev, as in a container that "
				  "was not given it");
	else if (error == -EACCES || error == -EPERM)
		t3_text_say(text, "no permission");
	else if (error == -EPROTO)
		t3_text_say(text, "the driver and libt3 have different versions");
	else
		t3_text_errno(text, error);
}

/*
 * List the devices whose nodes this process can use. Of the others that have a driver, count them
 * and say why the first one cannot be used. False: none has a driver.
 */
static bool say_nodes(struct t3_text *text, const struct t3_device_list *list)
{
	size_t i, said = 0, unusable = 0, first = 0;
	struct drm_t3_device_info info;
	struct t3_device *dev;
	int ret, why = 0;

	for (i = 0; i < t3_device_list_count(list); i++) {
		const char *node = t3_device_list_get(list, i)->node;

		if (!*node)
			continue;
		ret = t3_device_open(node, &dev);
		if (!ret) {
			ret = t3_device_info(dev, &info);
			t3_device_close(dev);
		}
		if (ret) {
			if (!unusable++) {
				first = i;
				why = ret;
			}
			continue;
		}
		if (said < NODES_SAID)
			t3_text_say(text, "%s %s (index %zu, rank %u of fabric %#llx)",
				    said ? "," : "there are", node, i, info.rank,
				    (unsigned long long)info.fabric_id);
		said++;
	}
	if (said > NODES_SAID)
		t3_text_say(text, " and others");
	if (unusable) {
		t3_text_say(text,
			    "%s%zu %sT3 %s cannot be used here: ", said ? "; " : "this machine's ",
			    unusable, said ? "more " : "", unusable == 1 ? "device" : "devices");
		say_unusable(text, first, t3_device_list_get(list, first)->node, why);
		if (unusable > 1)
			t3_text_say(text, "; `t3 list` has all");
	}
	return said || unusable;
}

static void say_what_there_is(struct t3_text *text)
{
	struct t3_device_list *list;
	int ret = t3_device_list(&list);

	if (ret) {
		t3_text_say(text, "the PCI devices cannot be listed: ");
		t3_text_errno(text, ret);
		return;
	}
	if (!t3_device_list_count(list))
		t3_text_say(text, "this machine has no T3 device (PCI function 1234:7433)");
	else if (!say_nodes(text, list))
		say_unbound(text, t3_device_list_get(list, 0)->bdf);
	t3_device_list_free(list);
}

static void explain_absent(struct t3_text *text, const char *path)
{
	struct stat st;

	if (!path)
		t3_text_say(text, "no such T3 device: ");
	else if (stat(path, &st))
		t3_text_say(text, "%s does not exist: ", path);
	else
		t3_text_say(text, "the device behind %s was removed: ", path);
	say_what_there_is(text);
}

/* -------------------------------------------------------------- no permission */

static void name_user(uid_t uid, char *name, size_t size)
{
	struct passwd entry, *found = NULL;
	char buffer[1024];

	if (getpwuid_r(uid, &entry, buffer, sizeof(buffer), &found) || !found)
		snprintf(name, size, "%u", (unsigned int)uid);
	else
		snprintf(name, size, "%s", entry.pw_name);
}

/* The group's name, and whether that user is in the group's own list. */
static bool name_group(gid_t gid, const char *user, char *name, size_t size)
{
	struct group entry, *found = NULL;
	char buffer[4096], **member;

	snprintf(name, size, "%u", (unsigned int)gid);
	if (getgrgid_r(gid, &entry, buffer, sizeof(buffer), &found) || !found)
		return false;
	snprintf(name, size, "%s", entry.gr_name);
	for (member = entry.gr_mem; *member; member++) {
		if (!strcmp(*member, user))
			return true;
	}
	return false;
}

static bool in_group(gid_t gid)
{
	bool found = getegid() == gid;
	int i, count = getgroups(0, NULL);
	gid_t *groups = calloc(count > 0 ? (size_t)count : 1, sizeof(*groups));

	count = groups ? getgroups(count, groups) : 0;
	for (i = 0; i < count && !found; i++)
		found = groups[i] == gid;
	free(groups);
	return found;
}

struct node_name {
	char text[sizeof(((struct t3_device_entry *)0)->node)];
};

/* Find the first node that this process may not open; "": there is none. */
static struct node_name find_forbidden(void)
{
	struct t3_device_list *list = NULL;
	struct node_name node = { "" };
	size_t i;
	int fd;

	if (t3_device_list(&list))
		return node;
	for (i = 0; i < t3_device_list_count(list) && !*node.text; i++) {
		const char *name = t3_device_list_get(list, i)->node;

		/* A container's rules forbid what access() allows. */
		fd = *name ? open(name, O_RDWR | O_CLOEXEC) : -1;
		if (fd >= 0)
			close(fd);
		else if (*name && (errno == EACCES || errno == EPERM))
			snprintf(node.text, sizeof(node.text), "%s", name);
	}
	t3_device_list_free(list);
	return node;
}

/* Without a path: explain the first node that this process may not open. */
static void explain_permission(struct t3_text *text, const char *path)
{
	char user[NAME_BYTES], owner[NAME_BYTES], group[NAME_BYTES];
	struct node_name node = { "" };
	struct stat status, *st = &status;
	bool listed;

	if (!path) {
		node = find_forbidden();
		path = *node.text ? node.text : NULL;
	}
	t3_text_say(text, "no permission for %s", path ? path : "the device");
	if (!path || stat(path, st))
		return;
	name_user(geteuid(), user, sizeof(user));
	name_user(st->st_uid, owner, sizeof(owner));
	listed = name_group(st->st_gid, user, group, sizeof(group));
	t3_text_say(text, " (owner %s, group %s, mode %04o): ", owner, group,
		    (unsigned int)st->st_mode & 07777);
	if (!st->st_gid || (st->st_mode & 060) != 060)
		t3_text_say(text, "no group may use it; the udev rule 60-t3.rules "
				  "gives the nodes to group render");
	else if (in_group(st->st_gid))
		t3_text_say(text,
			    "%s is in that group, so something else forbids it, "
			    "such as a container's list of devices",
			    user);
	else if (listed)
		t3_text_say(text,
			    "%s is in that group, but was not when this session began: "
			    "log in again",
			    user);
	else
		t3_text_say(text, "`usermod -aG %s %s` as root, then log in again", group, user);
}

/* --------------------------------------------------------------- wrong driver */

static void say_version(struct t3_text *text, const char *path, const drmVersion *version)
{
	int major = version->version_major;

	if (!version->name || strcmp(version->name, T3_DRIVER_NAME)) {
		t3_text_say(text, "%s is a device of the driver %s, not of t3", path,
			    version->name ? version->name : "without a name");
		return;
	}
	t3_text_say(text, "%s: the driver has version %d.%d, this libt3 is for version %d", path,
		    major, version->version_minor, T3_DRIVER_MAJOR);
	if (major != T3_DRIVER_MAJOR)
		t3_text_say(text, ": %s is the older one, and to be updated",
			    major < T3_DRIVER_MAJOR ? "the driver" : "libt3");
}

static void explain_driver(struct t3_text *text, const char *path)
{
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	drmVersionPtr version = fd < 0 ? NULL : drmGetVersion(fd);

	if (version)
		say_version(text, path, version);
	else
		t3_text_say(text, "%s is no node of the driver t3, version %d",
			    path ? path : "a device", T3_DRIVER_MAJOR);
	drmFreeVersion(version);
	if (fd >= 0)
		close(fd);
}

/* -------------------------------------------------------------------- explain */

int t3_device_explain(const char *path, int error, char *buffer, size_t size)
{
	struct t3_text text = { .at = buffer, .size = size };

	if (error > 0 || (!buffer && size))
		return -EINVAL;
	if (size)
		*buffer = 0;
	switch (-error) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		explain_absent(&text, path);
		break;
	case EACCES:
	case EPERM:
		explain_permission(&text, path);
		break;
	case EPROTO:
		explain_driver(&text, path);
		break;
	case ENOTUNIQ:
		t3_text_say(&text,
			    "several fabrics have a device of that rank, so its fabric "
			    "must be named (T3_FABRIC=0x1 in the environment, --fabric of t3): ");
		say_what_there_is(&text);
		break;
	case EXDEV:
		t3_text_say(&text, "the devices are not on one fabric: ");
		say_what_there_is(&text);
		break;
	case EHOSTUNREACH:
		t3_text_say(&text, "the fabric has no link between the two ranks: in a ring only "
				   "neighbours have one");
		break;
	case ENOSYS:
		t3_text_say(&text, "this system shows no PCI devices (" DEVICES ")");
		break;
	default:
		if (path)
			t3_text_say(&text, "%s: ", path);
		t3_text_errno(&text, error);
	}
	return (int)text.length;
}

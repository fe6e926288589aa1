// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: faults for tests, where the device allows them to its guest (CAPS.INJECT).
 *
 * To be written: text as SPEC.md 12.2 has it, of this device's rank (`rank=` may be left
 * out). The device reads it: what it cannot read it refuses as a whole; of one that it
 * refuses for its values, what stands before it is in force. Reading says whether it is
 * allowed, what there is, and why the device has refused the last text written here.
 */
#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_print.h>

#include "t3_admin.h"
#include "t3_debugfs.h"
#include "t3_device.h"

/* Of an open file; guarded by seq_file.lock. */
struct t3_inject_file {
	struct t3_device *tdev;
	char error[T3_INJECT_TEXT]; /* the device's sentence; "" */
};

/* The device's words are as long as they should be, whatever it says. */
static void t3_inject_end(struct t3_cmd_inject_text *cmd)
{
	cmd->text[sizeof(cmd->text) - 1] = '\0';
}

static int t3_inject_run(struct t3_inject_file *inject, struct t3_cmd_inject_text *cmd)
{
	int ret = t3_admin_query(inject->tdev, T3_CMD_INJECT_TEXT, cmd, sizeof(*cmd));

	inject->error[0] = '\0';
	if (!ret || ret == -ENODEV)
		return ret;
	t3_inject_end(cmd);
	strscpy(inject->error, (char *)cmd->text, sizeof(inject->error));
	drm_notice(&inject->tdev->drm, "inject: %*pE\n", (int)strlen(inject->error),
		   inject->error);
	return ret == -EIO ? -ENOENT : ret; /* of this command it is BAD_QUEUE */
}

static ssize_t t3_inject_write(struct file *file, const char __user *user, size_t size,
			       loff_t *pos)
{
	struct seq_file *m = file->private_data;
	struct t3_inject_file *inject = m->private;
	struct t3_cmd_inject_text cmd = {};
	int ret;

	if (size >= sizeof(cmd.text))
		return -E2BIG;
	if (!(inject->tdev->caps.caps & T3_CAP_INJECT)) {
		drm_notice(&inject->tdev->drm, "inject: the device does not allow it to its guest: start it with the property guest-inject=on\n");
		return -EOPNOTSUPP;
	}
	if (copy_from_user(cmd.text, user, size))
		return -EFAULT;
	if (memchr(cmd.text, '\0', size))
		return -EINVAL;
	mutex_lock(&m->lock);
	ret = t3_inject_run(inject, &cmd);
	mutex_unlock(&m->lock);
	return ret ? ret : size;
}

static int t3_inject_show(struct seq_file *m, void *unused)
{
	struct t3_inject_file *inject = m->private;
	struct t3_device *tdev = inject->tdev;
	bool enabled = tdev->caps.caps & T3_CAP_INJECT;
	u32 kind;

	seq_printf(m, "inject enabled=%d rank=%u\n", enabled, tdev->caps.rank);
	for (kind = 1; enabled && kind < T3_INJECT_KIND_COUNT; kind++) {
		struct t3_cmd_inject_text cmd = { .kind = kind };

		if (t3_admin_query(tdev, T3_CMD_INJECT_TEXT, &cmd, sizeof(cmd)))
			break;
		t3_inject_end(&cmd);
		seq_printf(m, "kind=%*pE\n", (int)strlen((char *)cmd.text), cmd.text);
	}
	if (*inject->error)
		seq_printf(m, "error=\"%*pE\"\n", (int)strlen(inject->error), inject->error);
	return 0;
}

static int t3_inject_open(struct inode *inode, struct file *file)
{
	struct t3_inject_file *inject = kzalloc_obj(*inject, GFP_KERNEL);
	int ret;

	if (!inject)
		return -ENOMEM;
	inject->tdev = inode->i_private;
	ret = single_open(file, t3_inject_show, inject);
	if (ret)
		kfree(inject);
	return ret;
}

static int t3_inject_release(struct inode *inode, struct file *file)
{
	kfree(((struct seq_file *)file->private_data)->private);
	return single_release(inode, file);
}

const struct file_operations t3_debugfs_inject_fops = {
	.owner = THIS_MODULE,
	.open = t3_inject_open,
	.read = seq_read,
	.write = t3_inject_write,
	.llseek = seq_lseek,
	.release = t3_inject_release,
};

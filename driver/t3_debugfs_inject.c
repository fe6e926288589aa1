// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: faults for tests, where the device allows them to its guest (CAPS.INJECT).
 *
 * To be written: text as SPEC.md 12.2 has it, of this device's rank (`rank=` may be left
 * out). What cannot be read is refused as a whole; of one that the device refuses, what
 * stands before it is in force. Reading says whether it is allowed, and what there is.
 */
#include <linux/ctype.h>
#include <linux/kstrtox.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_print.h>

#include "t3_debugfs.h"
#include "t3_device.h"

#define T3_INJECT_TEXT	  1024 /* bytes of one write */
#define T3_INJECT_AT_ONCE 16 /* injections in it */

enum t3_inject_key {
	T3_INJECT_KEY_RANK,
	T3_INJECT_KEY_PEER,
	T3_INJECT_KEY_QUEUE,
	T3_INJECT_KEY_NTH,
	T3_INJECT_KEY_COUNT,
	T3_INJECT_KEY_ADDRESS,
	T3_INJECT_KEY_VALUE,
	T3_INJECT_KEY_SEED,
	T3_INJECT_KEYS
};

static const char *const t3_inject_keys[T3_INJECT_KEYS] = {
	"rank", "peer", "queue", "nth", "count", "address", "value", "seed",
};

#define KEY(name) BIT(T3_INJECT_KEY_##name)
#define COUNTED	  (KEY(NTH) | KEY(COUNT))

static const struct t3_inject_verb {
	const char *name;
	u32 needs; /* keys */
	u32 takes; /* besides `rank` */
} t3_inject_verbs[T3_INJECT_KIND_COUNT] = {
	[T3_INJECT_DROP] = { "drop", KEY(PEER), COUNTED },
	[T3_INJECT_DUPLICATE] = { "duplicate", KEY(PEER), COUNTED },
	[T3_INJECT_CORRUPT] = { "corrupt", KEY(PEER), COUNTED },
	[T3_INJECT_REORDER] = { "reorder", KEY(PEER), COUNTED },
	[T3_INJECT_DELAY] = { "delay", KEY(PEER) | KEY(VALUE), COUNTED },
	[T3_INJECT_DROP_RESPONSE] = { "drop-response", KEY(PEER), COUNTED },
	[T3_INJECT_LINK_DOWN] = { "link-down", KEY(PEER), 0 },
	[T3_INJECT_LINK_UP] = { "link-up", KEY(PEER), 0 },
	[T3_INJECT_LINK_RANDOM] = { "link-random", KEY(PEER) | KEY(NTH), KEY(SEED) },
	[T3_INJECT_POISON] = { "poison", KEY(ADDRESS) | KEY(VALUE), 0 },
	[T3_INJECT_UNPOISON] = { "unpoison", 0, KEY(ADDRESS) | KEY(VALUE) },
	[T3_INJECT_LOSE_IRQ] = { "lose-irq", 0, COUNTED },
	[T3_INJECT_FAIL_DMA] = { "fail-dma", 0, COUNTED },
	[T3_INJECT_HANG_QUEUE] = { "hang-queue", KEY(QUEUE), 0 },
	[T3_INJECT_UNHANG_QUEUE] = { "unhang-queue", KEY(QUEUE), 0 },
};

/* One injection while it is read. */
struct t3_inject_text {
	u32 rank; /* of the device */
	u32 given; /* keys */
	struct t3_cmd_inject cmd;
	const char *word; /* that is wrong, */
	const char *why; /* and why */
};

static int t3_inject_wrong(struct t3_inject_text *in, const char *word, const char *why)
{
	in->word = word;
	in->why = why;
	return -EINVAL;
}

static int t3_inject_kind(struct t3_inject_text *in, const char *word)
{
	u32 kind;

	for (kind = 0; kind < T3_INJECT_KIND_COUNT; kind++) {
		if (!t3_inject_verbs[kind].name || strcmp(t3_inject_verbs[kind].name, word))
			continue;
		in->cmd.kind = kind;
		return 0;
	}
	return t3_inject_wrong(in, word, "no kind of fault; the file lists them");
}

/* Decimal or 0x: kstrtou64() alone would also take signs. */
static int t3_inject_number(const char *text, u64 *value)
{
	if (!isdigit(*text))
		return -EINVAL;
	return kstrtou64(text, strstarts(text, "0x") ? 16 : 10, value);
}

static bool t3_inject_set(struct t3_cmd_inject *cmd, enum t3_inject_key key, u64 value)
{
	u32 *const narrow[T3_INJECT_KEYS] = {
		[T3_INJECT_KEY_RANK] = &cmd->rank,   [T3_INJECT_KEY_PEER] = &cmd->peer,
		[T3_INJECT_KEY_QUEUE] = &cmd->peer,  [T3_INJECT_KEY_NTH] = &cmd->nth,
		[T3_INJECT_KEY_COUNT] = &cmd->count,
	};

	if (narrow[key] && value > U32_MAX)
		return false;
	if (narrow[key])
		*narrow[key] = value;
	else if (key == T3_INJECT_KEY_ADDRESS)
		cmd->address = value;
	else
		cmd->value = value;
	return true;
}

/* KEY=NUMBER; the word is cut in two. */
static int t3_inject_pair(struct t3_inject_text *in, char *word)
{
	const struct t3_inject_verb *verb = &t3_inject_verbs[in->cmd.kind];
	char *number = strchr(word, '=');
	u64 value;
	int key;

	if (!number)
		return t3_inject_wrong(in, word, "not KEY=NUMBER");
	*number++ = '\0';
	key = match_string(t3_inject_keys, T3_INJECT_KEYS, word);
	if (key < 0 || !((verb->needs | verb->takes | KEY(RANK)) & BIT(key)))
		return t3_inject_wrong(in, word, "no key of this kind; the file lists them");
	if (in->given & BIT(key))
		return t3_inject_wrong(in, word, "given twice");
	in->given |= BIT(key);
	if (t3_inject_number(number, &value) || !t3_inject_set(&in->cmd, key, value))
		return t3_inject_wrong(in, number, "not a number that fits, decimal or 0x");
	if (key == T3_INJECT_KEY_RANK && value != in->rank)
		return t3_inject_wrong(in, number, "another device's rank: write to its own file");
	return 0;
}

static int t3_inject_complete(struct t3_inject_text *in)
{
	const struct t3_inject_verb *verb = &t3_inject_verbs[in->cmd.kind];

	if (verb->needs & ~in->given)
		return t3_inject_wrong(in, verb->name, "lacks a key; the file lists them");
	if (verb->takes & ~in->given & KEY(NTH))
		in->cmd.nth = 1;
	if (verb->takes & ~in->given & KEY(COUNT))
		in->cmd.count = 1;
	return 0;
}

/* 1: there is one; 0: the text is empty. It is cut up. */
static int t3_inject_parse(struct t3_inject_text *in, u32 rank, char *text)
{
	char *word;
	int ret;

	*in = (struct t3_inject_text){ .rank = rank, .cmd.rank = rank };
	while ((word = strsep(&text, " \t")) != NULL) {
		if (!*word)
			continue;
		ret = in->cmd.kind ? t3_inject_pair(in, word) : t3_inject_kind(in, word);
		if (ret)
			return ret;
	}
	if (!in->cmd.kind)
		return 0;
	ret = t3_inject_complete(in);
	return ret ? ret : 1;
}

/* Returns how many there are in cmds. */
static int t3_inject_parse_all(struct t3_device *tdev, char *text, struct t3_cmd_inject *cmds)
{
	struct t3_inject_text in;
	int count = 0, ret;
	char *one;

	while ((one = strsep(&text, ";\n")) != NULL) {
		ret = t3_inject_parse(&in, tdev->caps.rank, one);
		if (!ret)
			continue;
		if (ret > 0 && count == T3_INJECT_AT_ONCE)
			ret = t3_inject_wrong(&in, "", "more than 16 at once");
		if (ret < 0) {
			drm_notice(&tdev->drm, "inject: '%*pE': %s\n",
				   (int)strnlen(in.word, 40), in.word, in.why);
			return ret;
		}
		cmds[count++] = in.cmd;
	}
	return count;
}

static int t3_inject_apply(struct t3_device *tdev, struct t3_cmd_inject *cmd)
{
	int ret = t3_admin(tdev, T3_CMD_INJECT, cmd, sizeof(*cmd));

	/* Of this command it is BAD_QUEUE. */
	if (ret == -EIO)
		ret = -ENOENT;
	if (ret)
		drm_notice(&tdev->drm, "inject: %s: refused by the device: %pe\n",
			   t3_inject_verbs[cmd->kind].name, ERR_PTR(ret));
	return ret;
}

static int t3_inject_text(struct t3_device *tdev, char *text)
{
	struct t3_cmd_inject *cmds;
	int count, ret = 0, i;

	cmds = kcalloc(T3_INJECT_AT_ONCE, sizeof(*cmds), GFP_KERNEL);
	if (!cmds)
		return -ENOMEM;
	count = t3_inject_parse_all(tdev, text, cmds);
	for (i = 0; !ret && i < count; i++)
		ret = t3_inject_apply(tdev, &cmds[i]);
	kfree(cmds);
	return count < 0 ? count : ret;
}

/**
 * t3_debugfs_inject_write() - inject the faults of a text
 * @file: opened by single_open()
 * @user: the text
 * @size: its bytes
 * @pos: not used
 *
 * Context: process context; sleeps.
 * Return: @size; -E2BIG the text is too long; -EOPNOTSUPP the device does not allow it; -EINVAL bad
 *   text; -ENOMEM; -EFAULT; or an error of t3_admin().
 */
ssize_t t3_debugfs_inject_write(struct file *file, const char __user *user, size_t size,
				loff_t *pos)
{
	struct t3_device *tdev = ((struct seq_file *)file->private_data)->private;
	char *text;
	int ret;

	if (size > T3_INJECT_TEXT)
		return -E2BIG;
	if (!(tdev->caps.caps & T3_CAP_INJECT)) {
		drm_notice(&tdev->drm, "inject: the device does not allow it to its guest: start it with the property guest-inject=on\n");
		return -EOPNOTSUPP;
	}
	text = memdup_user_nul(user, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = strlen(text) == size ? t3_inject_text(tdev, text) : -EINVAL;
	kfree(text);
	return ret ? ret : size;
}

static void t3_inject_show_keys(struct seq_file *m, const char *name, u32 keys)
{
	char between = '=';
	u32 key;

	if (keys)
		seq_printf(m, " %s", name);
	for (key = 0; key < T3_INJECT_KEYS; key++) {
		if (!(keys & BIT(key)))
			continue;
		seq_printf(m, "%c%s", between, t3_inject_keys[key]);
		between = ',';
	}
}

/**
 * t3_debugfs_inject_show() - list the faults with their keys
 * @m: the file
 * @unused: of single_open()
 *
 * Return: 0.
 */
int t3_debugfs_inject_show(struct seq_file *m, void *unused)
{
	struct t3_device *tdev = m->private;
	u32 kind;

	seq_printf(m, "inject enabled=%d rank=%u\n", !!(tdev->caps.caps & T3_CAP_INJECT),
		   tdev->caps.rank);
	for (kind = 0; kind < T3_INJECT_KIND_COUNT; kind++) {
		const struct t3_inject_verb *verb = &t3_inject_verbs[kind];

		if (!verb->name)
			continue;
		seq_printf(m, "kind=%s", verb->name);
		t3_inject_show_keys(m, "needs", verb->needs);
		t3_inject_show_keys(m, "takes", verb->takes);
		seq_putc(m, '\n');
	}
	return 0;
}

#ifdef T3_KUNIT
#include "tests/t3_inject_test.c"
#endif

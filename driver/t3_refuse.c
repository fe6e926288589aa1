// SPDX-License-Identifier: GPL-2.0-only
/*
 * Why an ioctl was refused: see t3_refuse.h. Each thread that uses an open file has a record there,
 * its last one. Nobody reads another thread's: the record bears the thread's number and the time at
 * which the thread began, because numbers are used again.
 */
#include <linux/bits.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>

#include "t3_device.h"
#include "t3_refuse.h"
#include "t3_trace.h"

#define T3_REFUSALS 16 /* threads of a file; of more, those that failed first lose their record */

struct t3_record {
	/* The thread. */
	pid_t tid;
	u64 started;

	u64 serial;   /* 0: the record is free */
	bool pending; /* its ioctl has not returned */
	unsigned int cmd;
	int error;
	const struct t3_site *site;
	const char *type;  /* NULL: site's, or that of the ioctl */
	const char *outer; /* NULL; or the member of which site's field is a member */
	u32 index;	   /* of an array's element; ~0: none */
	u64 value, min, max;
};

struct t3_refusals {
	spinlock_t lock; /* all below */
	u64 serial;
	struct t3_record records[T3_REFUSALS];
};

/* The arguments, by the number of the ioctl. */
#define T3_ARGUMENT(ioctl, name) \
	[DRM_IOCTL_NR(DRM_IOCTL_T3_##ioctl)] = "drm_t3_" #name

static const char *const t3_arguments[] = {
	T3_ARGUMENT(QUERY, query),
	T3_ARGUMENT(BO_CREATE, bo_create),
	T3_ARGUMENT(BO_MMAP_OFFSET, bo_mmap_offset),
	T3_ARGUMENT(SPACE_CREATE, space_create),
	T3_ARGUMENT(SPACE_DESTROY, space), T3_ARGUMENT(SPACE_RESET, space),
	T3_ARGUMENT(SPACE_WAIT, space_wait),
	T3_ARGUMENT(SPACE_EVENTFD, space_eventfd),
	T3_ARGUMENT(SPACE_WAIT_FD, space_wait_fd),
	T3_ARGUMENT(SPACE_STATS, space_stats),
	T3_ARGUMENT(SPACE_TILE, space_tile),
	T3_ARGUMENT(SEGMENT_MAP, segment_map),
	T3_ARGUMENT(SEGMENT_UNMAP, segment_unmap),
	T3_ARGUMENT(SEGMENT_STAGING, segment_staging),
	T3_ARGUMENT(SEGMENT_WIDEN, segment_widen),
	T3_ARGUMENT(GRANT_EXPORT, grant_export), T3_ARGUMENT(GRANT_REVOKE, grant_revoke),
	T3_ARGUMENT(GRANT_IMPORT, grant_import), T3_ARGUMENT(GRANT_RELEASE, grant_release),
	T3_ARGUMENT(KEY_EXPORT, key_export), T3_ARGUMENT(KEY_IMPORT, key_import),
	T3_ARGUMENT(QUEUE_CREATE, queue_create), T3_ARGUMENT(QUEUE_DESTROY, queue_destroy),
	T3_ARGUMENT(QUEUE_SUBMIT, queue_submit),
	T3_ARGUMENT(REFUSAL, refusal),
	T3_ARGUMENT(GROUP_CREATE, group_create), T3_ARGUMENT(GROUP_MEMBER, group_member),
	T3_ARGUMENT(GROUP_JOIN, group_join), T3_ARGUMENT(GROUP_DESTROY, group_destroy),
	T3_ARGUMENT(GROUP_QUERY, group_query),
	/* of the core */
	[DRM_IOCTL_NR(DRM_IOCTL_GEM_CLOSE)] = "drm_gem_close",
	[DRM_IOCTL_NR(DRM_IOCTL_PRIME_HANDLE_TO_FD)] = "drm_prime_handle",
	[DRM_IOCTL_NR(DRM_IOCTL_PRIME_FD_TO_HANDLE)] = "drm_prime_handle",
	[DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_CREATE)] = "drm_syncobj_create",
	[DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_DESTROY)] = "drm_syncobj_destroy",
	[DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD)] = "drm_syncobj_handle",
	[DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE)] = "drm_syncobj_handle",
	[DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_EVENTFD)] = "drm_syncobj_eventfd",
	[DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_WAIT)] = "drm_syncobj_wait",
	[DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_RESET)] = "drm_syncobj_array",
	[DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_SIGNAL)] = "drm_syncobj_array",
	[DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT)] = "drm_syncobj_timeline_wait",
	[DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_QUERY)] = "drm_syncobj_timeline_array",
	[DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_TRANSFER)] = "drm_syncobj_transfer",
	[DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL)] = "drm_syncobj_timeline_array",
};

static const char *t3_argument(unsigned int nr)
{
	return nr < ARRAY_SIZE(t3_arguments) && t3_arguments[nr] ? t3_arguments[nr] : "";
}

/* ------------------------------------------------------------- while it runs */

static struct t3_refusals *t3_refusals_of(struct drm_file *file)
{
	struct t3_file *tfile = file ? file->driver_priv : NULL; /* KUnit has none */

	return tfile ? tfile->refusals : NULL;
}

static bool t3_record_is_mine(const struct t3_record *record)
{
	return record->serial && record->tid == task_pid_nr(current) &&
	       record->started == current->start_boottime;
}

/* The thread's record, or NULL. */
static struct t3_record *t3_record_find(struct t3_refusals *refusals)
{
	u32 i;

	lockdep_assert_held(&refusals->lock);
	for (i = 0; i < T3_REFUSALS; i++)
		if (t3_record_is_mine(&refusals->records[i]))
			return &refusals->records[i];
	return NULL;
}

/* A record whose ioctl has not returned is given away last: what it names cannot be said again. */
static bool t3_record_goes_before(const struct t3_record *a, const struct t3_record *b)
{
	return a->pending == b->pending ? a->serial < b->serial : b->pending;
}

/* Begins the thread's record anew; without one, in the place of the oldest. */
static struct t3_record *t3_record_begin(struct t3_refusals *refusals, int error,
					 const struct t3_site *site)
{
	struct t3_record *record = t3_record_find(refusals);
	u32 i;

	if (!record) {
		record = &refusals->records[0];
		for (i = 1; i < T3_REFUSALS; i++)
			if (t3_record_goes_before(&refusals->records[i], record))
				record = &refusals->records[i];
	}
	*record = (struct t3_record){
		.tid = task_pid_nr(current),
		.started = current->start_boottime,
		.serial = ++refusals->serial,
		.pending = true,
		.error = error,
		.site = site,
		.index = ~0u,
	};
	return record;
}

/* The record of an error that the thread's ioctl is about to return, or NULL. */
static struct t3_record *t3_record_pending(struct t3_refusals *refusals, int error)
{
	struct t3_record *record = t3_record_find(refusals);

	return record && record->pending && record->error == error ? record : NULL;
}

/**
 * t3_refuse_at() - refuse a value
 * @file: the open file, whose ioctl this is; NULL in KUnit tests
 * @error: negative errno
 * @site: which field, and what is allowed; static
 * @value: of the field
 * @min: least allowed value, if @site says so
 * @max: greatest allowed value, likewise
 *
 * The ioctl returns @error next.
 *
 * Context: process context.
 * Return: @error.
 */
int t3_refuse_at(struct drm_file *file, int error, const struct t3_site *site, u64 value, u64 min,
		 u64 max)
{
	struct t3_refusals *refusals = t3_refusals_of(file);
	struct t3_record *record;

	if (!refusals)
		return error;
	spin_lock(&refusals->lock);
	record = t3_record_begin(refusals, error, site);
	record->value = value;
	record->min = min;
	record->max = max;
	spin_unlock(&refusals->lock);
	return error;
}

/**
 * t3_refused() - say where the field is that was refused
 * @file: the open file
 * @error: that the ioctl is about to return
 * @type: struct that the field is in, where it is not the argument; a literal; NULL: as before
 * @outer: member of the argument in which that struct is; a literal; NULL: as before
 * @index: of the element of an array in which it is; ~0: as before
 *
 * Context: process context.
 * Return: @error.
 */
int t3_refused(struct drm_file *file, int error, const char *type, const char *outer, u32 index)
{
	struct t3_refusals *refusals = t3_refusals_of(file);
	struct t3_record *record;

	if (!refusals)
		return error;
	spin_lock(&refusals->lock);
	record = t3_record_pending(refusals, error);
	if (record) {
		record->type = type ?: record->type;
		record->outer = outer ?: record->outer;
		record->index = index != ~0u ? index : record->index;
	}
	spin_unlock(&refusals->lock);
	return error;
}

static u64 t3_rule_value(const struct t3_rule *rule, const void *args)
{
	const void *at = args + rule->offset;
	bool sign = rule->site.what & DRM_T3_REFUSAL_SIGNED;

	if (rule->size == sizeof(u64))
		return *(const u64 *)at;
	if (sign)
		return *(const s32 *)at;
	return *(const u32 *)at;
}

/**
 * t3_check_rules() - check the fields of an argument that have a rule
 * @file: the open file
 * @args: the argument; all fields with rules have 4 or 8 bytes
 * @rules: checked in order
 * @count: of @rules
 *
 * Context: process context.
 * Return: 0, or -EINVAL: t3_refuse() was called for the first field that breaks its rule.
 */
int t3_check_rules(struct drm_file *file, const void *args, const struct t3_rule *rules,
		   size_t count)
{
	const struct t3_rule *rule;

	for (rule = rules; rule < rules + count; rule++) {
		u64 value;

		if (rule->kind == T3_RULE_CAUSE)
			continue;
		value = t3_rule_value(rule, args);
		if (rule->kind == T3_RULE_BITS ? value & ~rule->max
					       : value < rule->min || value > rule->max)
			return t3_refuse_at(file, rule->error, &rule->site, value, rule->min,
					    rule->max);
	}
	return 0;
}

/**
 * t3_explain_rules() - name the field that an error is about
 * @file: the open file
 * @args: the argument
 * @error: that the ioctl returns, or 0
 * @rules: T3_CAUSE() for each error that may come from a lower layer
 * @count: of @rules
 *
 * Context: process context.
 * Return: @error.
 */
int t3_explain_rules(struct drm_file *file, const void *args, int error,
		     const struct t3_rule *rules, size_t count)
{
	struct t3_refusals *refusals = error ? t3_refusals_of(file) : NULL;
	const struct t3_rule *rule;
	bool named;

	if (!refusals)
		return error;
	spin_lock(&refusals->lock);
	named = t3_record_pending(refusals, error);
	spin_unlock(&refusals->lock);
	for (rule = rules; !named && rule < rules + count; rule++)
		if (rule->kind == T3_RULE_CAUSE && rule->error == error)
			return t3_refuse_at(file, error, &rule->site, t3_rule_value(rule, args), 0,
					    0);
	return error;
}

/* ---------------------------------------------------------------- at its end */

/* An ioctl of the core: what an error of it means. */
struct t3_core_cause {
	unsigned int nr;
	int error;
	struct t3_site site;
};

#define T3_CORE(cmd, number, name, text)                          \
	{                                                         \
		DRM_IOCTL_NR(cmd), number, T3_SITE(name, text, 0) \
	}

static const struct t3_core_cause t3_core_causes[] = {
	T3_CORE(DRM_IOCTL_GEM_CLOSE, -EINVAL, "handle", "a GEM handle of this open file"),
	T3_CORE(DRM_IOCTL_PRIME_HANDLE_TO_FD, -ENOENT, "handle", "a GEM handle of this open file"),
	T3_CORE(DRM_IOCTL_PRIME_HANDLE_TO_FD, -EINVAL, "flags", "DRM_CLOEXEC, DRM_RDWR"),
	T3_CORE(DRM_IOCTL_PRIME_FD_TO_HANDLE, -EBADF, "fd", "a dma-buf"),
	T3_CORE(DRM_IOCTL_PRIME_FD_TO_HANDLE, -EINVAL, "fd", "a dma-buf of whole pages"),
	T3_CORE(DRM_IOCTL_PRIME_FD_TO_HANDLE, -EXDEV, "fd", "device memory of the same fabric"),
	T3_CORE(DRM_IOCTL_PRIME_FD_TO_HANDLE, -EOPNOTSUPP, "fd",
		"a dma-buf that its exporter gives to this device, with coherent DMA"),
	T3_CORE(DRM_IOCTL_PRIME_FD_TO_HANDLE, -ENODEV, "fd",
		"a dma-buf whose exporter has not gone"),
	T3_CORE(DRM_IOCTL_SYNCOBJ_CREATE, -EINVAL, "flags", "DRM_SYNCOBJ_CREATE_SIGNALED or 0"),
	T3_CORE(DRM_IOCTL_SYNCOBJ_DESTROY, -EINVAL, "handle", "a syncobj of this open file"),
	T3_CORE(DRM_IOCTL_SYNCOBJ_EVENTFD, -ENOENT, "handle", "a syncobj of this open file"),
	T3_CORE(DRM_IOCTL_SYNCOBJ_EVENTFD, -EBADF, "fd", "an eventfd"),
};

/* Errors that no function has named, because the core found them. */
static const struct t3_site *t3_core_site(unsigned int nr, int error)
{
	static const struct t3_site none = T3_SITE("", "", 0);
	static const struct t3_site argp = {
		.type = "ioctl",
		.field = "argp",
		.allowed = "an address where the argument can be read, and its results written",
	};
	static const struct t3_site request = {
		.type = "ioctl",
		.field = "request",
		.allowed = "an ioctl that this driver offers to this caller",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t3_core_causes); i++)
		if (t3_core_causes[i].nr == nr && t3_core_causes[i].error == error)
			return &t3_core_causes[i].site;
	switch (error) {
	case -EFAULT:
		return &argp;
	case -ENOTTY: /* another type of ioctl */
		return &request;
	case -EINVAL:
	case -EACCES:
	case -EOPNOTSUPP:
		return *t3_argument(nr) ? &none : &request;
	default:
		return &none;
	}
}

static void t3_record_describe(const struct t3_record *record, struct drm_t3_refusal *out)
{
	const struct t3_site *site = record->site;
	const char *type = record->type ?: site->type;

	if (!type && (record->outer || *site->field))
		type = t3_argument(DRM_IOCTL_NR(record->cmd));
	*out = (struct drm_t3_refusal){
		.request = record->cmd,
		.error = -record->error,
		.index = record->index,
		.what = site->what,
		.serial = record->serial,
		.value = record->value,
		.minimum = record->min,
		.maximum = record->max,
	};
	strscpy(out->struct_name, type ?: "");
	snprintf(out->field, sizeof(out->field), "%s%s%s", record->outer ?: "",
		 record->outer && *site->field ? "." : "", site->field);
	if (site->allowed)
		strscpy(out->allowed, site->allowed);
	else if (record->min == record->max)
		snprintf(out->allowed, sizeof(out->allowed), "%lld", (s64)record->min);
	else if (site->what & DRM_T3_REFUSAL_SIGNED)
		snprintf(out->allowed, sizeof(out->allowed), "%lld to %lld", (s64)record->min,
			 (s64)record->max);
	else
		snprintf(out->allowed, sizeof(out->allowed), "%llu to %llu", record->min,
			 record->max);
}

/* A wait that was not met, or is called again after a signal, refuses nothing. */
static bool t3_is_refusal(unsigned int nr, long ret)
{
	switch (ret) {
	case -EINTR:
	case -ERESTARTSYS:
	case -ETIME:
	case -ETIMEDOUT:
		return false;
	case -ENODATA:
		return nr != DRM_IOCTL_NR(DRM_IOCTL_T3_REFUSAL);
	default:
		return ret < 0;
	}
}

/**
 * t3_refusal_end() - keep and report the refusal of an ioctl that has failed
 * @file: the open file
 * @cmd: the ioctl, as the caller gave it
 * @ret: that it returns, negative
 *
 * Context: process context.
 * Return: @ret.
 */
long t3_refusal_end(struct drm_file *file, unsigned int cmd, long ret)
{
	struct t3_refusals *refusals = t3_refusals_of(file);
	unsigned int nr = DRM_IOCTL_NR(cmd);
	struct drm_t3_refusal refusal;
	struct t3_record *record;

	if (!t3_is_refusal(nr, ret))
		return ret;
	spin_lock(&refusals->lock);
	record = t3_record_pending(refusals, ret)
			 ?: t3_record_begin(refusals, ret, t3_core_site(nr, ret));
	record->cmd = cmd;
	record->pending = false;
	t3_record_describe(record, &refusal);
	spin_unlock(&refusals->lock);
	trace_t3_refusal(t3_file_device(file), &refusal);
	drm_dbg(&t3_file_device(file)->drm, "ioctl %#x: %ld: %s.%s (%d) is %#llx; allowed: %s\n",
		cmd, ret, refusal.struct_name, refusal.field, (int)refusal.index, refusal.value,
		refusal.allowed);
	return ret;
}

/* -------------------------------------------------------------------- ioctl */

static const struct t3_rule t3_refusal_rules[] = {
	T3_ZERO(drm_t3_refusal, flags),
	T3_ZERO(drm_t3_refusal, pad),
};

/**
 * t3_refusal_ioctl() - DRM_IOCTL_T3_REFUSAL
 * @drm: the device
 * @data: &struct drm_t3_refusal
 * @file: the open file
 *
 * Context: process context.
 * Return: 0, or an error that the comment of &struct drm_t3_refusal lists.
 */
int t3_refusal_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct t3_refusals *refusals = t3_refusals_of(file);
	struct drm_t3_refusal *args = data;
	struct t3_record *record;
	int ret;

	ret = t3_check(file, args, t3_refusal_rules);
	if (ret)
		return ret;
	spin_lock(&refusals->lock);
	record = t3_record_find(refusals);
	if (record && !record->pending)
		t3_record_describe(record, args);
	else
		ret = -ENODATA;
	spin_unlock(&refusals->lock);
	return ret;
}

/**
 * t3_refusals_new() - make the records of an open file
 *
 * Context: process context.
 * Return: the records, or NULL.
 */
struct t3_refusals *t3_refusals_new(void)
{
	struct t3_refusals *refusals = kzalloc_obj(*refusals, GFP_KERNEL_ACCOUNT);

	if (refusals)
		spin_lock_init(&refusals->lock);
	return refusals;
}

/**
 * t3_refusals_free() - free the records of an open file
 * @refusals: from t3_refusals_new(), or NULL
 */
void t3_refusals_free(struct t3_refusals *refusals)
{
	kfree(refusals);
}

#ifdef T3_KUNIT
#include "tests/t3_refuse_test.c"
#endif

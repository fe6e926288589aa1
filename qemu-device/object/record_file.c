/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of a fabric's record. SPEC.md section 14. It is written through a shared mapping. So
 * every record is in the file even if QEMU is killed or crashes right after it, without a system
 * call for each. Space is reserved before it is mapped, so that a full disk is an error and not a
 * signal. Reserved bytes that are not used are zero, which readers take as the end.
 */
#include "qemu/osdep.h"
#include <sys/resource.h>
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/notify.h"
#include "qemu/units.h"
#include "migration/blocker.h"
#include "system/system.h"
#include "object/record_file.h"

#define WINDOW ((size_t)1 * MiB) /* a multiple of any page size */

struct T3Record {
	struct t3_fabric *core;
	char *path;
	int fd;
	uint8_t *window; /* NULL: a write failed, and the rest of the record is lost */
	off_t start;	 /* of the window in the file */
	size_t used;
	Notifier exit;
	Error *blocker;
};

/* -------------------------------------------------------------------- file */

/* Maps the window at `start`. Returns 0 or an errno. */
static int map_window(T3Record *record, off_t start)
{
	struct rlimit limit;
	void *window;
	int error;

	/* Beyond this limit a reservation does not only fail: SIGXFSZ ends QEMU. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < start + WINDOW)
		return EFBIG;
	error = posix_fallocate(record->fd, start, WINDOW);
	if (error)
		return error;
	window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, record->fd, start);
	if (window == MAP_FAILED)
		return errno;
	record->window = window;
	record->start = start;
	record->used = 0;
	return 0;
}

static void unmap_window(T3Record *record)
{
	munmap(record->window, WINDOW);
	record->window = NULL;
}

static bool next_window(T3Record *record)
{
	off_t end = record->start + WINDOW;
	int error;

	unmap_window(record);
	error = map_window(record, end);
	if (!error)
		return true;
	if (ftruncate(record->fd, end))
		error_report("t3: the record %s cannot be truncated: %s", record->path,
			     strerror(errno));
	error_report("t3: the record %s ends after %" PRIu64 " bytes: %s", record->path,
		     (uint64_t)end, strerror(error));
	return false;
}

static void emit(void *opaque, const void *data, size_t len)
{
	T3Record *record = opaque;
	const uint8_t *from = data;

	while (len && record->window) {
		size_t piece = MIN(len, WINDOW - record->used);

		memcpy(record->window + record->used, from, piece);
		record->used += piece;
		from += piece;
		len -= piece;
		if (record->used == WINDOW && !next_window(record))
			return;
	}
}

static bool open_file(T3Record *record, Error **errp)
{
	struct stat st;
	int error;

	record->fd = qemu_create(record->path, O_RDWR, 0666, errp);
	if (record->fd < 0)
		return false;
	if (fstat(record->fd, &st) || !S_ISREG(st.st_mode)) {
		error_setg(errp, "record='%s' is not a regular file", record->path);
		return false;
	}
	/* A file that another fabric or another QEMU writes must not be truncated. */
	if (qemu_lock_fd(record->fd, 0, 1, true)) {
		error_setg(errp, "record='%s' is in use by another fabric or another QEMU",
			   record->path);
		return false;
	}
	error = ftruncate(record->fd, 0) ? errno : map_window(record, 0);
	if (error)
		error_setg_errno(errp, error, "record='%s' cannot be written", record->path);
	return !error;
}

static void close_file(T3Record *record)
{
	if (record->window) {
		unmap_window(record);
		if (ftruncate(record->fd, record->start + record->used))
			error_report("t3: the record %s cannot be truncated: %s", record->path,
				     strerror(errno));
	}
	if (record->fd >= 0)
		close(record->fd);
	g_free(record->path);
	g_free(record);
}

/* -------------------------------------------------------------- start, end */

/* QEMU does not delete objects in use when it exits, so this ends the record. */
static void at_exit(Notifier *notifier, void *data)
{
	T3Record *record = container_of(notifier, T3Record, exit);

	t3_fabric_record_stop(record->core);
	if (!record->window)
		return;
	unmap_window(record);
	if (ftruncate(record->fd, record->start + record->used))
		error_report("t3: the record %s cannot be truncated: %s", record->path,
			     strerror(errno));
}

/* A record contains no loaded state, so it blocks migration. */
static bool block_migration(T3Record *record, Error **errp)
{
	error_setg(&record->blocker, "the fabric is being recorded to %s", record->path);
	return migrate_add_blocker(&record->blocker, errp) == 0;
}

T3Record *t3_record_start(const char *path, struct t3_fabric *core, Error **errp)
{
	T3Record *record = g_new0(T3Record, 1);

	record->core = core;
	record->path = g_strdup(path);
	record->fd = -1;
	if (!open_file(record, errp) || !block_migration(record, errp)) {
		close_file(record);
		return NULL;
	}
	if (!t3_fabric_record(core, emit, record)) {
		error_setg(errp, "no memory to record the fabric");
		migrate_del_blocker(&record->blocker);
		close_file(record);
		return NULL;
	}
	record->exit.notify = at_exit;
	qemu_add_exit_notifier(&record->exit);
	return record;
}

void t3_record_finish(T3Record *record)
{
	qemu_remove_exit_notifier(&record->exit);
	t3_fabric_record_stop(record->core);
	migrate_del_blocker(&record->blocker);
	close_file(record);
}

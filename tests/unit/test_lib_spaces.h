/* SPDX-License-Identifier: MIT */
/*
 * Devices that plans can be made on. Each keeps what libt3 told its kernel, and the test plays the
 * hardware: it reads the doorbell page and writes the event area. The aperture of a space is its
 * buffer, so that what a rank puts is in its own memory, and nothing moves to others. For one source
 * file per program. Include it first.
 */
#ifndef TEST_LIB_SPACES_H
#define TEST_LIB_SPACES_H

#include "test_lib_fabric.h"

#include "plan/plan.h"
#include "test.h"

#define RANKS	    3u
#define DEVICE_SIZE 0x400000u
#define AT_DOORBELL 0x1000u /* of space 1; then its event area, then those of the next space */
#define AT_BUFFERS  0x40000u
#define SPACES	    31u
#define BUFFERS	    32u
#define IMPORT	    100u /* + the rank that granted it */
#define KEYED	    200u
#define SUMMED	    300u /* + the rank whose group it is */
#define COPIED	    400u

struct hardware {
	struct t3_device *dev;
	unsigned char *memory;	      /* the whole device */
	uint32_t spaces, buffers;     /* that there are now */
	uint32_t spaces_made, made;   /* of all times; the last one's handle */
	uint64_t buffer[BUFFERS + 1]; /* where they are */
	uint64_t free;
	struct drm_t3_segment_map segment[T3_LAYOUT_SEGMENTS]; /* kind 0: not mapped */
	uint32_t import[T3_LAYOUT_SEGMENTS][T3_COMM_RANKS_MAX];
	struct drm_t3_segment_staging staging[T3_LAYOUT_SEGMENTS];
	struct drm_t3_segment_widen widen[T3_LAYOUT_SEGMENTS];
	struct drm_t3_grant_export grant[RANKS]; /* by the rank it is for */
	struct drm_t3_key_export key[RANKS];
	/* Of a switch, by drm_t3_group_kind; joins by the rank whose group it is. */
	struct drm_t3_group_create group[3];
	struct drm_t3_group_member member[3][RANKS];
	struct drm_t3_group_join joins[RANKS];
	struct drm_t3_group_query ended; /* the answer for group ended.group; 0: for none */
	unsigned long fails;		 /* a call that fails with error, the skip-th on */
	int error;
	uint32_t skip;
	struct drm_t3_space_tile tile;	 /* tiles 0: there is no T3_SPACE_TILE */
	struct drm_t3_space_stats stats; /* tiles 0: no statistics */
	uint32_t waits;			 /* asleep in the kernel */
};

static struct hardware hw[RANKS];
static struct t3_comm *comms[RANKS];
static struct t3_plan *plans[RANKS];
static unsigned int fds;

/* --------------------------------------------------------------- its registers */

static inline unsigned char *page(uint32_t rank, uint32_t space)
{
	return hw[rank].memory + AT_DOORBELL + (space - 1) * 0x2000;
}

/* Those of the rank's last space, if none is named. */
static inline volatile struct drm_t3_event_area *events(uint32_t rank)
{
	return (volatile struct drm_t3_event_area *)(page(rank, hw[rank].spaces_made) + 0x1000);
}

static inline void become(uint32_t rank, uint32_t state, uint32_t epoch)
{
	events(rank)->state = (uint64_t)state << 32 | epoch;
}

static inline uint32_t doorbell(uint32_t rank, uint32_t offset)
{
	return *(volatile uint32_t *)(page(rank, hw[rank].spaces_made) + offset);
}

/* ----------------------------------------------------------------- its kernel */

static struct hardware *hardware_of(int fd)
{
	struct drm_t3_device_info info;

	assert_int_equal(pread(fd, &info, sizeof(info), 0), sizeof(info));
	assert_true(info.rank < RANKS);
	return &hw[info.rank];
}

static void create_buffer(struct hardware *h, struct drm_t3_bo_create *arg)
{
	arg->size = (arg->size + 4095) & ~UINT64_C(4095);
	arg->handle = ++h->made;
	assert_true(h->made <= BUFFERS && h->free + arg->size <= DEVICE_SIZE);
	h->buffer[arg->handle] = h->free;
	h->free += arg->size;
	h->buffers++;
}

static void create_space(struct hardware *h, struct drm_t3_space_create *arg)
{
	arg->space = ++h->spaces_made;
	assert_true(arg->space <= SPACES);
	arg->size = h->free - h->buffer[arg->bo_handle];
	arg->aperture_offset = h->buffer[arg->bo_handle];
	arg->doorbell_offset = AT_DOORBELL + (arg->space - 1) * 0x2000;
	arg->event_offset = arg->doorbell_offset + 0x1000;
	memset(h->segment, 0, sizeof(h->segment));
	h->spaces++;
	become((uint32_t)(h - hw), DRM_T3_SPACE_IDLE, 0);
}

static void map_segment(struct hardware *h, const struct drm_t3_segment_map *arg)
{
	uint32_t count = arg->import_count;

	h->segment[arg->segment] = *arg;
	h->import[arg->segment][0] = arg->import;
	if (count)
		memcpy(&h->import[arg->segment][1], (const void *)(uintptr_t)arg->imports,
		       count * sizeof(uint32_t));
}

/* A grant is for one rank. Its file has the number of the rank that gave it. */
static int export_grant(struct hardware *h, struct drm_t3_grant_export *arg)
{
	uint32_t from = (uint32_t)(h - hw);

	assert_int_equal(__builtin_popcount(arg->rank_mask), 1);
	arg->fd = memfd_create("grant", MFD_CLOEXEC);
	h->grant[__builtin_ctz(arg->rank_mask)] = *arg;
	return write(arg->fd, &from, sizeof(from)) == sizeof(from) ? 0 : EIO;
}

static void export_key(struct hardware *h, struct drm_t3_key_export *arg)
{
	assert_int_equal(__builtin_popcount(arg->rank_mask), 1);
	arg->key.rank = (uint32_t)(h - hw);
	h->key[__builtin_ctz(arg->rank_mask)] = *arg;
}

static int import_grant(struct drm_t3_grant_import *arg)
{
	uint32_t from;

	if (pread(arg->fd, &from, sizeof(from), 0) != sizeof(from))
		return EINVAL;
	arg->import = IMPORT + from;
	return 0;
}

/* The numbers of groups say whose they are. */
static void create_group(struct hardware *h, struct drm_t3_group_create *arg)
{
	uint32_t rank = (uint32_t)(h - hw);

	arg->group = arg->kind;
	arg->import = arg->kind == DRM_T3_GROUP_MULTICAST ? COPIED + rank : 0;
	arg->ticket.number = rank;
	h->group[arg->kind] = *arg;
}

static void make_member(struct hardware *h, struct drm_t3_group_member *arg)
{
	if (arg->group == DRM_T3_GROUP_REDUCE)
		arg->key = (struct drm_t3_key){ .rank = DRM_T3_SWITCH_RANK,
						.space = (uint32_t)(h - hw),
						.import = arg->member };
	h->member[arg->group][arg->member] = *arg;
}

static void join_group(struct hardware *h, struct drm_t3_group_join *arg)
{
	h->joins[arg->ticket.number] = *arg;
	arg->target.rank = (uint32_t)(h - hw);
}

/* libt3 looks at the event area again after each. */
static int wait_asleep(struct hardware *h, const struct drm_t3_space_wait *arg)
{
	const struct timespec pause = { .tv_nsec = 50000 };

	if (events((uint32_t)(h - hw))->state >> 32 == DRM_T3_SPACE_DEAD)
		return ENODEV;
	h->waits++;
	nanosleep(&pause, NULL);
	return t3_deadline(0) < arg->deadline_ns ? 0 : ETIMEDOUT;
}

static int do_call(struct hardware *h, unsigned long request, void *arg)
{
	switch (request) {
	case DRM_IOCTL_T3_BO_CREATE:
		create_buffer(h, arg);
		return 0;
	case DRM_IOCTL_T3_BO_MMAP_OFFSET: {
		struct drm_t3_bo_mmap_offset *offset = arg;

		offset->offset = h->buffer[offset->handle];
		return 0;
	}
	case DRM_IOCTL_GEM_CLOSE:
		h->buffers--;
		return 0;
	case DRM_IOCTL_T3_SPACE_CREATE:
		create_space(h, arg);
		return 0;
	case DRM_IOCTL_T3_SPACE_DESTROY:
		h->spaces--;
		return 0;
	case DRM_IOCTL_T3_SEGMENT_MAP:
		map_segment(h, arg);
		return 0;
	case DRM_IOCTL_T3_SEGMENT_STAGING: {
		const struct drm_t3_segment_staging *staging = arg;

		if (staging->offset % 8 || staging->slot_stride % 8)
			return EINVAL;
		h->staging[staging->segment] = *staging;
		return 0;
	}
	case DRM_IOCTL_T3_SEGMENT_WIDEN: {
		const struct drm_t3_segment_widen *widen = arg;

		if (widen->offset % 8)
			return EINVAL;
		h->widen[widen->segment] = *widen;
		return 0;
	}
	case DRM_IOCTL_T3_GRANT_EXPORT:
		return export_grant(h, arg);
	case DRM_IOCTL_T3_GRANT_IMPORT:
		return import_grant(arg);
	case DRM_IOCTL_T3_KEY_EXPORT:
		export_key(h, arg);
		return 0;
	case DRM_IOCTL_T3_KEY_IMPORT: {
		struct drm_t3_key_import *key = arg;

		key->import = key->key.rank == DRM_T3_SWITCH_RANK ? SUMMED + key->key.space
								  : KEYED + key->key.rank;
		return 0;
	}
	case DRM_IOCTL_T3_GROUP_CREATE:
		create_group(h, arg);
		return 0;
	case DRM_IOCTL_T3_GROUP_MEMBER:
		make_member(h, arg);
		return 0;
	case DRM_IOCTL_T3_GROUP_QUERY: {
		struct drm_t3_group_query *query = arg;

		if (query->group != h->ended.group)
			return ENOENT;
		*query = h->ended;
		return 0;
	}
	case DRM_IOCTL_T3_GROUP_JOIN:
		join_group(h, arg);
		return 0;
	case DRM_IOCTL_T3_SPACE_TILE:
		*(struct drm_t3_space_tile *)arg = h->tile;
		return h->tile.tiles ? 0 : EINVAL;
	case DRM_IOCTL_T3_SPACE_STATS:
		*(struct drm_t3_space_stats *)arg = h->stats;
		return h->stats.tiles ? 0 : EINVAL;
	case DRM_IOCTL_T3_SPACE_WAIT:
		return wait_asleep(h, arg);
	default:
		return ENOTTY;
	}
}

static int do_hardware(int fd, unsigned long request, void *arg)
{
	struct hardware *h = hardware_of(fd);

	if (request == h->fails && request && !h->skip--) {
		h->fails = 0;
		return h->error;
	}
	return do_call(h, request, arg);
}

/* The call of a rank fails once, when so many of its kind have passed. */
static inline void fail_call(uint32_t rank, unsigned long request, uint32_t skip, int error)
{
	hw[rank].fails = request;
	hw[rank].skip = skip;
	hw[rank].error = error;
}

/* --------------------------------------------------------------------- set-up */

static inline void set_memory(uint32_t rank, uint64_t size)
{
	assert_int_equal(pwrite(t3_device_fd(hw[rank].dev), &size, sizeof(size),
				offsetof(struct drm_t3_device_info, memory_size)),
			 sizeof(size));
}

static inline void start_device(uint32_t rank)
{
	struct hardware *h = &hw[rank];
	int fd;

	memset(h, 0, sizeof(*h));
	h->free = AT_BUFFERS;
	h->dev = device_new(FABRIC, rank);
	fd = t3_device_fd(h->dev);
	set_memory(rank, DEVICE_SIZE);
	assert_int_equal(ftruncate(fd, DEVICE_SIZE), 0);
	h->memory = mmap(NULL, DEVICE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(h->memory != MAP_FAILED);
}

static inline int start(void)
{
	struct t3_device *devs[RANKS];
	uint32_t r;

	fds = count_fds();
	for (r = 0; r < RANKS; r++) {
		start_device(r);
		devs[r] = hw[r].dev;
	}
	fabric_kernel = do_hardware;
	assert_int_equal(t3_comm_create_local(devs, RANKS, comms), 0);
	return 0;
}

static inline uint32_t mapped_shared_states(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint32_t count = 0;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "memfd:t3-plan") != NULL;
	fclose(maps);
	return count;
}

/* All that a plan made is gone. */
static inline int stop(void)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		t3_plan_destroy(plans[r]);
		plans[r] = NULL;
	}
	for (r = 0; r < RANKS; r++) {
		t3_comm_destroy(comms[r]);
		assert_int_equal(hw[r].spaces, 0);
		assert_int_equal(hw[r].buffers, 0);
		munmap(hw[r].memory, DEVICE_SIZE);
		t3_device_close(hw[r].dev);
	}
	assert_int_equal(mapped_shared_states(), 0);
	assert_int_equal(count_fds(), fds);
	return 0;
}

static inline void make_plans(const struct t3_plan_desc *desc)
{
	assert_int_equal(t3_plan_create_all(comms, RANKS, desc, plans), 0);
}

/* All ranks have armed that epoch, and each is ready for input. */
static inline void ready_all(uint32_t epoch)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		assert_int_equal(t3_plan_arm(plans[r]), 0);
		assert_int_equal(doorbell(r, DRM_T3_DOORBELL_ARM), epoch);
		become(r, DRM_T3_SPACE_ARMED, epoch);
	}
	for (r = 0; r < RANKS; r++)
		assert_int_equal(t3_plan_ready(plans[r], 0), 0);
}

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, stop)

#endif /* TEST_LIB_SPACES_H */

// SPDX-License-Identifier: MIT
/* DRM_T3_KEY_EXPORT and _IMPORT: grants by key, between devices of one machine. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "child.h"
#include "raw.h"

#define GRANTS 32 /* per space */
#define KEYS   "/sys/module/t3/parameters/keys"

/* A source on rank 0 and a target on rank 1, its neighbour. */
struct pair {
	struct raw source, target;
	struct drm_t3_key key;
	uint32_t grant;
};

static void open_pair(struct pair *p)
{
	raw_open(&p->source, 0, PAGE);
	raw_open(&p->target, 1, PAGE);
	CHECK_EQ(raw_key_export(&p->target, 1, 1u << DRM_T3_OP_ADD, &p->key, &p->grant), 0);
}

static void close_pair(struct pair *p)
{
	raw_close(&p->source);
	raw_close(&p->target);
}

static void allow(const char *rule)
{
	FILE *file = fopen(KEYS, "w");

	CHECK(file);
	CHECK(fputs(rule, file) >= 0);
	CHECK_EQ(fclose(file), 0);
}

/* Stores of the source count at the target, as with a descriptor. */
TEST("updates pass by a key as by a descriptor")
{
	struct drm_t3_segment_map sender;
	struct drm_t3_fault fault;
	uint32_t import, i;
	struct pair p;

	open_pair(&p);
	CHECK_EQ(raw_key_import(&p.source, &p.key, &import), 0);
	CHECK(import);
	raw_map_local(&p.target);
	sender = raw_sender(&p.source, DRM_T3_SEGMENT_REMOTE, import, 0);
	CHECK_EQ(raw_map(&p.source, &sender), 0);
	raw_arm(&p.target, 1);
	raw_arm(&p.source, 1);
	CHECK_EQ(raw_wait(&p.source, DRM_T3_WAIT_ARMED, 1, 0, after_ms(5000)), 0);
	raw_fill(&p.source, 0, RAW_SEGMENT_BYTES, 7);
	CHECK_EQ(raw_wait(&p.target, DRM_T3_WAIT_TRACKED, 1, 1, after_ms(5000)), 0);
	for (i = 0; i < RAW_SEGMENT_BYTES / 4; i++)
		CHECK_EQ(((uint32_t *)p.target.memory)[i], 7);
	raw_release(&p.target, 1);
	raw_release(&p.source, 1);
	/* Revocation is as with a descriptor, too. */
	CHECK_EQ(raw_revoke(&p.target, p.grant), 0);
	raw_arm(&p.source, 2);
	CHECK_EQ(raw_wait_fault(&p.source, 2, &fault), -EIO);
	CHECK_EQ(fault.kind, DRM_T3_FAULT_PEER_DEAD);
	close_pair(&p);
}

TEST("a key has the rights of its grant")
{
	struct drm_t3_segment_map sender;
	uint32_t import;
	struct pair p;

	open_pair(&p);
	CHECK_EQ(raw_key_import(&p.source, &p.key, &import), 0);
	sender = raw_sender(&p.source, DRM_T3_SEGMENT_DMA, import, 1); /* segment 0 is granted */
	CHECK_EQ(raw_map(&p.source, &sender), -EACCES);
	close_pair(&p);
}

/* More rights in the key than at the target: the driver lets it pass, the target does not. */
TEST("forged rights in a key give none")
{
	struct drm_t3_segment_map sender;
	struct drm_t3_fault fault;
	uint32_t import;
	struct pair p;

	open_pair(&p);
	p.key.segment_mask = ~0ull;
	CHECK_EQ(raw_key_import(&p.source, &p.key, &import), 0);
	raw_map_local(&p.target);
	sender = raw_sender(&p.source, DRM_T3_SEGMENT_REMOTE, import, 1);
	CHECK_EQ(raw_map(&p.source, &sender), 0);
	raw_arm(&p.target, 1);
	raw_arm(&p.source, 1);
	CHECK_EQ(raw_wait(&p.source, DRM_T3_WAIT_ARMED, 1, 0, after_ms(5000)), 0);
	raw_fill(&p.source, 0, RAW_SEGMENT_BYTES, 7);
	CHECK_EQ(raw_wait_fault(&p.source, 1, &fault), -EIO);
	CHECK_EQ(fault.kind, DRM_T3_FAULT_REJECTED);
	CHECK_EQ(fault.detail, DRM_T3_NAK_NO_GRANT);
	close_pair(&p);
}

TEST("guessed keys are refused")
{
	struct drm_t3_key key;
	struct pair p;
	size_t i;

	open_pair(&p);
	for (i = 0; i < sizeof(key.secret); i++) {
		key = p.key;
		key.secret[i] ^= 0x10;
		CHECK_EQ(raw_key_import(&p.source, &key, NULL), -EACCES);
	}
	key = p.key; /* cut off */
	memset(key.secret + 8, 0, 8);
	CHECK_EQ(raw_key_import(&p.source, &key, NULL), -EACCES);
	key = p.key;
	memset(key.secret, 0, sizeof(key.secret));
	CHECK_EQ(raw_key_import(&p.source, &key, NULL), -EACCES);
	key.import = (key.import + 1) % 32; /* an entry without a key */
	CHECK_EQ(raw_key_import(&p.source, &key, NULL), -EACCES);
	key = p.key;
	key.space = 1023; /* no such space */
	CHECK_EQ(raw_key_import(&p.source, &key, NULL), -EACCES);
	CHECK_EQ(raw_key_import(&p.source, &p.key, NULL), 0);
	close_pair(&p);
}

TEST("two keys differ in all parts")
{
	struct drm_t3_key other;
	struct pair p;

	open_pair(&p);
	CHECK_EQ(raw_key_export(&p.target, 1, 1u << DRM_T3_OP_ADD, &other, NULL), 0);
	CHECK(memcmp(other.secret, p.key.secret, sizeof(other.secret)) != 0);
	CHECK(other.import != p.key.import);
	close_pair(&p);
}

/* Entries are taken in turn, so this one is the next again after all others. */
static void export_again(struct pair *p, struct drm_t3_key *key)
{
	int i;

	for (i = 0; i < GRANTS; i++) {
		CHECK_EQ(raw_key_export(&p->target, 1, 1, key, &p->grant), 0);
		if (key->import == p->key.import)
			return;
		CHECK_EQ(raw_revoke(&p->target, p->grant), 0);
	}
	fail_msg("the entry is not used again");
}

TEST("stale keys are refused")
{
	struct drm_t3_key key;
	struct pair p;

	open_pair(&p);
	CHECK_EQ(raw_revoke(&p.target, p.grant), 0);
	CHECK_EQ(raw_key_import(&p.source, &p.key, NULL), -EACCES);
	/* The entry's next key is another one. */
	export_again(&p, &key);
	CHECK_EQ(raw_key_import(&p.source, &p.key, NULL), -EACCES);
	CHECK_EQ(space_reset(p.target.fd, p.target.space), 0);
	CHECK_EQ(raw_revoke(&p.target, p.grant), -ENOENT);
	CHECK_EQ(raw_key_import(&p.source, &key, NULL), -EACCES);
	CHECK_EQ(raw_key_export(&p.target, 1, 1, &key, NULL), 0);
	CHECK_EQ(space_destroy(p.target.fd, p.target.space), 0);
	CHECK_EQ(raw_key_import(&p.source, &key, NULL), -EACCES);
	close_pair(&p);
}

/* The first space that shows a key has it, until it is revoked. */
TEST("a key belongs to the first space that shows it")
{
	struct raw other;
	uint32_t import;
	struct pair p;

	open_pair(&p);
	raw_open(&other, 0, PAGE);
	CHECK_EQ(raw_key_import(&p.source, &p.key, &import), 0);
	CHECK_EQ(raw_key_import(&p.source, &p.key, NULL), -EEXIST);
	CHECK_EQ(raw_key_import(&other, &p.key, NULL), -EACCES);
	CHECK_EQ(raw_release_import(&p.source, import), 0);
	CHECK_EQ(raw_key_import(&other, &p.key, NULL), -EACCES);
	CHECK_EQ(raw_key_import(&p.source, &p.key, &import), 0);
	CHECK_EQ(space_reset(p.source.fd, p.source.space), 0);
	CHECK_EQ(raw_key_import(&p.source, &p.key, NULL), -EACCES);
	raw_close(&other);
	close_pair(&p);
}

TEST("a key is for some ranks")
{
	struct drm_t3_key_export arg = { .op_mask = 1, .segment_mask = 1, .rank_mask = 2 };
	struct pair p;

	open_pair(&p);
	arg.space = p.target.space;
	CHECK_EQ(call(p.target.fd, DRM_IOCTL_T3_KEY_EXPORT, &arg), 0);
	CHECK_EQ(raw_key_import(&p.source, &arg.key, NULL), -EACCES);
	CHECK_EQ(raw_key_import(&p.target, &arg.key, NULL), -EHOSTUNREACH); /* the own device */
	close_pair(&p);
}

TEST("a space has at most 32 keys")
{
	struct drm_t3_key key;
	struct pair p;
	int i;

	open_pair(&p);
	for (i = 1; i < GRANTS; i++)
		CHECK_EQ(raw_key_export(&p.target, 1, 1, &key, NULL), 0);
	CHECK_EQ(raw_key_export(&p.target, 1, 1, &key, NULL), -ENOSPC);
	CHECK_EQ(raw_revoke(&p.target, p.grant), 0);
	CHECK_EQ(raw_key_export(&p.target, 1, 1, &key, NULL), 0);
	close_pair(&p);
}

TEST("an import by key needs an idle space")
{
	struct pair p;

	open_pair(&p);
	raw_map_local(&p.source);
	raw_arm(&p.source, 1);
	CHECK_EQ(raw_key_import(&p.source, &p.key, NULL), -EBUSY);
	close_pair(&p);
}

TEST("the administrator decides who may use keys")
{
	struct drm_t3_key key;
	struct pair p;

	open_pair(&p);
	allow("0");
	CHECK_EQ(raw_key_export(&p.target, 1, 1, &key, NULL), -EPERM);
	CHECK_EQ(raw_key_import(&p.source, &p.key, NULL), -EPERM);
	allow("2"); /* the devices have no FAR_KEYS, but all their ranks are here */
	CHECK_EQ(raw_key_import(&p.source, &p.key, NULL), 0);
	allow("1");
	close_pair(&p);
}

/* A user has 8 wrong keys at once; meanwhile his right one is refused as well, others' is not. */
static void guess(int sock, void *arg)
{
	const struct pair *p = arg;
	struct drm_t3_key wrong = p->key;
	struct timespec second = { 1, 100000000 };
	struct raw own;
	int i;

	wrong.secret[3] ^= 1;
	become(UID_USER, true);
	raw_open(&own, 0, PAGE);
	for (i = 0; i < 8; i++)
		CHECK_EQ(raw_key_import(&own, &wrong, NULL), -EACCES);
	CHECK_EQ(raw_key_import(&own, &wrong, NULL), -EDQUOT);
	CHECK_EQ(raw_key_import(&own, &p->key, NULL), -EDQUOT);
	raw_close(&own);
	raw_open(&own, 0, PAGE); /* another open file is the same user */
	CHECK_EQ(raw_key_import(&own, &wrong, NULL), -EDQUOT);
	send_u32(sock, 1);
	receive_u32(sock);
	nanosleep(&second, NULL);
	CHECK_EQ(raw_key_import(&own, &wrong, NULL), -EACCES);
	CHECK_EQ(raw_key_import(&own, &wrong, NULL), -EDQUOT);
	raw_close(&own);
}

static uint64_t wrong_keys(int fd)
{
	struct drm_t3_counters counters = { 0 };
	struct drm_t3_query query = {
		.type = DRM_T3_QUERY_COUNTERS,
		.size = sizeof(counters),
		.data = (uintptr_t)&counters,
	};

	CHECK_EQ(call(fd, DRM_IOCTL_T3_QUERY, &query), 0);
	return counters.value[DRM_T3_COUNTER_WRONG_KEYS];
}

TEST("users who guess are slowed, and others are not")
{
	struct child child;
	uint64_t before;
	struct pair p;

	open_pair(&p);
	before = wrong_keys(p.target.fd);
	child_start(&child, guess, &p);
	receive_u32(child.sock);
	CHECK_EQ(wrong_keys(p.target.fd), before + 8);
	CHECK_EQ(raw_key_import(&p.source, &p.key, NULL), 0);
	send_u32(child.sock, 1);
	CHECK_EQ(child_end(&child, 10000), 0);
	close_pair(&p);
}

/* ----------------------------------------------------- numbers of a namespace */

#define TRIES 8
#define SLACK 4 /* one more for each second that has passed */

/* Users of one user namespace. uid: who makes it; first: number that its user 0 has outside. */
struct crowd {
	struct pair *pair;
	uid_t uid, first;
};

static struct drm_t3_key wrong_key(const struct pair *p)
{
	struct drm_t3_key wrong = p->key;

	wrong.secret[3] ^= 1;
	return wrong;
}

static void enter_namespace(int sock)
{
	CHECK_EQ(unshare(CLONE_NEWUSER), 0);
	send_u32(sock, 1);
	receive_u32(sock); /* the parent has written the map */
}

/* How many wrong keys are judged before the limit. namespace: each comes from another user. */
static uint32_t guesses(const struct pair *p, const struct raw *own, bool namespace)
{
	struct drm_t3_key wrong = wrong_key(p);
	uint32_t i = 0;
	int ret;

	do {
		CHECK(i++ < 2 * TRIES);
		if (namespace)
			CHECK_EQ(setresuid(i, i, i), 0);
		ret = raw_key_import(own, &wrong, NULL);
		CHECK(ret == -EACCES || ret == -EDQUOT);
	} while (ret == -EACCES);
	return i - 1;
}

static void crowd_guess(int sock, void *arg)
{
	const struct crowd *crowd = arg;
	struct raw own;
	uint32_t judged;

	if (crowd->uid)
		become(crowd->uid, true);
	raw_open(&own, 0, PAGE);
	enter_namespace(sock);
	judged = guesses(crowd->pair, &own, true);
	CHECK(judged >= TRIES && judged < TRIES + SLACK);
	send_u32(sock, 1);
	receive_u32(sock);
	raw_close(&own);
}

static void write_map(pid_t pid, uid_t first)
{
	char path[32];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	file = fopen(path, "we");
	CHECK(file);
	CHECK(fprintf(file, "0 %u 100", first) > 0);
	CHECK_EQ(fclose(file), 0);
}

/* Returns when it has used up all wrong keys. */
static void crowd_start(struct child *child, struct crowd *crowd)
{
	child_start(child, crowd_guess, crowd);
	receive_u32(child->sock);
	write_map(child->pid, crowd->first);
	send_u32(child->sock, 1);
	receive_u32(child->sock);
}

static void crowd_end(struct child *child)
{
	send_u32(child->sock, 1);
	CHECK_EQ(child_end(child, 10000), 0);
}

static void owner_guesses(int sock, void *arg)
{
	const struct crowd *crowd = arg;
	struct raw own;

	(void)sock;
	become(crowd->uid, true);
	raw_open(&own, 0, PAGE);
	CHECK(guesses(crowd->pair, &own, false) < SLACK);
	raw_close(&own);
}

static void other_guesses(int sock, void *arg)
{
	const struct crowd *crowd = arg;
	struct raw own;

	(void)sock;
	become(UID_USER + 2, true);
	raw_open(&own, 0, PAGE);
	CHECK(guesses(crowd->pair, &own, false) >= TRIES);
	raw_close(&own);
}

static void run_child(void (*body)(int sock, void *arg), void *arg)
{
	struct child child;

	child_start(&child, body, arg);
	CHECK_EQ(child_end(&child, 10000), 0);
}

/* The numbers that a user has in a namespace are all himself. */
TEST("a user namespace guesses as its owner")
{
	struct pair p;
	struct crowd crowd = { .pair = &p, .uid = UID_USER + 1, .first = 100000 };
	struct child child;

	open_pair(&p);
	crowd_start(&child, &crowd);
	run_child(owner_guesses, &crowd);
	run_child(other_guesses, &crowd);
	crowd_end(&child);
	close_pair(&p);
}

/* Root makes namespaces for others, who do not pay for each other. */
TEST("a namespace that root made is a root of its own")
{
	struct pair p;
	struct crowd first = { .pair = &p, .first = 200000 };
	struct crowd second = { .pair = &p, .first = 300000 };
	struct child child[2];

	open_pair(&p);
	crowd_start(&child[0], &first);
	crowd_start(&child[1], &second);
	crowd_end(&child[0]);
	crowd_end(&child[1]);
	close_pair(&p);
}

/* ------------------------------------------------------------ many keys at once */

#define THREADS 24

struct volley {
	const struct pair *pair;
	pthread_barrier_t start;
	uint32_t judged; /* answers of the target */
};

static void *shoot(void *arg)
{
	struct volley *v = arg;
	struct drm_t3_key wrong = wrong_key(v->pair);
	struct raw own;
	int ret;

	raw_open(&own, 0, PAGE);
	pthread_barrier_wait(&v->start);
	ret = raw_key_import(&own, &wrong, NULL);
	CHECK(ret == -EACCES || ret == -EDQUOT);
	if (ret == -EACCES)
		__atomic_add_fetch(&v->judged, 1, __ATOMIC_RELAXED);
	raw_close(&own);
	return NULL;
}

static void volley_body(int sock, void *arg)
{
	struct volley v = { .pair = arg };
	pthread_t threads[THREADS];
	int64_t start;
	uint32_t i;

	(void)sock;
	become(UID_USER + 3, true);
	CHECK_EQ(pthread_barrier_init(&v.start, NULL, THREADS + 1), 0);
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, shoot, &v), 0);
	start = now_ns();
	pthread_barrier_wait(&v.start);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* One more for each second that has passed. */
	CHECK(v.judged >= TRIES);
	CHECK(v.judged <= TRIES + 1 + (now_ns() - start) / 1000000000);
}

TEST("keys that wait for an answer count as guesses")
{
	struct pair p;

	open_pair(&p);
	run_child(volley_body, &p);
	close_pair(&p);
}

static void *import_right(void *arg)
{
	const struct raw *target = arg;
	struct drm_t3_key key;
	struct raw own;
	uint32_t i;

	raw_open(&own, 0, PAGE);
	for (i = 0; i < TRIES; i++) {
		CHECK_EQ(raw_key_export(target, 1, 1, &key, NULL), 0);
		CHECK_EQ(raw_key_import(&own, &key, NULL), 0);
	}
	raw_close(&own);
	return NULL;
}

static void right_body(int sock, void *arg)
{
	pthread_t threads[THREADS / 2];
	struct raw target[ROWS(threads)];
	uint32_t i;

	(void)sock;
	(void)arg;
	become(UID_USER + 4, true);
	for (i = 0; i < ROWS(threads); i++)
		raw_open(&target[i], 1, PAGE);
	for (i = 0; i < ROWS(threads); i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, import_right, &target[i]), 0);
	for (i = 0; i < ROWS(threads); i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < ROWS(threads); i++)
		raw_close(&target[i]);
}

/* They may have to wait for each other, but none is refused. */
TEST("right keys have no limit")
{
	run_child(right_body, NULL);
}

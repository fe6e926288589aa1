// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "attack.h"
#include "child.h"
#include "memory.h"
#include "victim.h"

struct victim {
	struct raw raw;
	struct facts facts;
	struct operand host;
};

static void victim_descriptors(struct victim *v)
{
	struct drm_t3_space_wait_fd wait_fd = { .space = v->raw.space, .segment_mask = 1 };
	struct drm_t3_space_eventfd event = { .space = v->raw.space, .segment_mask = 1 };

	CHECK_EQ(call(v->raw.fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &wait_fd), 0);
	event.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	CHECK_EQ(call(v->raw.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &event), 0);
	v->facts.fds[0] = v->raw.fd;
	CHECK_EQ(raw_export(&v->raw, 1, 0xf, &v->facts.fds[1], &v->facts.grant), 0);
	v->facts.fds[2] = wait_fd.fd;
	v->facts.fds[3] = event.fd;
	v->facts.fds[4] = prime_share(v->raw.fd, v->raw.bo);
}

static void victim_open(struct victim *v)
{
	struct facts *f = &v->facts;

	raw_open(&v->raw, 0, PAGE);
	f->pid = getpid();
	f->bo = v->raw.bo;
	f->space = v->raw.space;
	CHECK_EQ(bo_create_host(v->raw.fd, PAGE, &f->host), 0);
	operand_adopt(&v->host, v->raw.fd, f->host, PAGE, 5);
	CHECK_EQ(queue_create(v->raw.fd, 0, &f->queue), 0);
	f->sync = sync_create(v->raw.fd);
	CHECK_EQ(bo_offset(v->raw.fd, f->bo, &f->offset[0]), 0);
	CHECK_EQ(bo_offset(v->raw.fd, f->host, &f->offset[1]), 0);
	f->offset[2] = v->raw.made.aperture_offset;
	f->offset[3] = v->raw.made.doorbell_offset;
	f->offset[4] = v->raw.made.event_offset;
	f->memory = (uintptr_t)v->host.memory;
	victim_descriptors(v);
}

/* Check that nothing has changed but by the victim's own actions. */
static void victim_check(struct victim *v)
{
	struct pollfd poller = { .fd = v->facts.fds[3], .events = POLLIN };
	union drm_t3_any_command copy;
	uint64_t count;

	CHECK_EQ(read(v->facts.fds[3], &count, sizeof(count)), -1);
	victim_finish(&v->raw);
	CHECK_EQ(poll(&poller, 1, 5000), 1); /* the interrupt comes after the event word */
	CHECK_EQ(read(v->facts.fds[3], &count, sizeof(count)), sizeof(count));
	operand_check(&v->host);
	CHECK_EQ(sync_wait(v->raw.fd, v->facts.sync, 0, 0), -EINVAL); /* nobody's fence */
	copy = command_copy(v->facts.host, v->facts.bo, RAW_SEGMENT_BYTES);
	run_command(v->raw.fd, v->facts.queue, &copy);
	CHECK_EQ(((volatile uint32_t *)v->host.memory)[63], 5);
	CHECK_EQ(raw_revoke(&v->raw, v->facts.grant), 0);
}

static void victim_body(int sock, void *arg)
{
	struct victim v;

	(void)arg;
	guest_ranks();
	become(UID_USER, true);
	/* The other user id must protect the victim, not the flag that a change of user sets. */
	CHECK_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
	victim_open(&v);
	victim_begin(&v.raw);
	CHECK_EQ(send(sock, &v.facts, sizeof(v.facts), 0), sizeof(v.facts));
	receive_u32(sock);
	victim_check(&v);
}

struct attack {
	void (*body)(int fd, const struct facts *facts);
	struct facts facts;
	uid_t uid;
};

static void attacker_body(int sock, void *arg)
{
	const struct attack *attack = arg;
	int fd;

	(void)sock;
	become(attack->uid, true);
	CHECK_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
	fd = open(guest_node(0), O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	attack->body(fd, &attack->facts);
}

void attack_run(uid_t uid, void (*body)(int fd, const struct facts *facts))
{
	struct attack attack = { .body = body, .uid = uid };
	struct child victim, attacker;

	guest_ranks();
	child_start(&victim, victim_body, NULL);
	CHECK_EQ(recv(victim.sock, &attack.facts, sizeof(attack.facts), MSG_WAITALL),
		 sizeof(attack.facts));
	child_start(&attacker, attacker_body, &attack);
	CHECK_EQ(child_end(&attacker, 30000), 0);
	send_u32(victim.sock, 1);
	CHECK_EQ(child_end(&victim, 20000), 0);
}

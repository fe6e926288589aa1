// SPDX-License-Identifier: MIT
/* The hello messages of ranks that meet, and the checks of them. */
#define _GNU_SOURCE /* struct ucred */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/private.h"

#define HELLO_MAGIC   0x6d6d6f6333540a0dull
#define HELLO_VERSION 2u

/* The fields up to version never change. The message's length tells the rest. */
struct hello {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes;
	uint64_t fabric_id;
	uint32_t rank;
	uint32_t ranks;
	uint32_t device_rank;
	uint32_t pad;			       /* 0 */
	unsigned char secret[COMM_NAME_BYTES]; /* of the receiver; 0: it is on the same node */
};

_Static_assert(sizeof(struct hello) == 56, "hello has no holes");

int comm_say_hello(struct t3_comm *comm, int fd, const unsigned char *secret)
{
	struct hello hello = {
		.magic = HELLO_MAGIC,
		.version = HELLO_VERSION,
		.bytes = sizeof(hello),
		.fabric_id = comm->fabric_id,
		.rank = comm->rank,
		.ranks = comm->ranks,
		.device_rank = comm->device_rank[comm->rank],
	};

	if (secret)
		memcpy(hello.secret, secret, sizeof(hello.secret));
	return comm_send_frame(fd, &hello, sizeof(hello), -1);
}

/* Check that it is a hello, and of this library's version. */
static int judge_form(struct t3_comm *comm, const struct hello *hello, size_t size, int fd)
{
	if (fd >= 0) {
		close(fd);
		return t3_comm_fail(comm, -EPROTO, "a hello brought a descriptor: it is none");
	}
	if (size < offsetof(struct hello, fabric_id) || hello->magic != HELLO_MAGIC)
		return t3_comm_fail(comm, -EPROTO,
				    "a process that is no rank of libt3 has connected");
	if (hello->version != HELLO_VERSION)
		return t3_comm_fail(comm, -EPROTO,
				    "a rank has a libt3 that speaks version %u, this one %u",
				    hello->version, HELLO_VERSION);
	if (size != sizeof(*hello) || hello->bytes != size || hello->pad)
		return t3_comm_fail(comm, -EPROTO, "a hello of a wrong form");
	return 0;
}

/* Check that the fabric has that device, and that no rank that has joined is on it. */
static int judge_device(struct meeting *m, const struct hello *hello)
{
	struct t3_comm *comm = m->comm;
	uint32_t here = m->joined | 1u << comm->rank, rank, a, b;

	if (hello->device_rank >= comm->device_ranks)
		return t3_comm_fail(comm, -EPROTO,
				    "rank %u says it is on device %u of a fabric of %u",
				    hello->rank, hello->device_rank, comm->device_ranks);
	for (rank = 0; rank < comm->ranks; rank++) {
		if (!(here >> rank & 1) || comm->device_rank[rank] != hello->device_rank)
			continue;
		a = rank < hello->rank ? rank : hello->rank;
		b = rank < hello->rank ? hello->rank : rank;
		return t3_comm_fail(comm, -ENOTUNIQ,
				    "ranks %u and %u are both on device %u of the fabric", a, b,
				    hello->device_rank);
	}
	return 0;
}

/* lowest .. below: the range that its rank must be in. */
static int judge_content(struct meeting *m, const struct hello *hello, uint32_t lowest,
			 uint32_t below)
{
	struct t3_comm *comm = m->comm;

	if (hello->ranks != comm->ranks)
		return t3_comm_fail(comm, -EDOM, "rank %u counts %u ranks, this one %u",
				    hello->rank, hello->ranks, comm->ranks);
	if (hello->rank < lowest || hello->rank >= below)
		return t3_comm_fail(comm, -EPROTO,
				    "a process says it is rank %u, where only %u to %u may be",
				    hello->rank, lowest, below - 1);
	if (m->joined >> hello->rank & 1)
		return t3_comm_fail(comm, -EEXIST, "rank %u is taken: two processes say they are",
				    hello->rank);
	if (hello->fabric_id != comm->fabric_id)
		return t3_comm_fail(comm, -EXDEV,
				    "rank %u is on fabric %llx, this one on fabric %llx",
				    hello->rank, (unsigned long long)hello->fabric_id,
				    (unsigned long long)comm->fabric_id);
	return judge_device(m, hello);
}

int comm_judge_peer(struct t3_comm *comm, int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return t3_comm_fail(comm, -errno, "a peer does not say who it is: %s",
				    strerror(errno));
	if (peer.uid && peer.uid != geteuid())
		return t3_comm_fail(comm, -EPERM, "process %d of user %u wants to be a rank",
				    (int)peer.pid, (unsigned int)peer.uid);
	return 0;
}

/* Takes the same time wherever they differ. */
static bool knows(const struct hello *hello, size_t size, const unsigned char *secret)
{
	volatile unsigned char differs = size != sizeof(*hello);
	uint32_t i;

	for (i = 0; i < sizeof(hello->secret); i++)
		differs |= hello->secret[i] ^ secret[i];
	return !differs;
}

int comm_hear_hello(struct meeting *m, int fd, uint32_t lowest, uint32_t below,
		    const unsigned char *secret, struct comm_greeting *greeting)
{
	struct hello hello;
	size_t size = sizeof(hello);
	int extra, ret;

	memset(&hello, 0, sizeof(hello));
	ret = comm_receive_frame(fd, &hello, &size, &extra);
	if (secret &&
	    ((ret && ret != -EAGAIN && ret != -EPIPE) || (!ret && !knows(&hello, size, secret))))
		return t3_comm_fail(m->comm, -EACCES,
				    "a process that is no rank of this communicator has connected");
	if (ret == -EPROTO)
		return t3_comm_fail(m->comm, ret, "a hello brought descriptors: it is none");
	if (ret)
		return ret;
	ret = judge_form(m->comm, &hello, size, extra);
	if (!ret)
		ret = judge_content(m, &hello, lowest, below);
	if (!ret)
		*greeting = (struct comm_greeting){ hello.rank, hello.device_rank };
	return ret;
}

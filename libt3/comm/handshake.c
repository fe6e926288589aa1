// SPDX-License-Identifier: MIT
/* The handshake of ranks that connect: each sends a hello and checks the one of the other. */
#define _GNU_SOURCE /* struct ucred */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/private.h"

#define HELLO_MAGIC   0x6d6d6f6333540a0dull
#define HELLO_VERSION 2u

/* The fields up to version never change. The message's length tells the rest. */
struct handshake {
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

_Static_assert(sizeof(struct handshake) == 56, "a handshake has no holes");

int comm_send_handshake(struct t3_comm *comm, int fd, const unsigned char *secret)
{
	struct handshake hello = {
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

/* Check that the message is a hello, and of this library's version. */
static int check_form(struct t3_comm *comm, const struct handshake *hello, size_t size, int fd)
{
	if (fd >= 0) {
		close(fd);
		return t3_comm_fail(comm, -EPROTO, "a hello came with a descriptor");
	}
	if (size < offsetof(struct handshake, fabric_id) || hello->magic != HELLO_MAGIC)
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
static int check_device(struct join *join, const struct handshake *hello)
{
	struct t3_comm *comm = join->comm;
	uint32_t here = join->joined | 1u << comm->rank, rank, a, b;

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

/* The rank must be in the range lowest .. below - 1. */
static int check_content(struct join *join, const struct handshake *hello, uint32_t lowest,
			 uint32_t below)
{
	struct t3_comm *comm = join->comm;

	if (hello->ranks != comm->ranks)
		return t3_comm_fail(comm, -EDOM, "rank %u counts %u ranks, this one %u",
				    hello->rank, hello->ranks, comm->ranks);
	if (hello->rank < lowest || hello->rank >= below)
		return t3_comm_fail(comm, -EPROTO,
				    "a process says it is rank %u, where only %u to %u may be",
				    hello->rank, lowest, below - 1);
	if (join->joined >> hello->rank & 1)
		return t3_comm_fail(comm, -EEXIST, "rank %u is taken: two processes say they are",
				    hello->rank);
	if (hello->fabric_id != comm->fabric_id)
		return t3_comm_fail(comm, -EXDEV,
				    "rank %u is on fabric %llx, this one on fabric %llx",
				    hello->rank, (unsigned long long)hello->fabric_id,
				    (unsigned long long)comm->fabric_id);
	return check_device(join, hello);
}

int comm_check_peer(struct t3_comm *comm, int fd)
{
	struct ucred user;
	socklen_t size = sizeof(user);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &size))
		return t3_comm_fail(comm, -errno, "cannot get the user of a peer: %s",
				    strerror(errno));
	if (user.uid && user.uid != geteuid())
		return t3_comm_fail(comm, -EPERM, "process %d of user %u wants to be a rank",
				    (int)user.pid, (unsigned int)user.uid);
	return 0;
}

/* Compare secrets in a time that does not depend on where they differ. */
static bool has_secret(const struct handshake *hello, size_t size, const unsigned char *secret)
{
	volatile unsigned char differs = size != sizeof(*hello);
	uint32_t i;

	for (i = 0; i < sizeof(hello->secret); i++)
		differs |= hello->secret[i] ^ secret[i];
	return !differs;
}

int comm_receive_handshake(struct join *join, int fd, uint32_t lowest, uint32_t below,
			   const unsigned char *secret, struct comm_peer *peer)
{
	struct handshake hello;
	size_t size = sizeof(hello);
	int extra, ret;

	memset(&hello, 0, sizeof(hello));
	ret = comm_receive_frame(fd, &hello, &size, &extra);
	if (secret && ((ret && ret != -EAGAIN && ret != -EPIPE) ||
		       (!ret && !has_secret(&hello, size, secret))))
		return t3_comm_fail(join->comm, -EACCES,
				    "a process that is no rank of this communicator has connected");
	if (ret == -EPROTO)
		return t3_comm_fail(join->comm, ret, "a hello came with descriptors");
	if (ret)
		return ret;
	ret = check_form(join->comm, &hello, size, extra);
	if (!ret)
		ret = check_content(join, &hello, lowest, below);
	if (!ret)
		*peer = (struct comm_peer){ hello.rank, hello.device_rank };
	return ret;
}

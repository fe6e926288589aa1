// SPDX-License-Identifier: MIT
/* Nodes of the ranks. A socket that passes descriptors reaches the ranks on this node. */
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/bootstrap.h"

#define BOOT_ID	     "/proc/sys/kernel/random/boot_id"
#define NET	     "/proc/thread-self/ns/net"
#define BOOT_ID_TEXT 36 /* 32 digits and 4 hyphens */

/* The id as the kernel prints it, in bytes. False: it is no such text. */
static bool parse_boot_id(const char *text, unsigned char boot[16])
{
	uint32_t i, digits = 0;
	int value;

	memset(boot, 0, 16);
	for (i = 0; i < BOOT_ID_TEXT; i++) {
		if (text[i] == '-')
			continue;
		if (!isxdigit((unsigned char)text[i]) || digits == 32)
			return false;
		value = isdigit((unsigned char)text[i]) ? text[i] - '0' : (text[i] | 32) - 'a' + 10;
		boot[digits / 2] |= (unsigned char)(digits % 2 ? value : value << 4);
		digits++;
	}
	return digits == 32;
}

static int read_boot_id(unsigned char boot[16])
{
	int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC), ret = 0;
	char text[BOOT_ID_TEXT];
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = read(fd, text, sizeof(text));
	if (got < 0)
		ret = -errno;
	else if (got != sizeof(text) || !parse_boot_id(text, boot))
		ret = -EIO;
	close(fd);
	return ret;
}

int comm_find_node(struct t3_comm *comm, struct comm_node *node)
{
	struct stat st;
	int ret;

	ret = read_boot_id(node->boot);
	if (ret)
		return t3_comm_fail(comm, ret, BOOT_ID ": %s", strerror(-ret));
	if (!stat(NET, &st))
		node->net = st.st_ino;
	else if (errno == ENOENT)
		node->net = 0; /* a kernel without namespaces */
	else
		return t3_comm_fail(comm, -errno, NET ": %s", strerror(errno));
	return 0;
}

static bool same_node(const struct comm_record *a, const struct comm_record *b)
{
	return !memcmp(&a->node, &b->node, sizeof(a->node));
}

void comm_number_nodes(struct t3_comm *comm, const struct comm_record *records)
{
	uint32_t rank, first, nodes = 0;

	comm->here = 0;
	for (rank = 0; rank < comm->ranks; rank++) {
		for (first = 0; !same_node(&records[first], &records[rank]);)
			first++;
		comm->node[rank] = first < rank ? comm->node[first] : (uint8_t)nodes++;
		if (same_node(&records[rank], &records[comm->rank]))
			comm->here |= 1u << rank;
	}
}

// SPDX-License-Identifier: MIT
/*
 * Where ranks meet by the environment: T3_COMM_DIR, which `t3 launch` sets, or else MASTER_ADDR, as
 * other launchers set it.
 */
#define _GNU_SOURCE /* secure_getenv */
#include <stdlib.h>

#include "comm/bootstrap.h"

#define PORT_MAX 65535u

/* Plain digits, without a sign or a blank. */
static bool parse_number(const char *text, uint32_t *value)
{
	unsigned long number;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	number = strtoul(text, &end, 10);
	*value = (uint32_t)number;
	return !*end && number <= UINT32_MAX;
}

static int read_number(const struct comm_request *request, const char *name, uint32_t *value)
{
	const char *text = secure_getenv(name);

	if (!text)
		return comm_request_fail(request, -EINVAL, "%s is not set: start the ranks by %s",
					 name,
					 request->dir ? "`t3 launch`" : "a launcher that sets it");
	if (!parse_number(text, value))
		return comm_request_fail(request, -EINVAL, "%s is no number: '%.60s'", name, text);
	return 0;
}

static int read_ranks(struct comm_request *request, const char *rank, const char *ranks)
{
	int ret = read_number(request, rank, &request->rank);

	return ret ? ret : read_number(request, ranks, &request->ranks);
}

static int read_port(const struct comm_request *request, const char **port)
{
	uint32_t number;

	*port = secure_getenv("MASTER_PORT");
	if (!*port)
		return comm_request_fail(
			request, -EINVAL,
			"MASTER_ADDR is set and MASTER_PORT is not: a rendezvous needs both");
	if (!parse_number(*port, &number) || !number || number > PORT_MAX)
		return comm_request_fail(request, -EINVAL,
					 "MASTER_PORT is no port, 1 to %u: '%.60s'", PORT_MAX,
					 *port);
	return 0;
}

/* FNV-1a. An unset variable and an empty one are the same job. */
static uint64_t hash_job(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash;
}

/* A rank's two numbers come from one launcher: either both are T3's or none. */
static int read_rendezvous(struct comm_request *request, struct comm_rendezvous *rendezvous)
{
	int ret;

	if (!*rendezvous->host)
		return comm_request_fail(request, -EINVAL,
					 "MASTER_ADDR is empty: it takes rank 0's address");
	ret = read_port(request, &rendezvous->port);
	if (ret)
		return ret;
	if (secure_getenv("T3_RANK"))
		ret = read_ranks(request, "T3_RANK", "T3_RANKS");
	else
		ret = read_ranks(request, "RANK", "WORLD_SIZE");
	if (ret)
		return ret;
	rendezvous->job = hash_job(secure_getenv("T3_JOB"));
	rendezvous->rank = request->rank;
	rendezvous->ranks = request->ranks;
	rendezvous->deadline_ns = request->deadline_ns;
	rendezvous->late = 0;
	*rendezvous->error = '\0';
	request->all_gather = comm_rendezvous;
	request->ctx = rendezvous;
	request->gather_text = rendezvous->error;
	request->gather_late = &rendezvous->late;
	return 0;
}

int comm_read_environment(struct comm_request *request, struct comm_rendezvous *rendezvous)
{
	request->dir = secure_getenv("T3_COMM_DIR");
	if (request->dir)
		return read_ranks(request, "T3_RANK", "T3_RANKS");
	rendezvous->host = secure_getenv("MASTER_ADDR");
	if (rendezvous->host)
		return read_rendezvous(request, rendezvous);
	return comm_request_fail(
		request, -EINVAL,
		"neither T3_COMM_DIR nor MASTER_ADDR is set: start the ranks by `t3 launch`");
}

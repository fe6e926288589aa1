// SPDX-License-Identifier: MIT
/*
 * The lengths of an all-to-all, as the ranks say them. Each says what it sends to each rank and
 * what it gets from each, so a pair's length is said twice.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

/* Of one direction: `name` of a rank. */
static int check_side(const struct t3_plan_desc *desc, const char *name, const uint64_t *lengths,
		      uint32_t ranks, struct t3_text *text)
{
	uint64_t columns = desc->columns ? desc->columns : 1, all = 0;
	uint32_t r;

	for (r = 0; r < ranks; r++) {
		if (lengths[r] > T3_LAYOUT_COUNT_MAX) {
			t3_text_say(text, "%s[%u] is %llu elements, above 2^40", name, r,
				    (unsigned long long)lengths[r]);
			return -EFBIG;
		}
		if (lengths[r] % columns) {
			t3_text_say(text, "%s[%u] is %llu elements, not whole rows of columns %u",
				    name, r, (unsigned long long)lengths[r], desc->columns);
			return -EINVAL;
		}
		all += lengths[r];
	}
	if (all <= T3_LAYOUT_COUNT_MAX)
		return 0;
	t3_text_say(text, "%s has %llu elements in all, above 2^40", name, (unsigned long long)all);
	return -EFBIG;
}

static int check_rank(const struct t3_plan_desc *desc, const struct t3_lengths *lengths,
		      uint32_t rank, uint32_t ranks, struct t3_text *text)
{
	int ret = check_side(desc, "send", lengths->send[rank], ranks, text);

	return ret ? ret : check_side(desc, "receive", lengths->receive[rank], ranks, text);
}

static int compare(const struct t3_lengths *lengths, uint32_t ranks, struct t3_text *text)
{
	uint32_t from, to;

	for (from = 0; from < ranks; from++)
		for (to = 0; to < ranks; to++) {
			uint64_t sends = lengths->send[from][to];
			uint64_t expects = lengths->receive[to][from];

			if (sends == expects)
				continue;
			t3_text_say(text,
				    "rank %u sends %llu elements to rank %u (send[%u]), which "
				    "expects %llu of it (receive[%u])",
				    from, (unsigned long long)sends, to, to,
				    (unsigned long long)expects, from);
			return -EINVAL;
		}
	return 0;
}

int t3_lengths_begin(struct t3_plan *plan, const struct t3_plan_lengths *lengths)
{
	uint32_t rank = plan->comm->rank;
	size_t bytes = plan->comm->ranks * sizeof(uint64_t);

	if (!lengths || !lengths->send || !lengths->receive)
		return t3_comm_fail(plan->comm, -EINVAL, "no lengths of the plan");
	plan->lengths = calloc(1, sizeof(*plan->lengths));
	if (!plan->lengths)
		return t3_comm_fail(plan->comm, -ENOMEM, "no memory for the lengths");
	memcpy(plan->lengths->send[rank], lengths->send, bytes);
	memcpy(plan->lengths->receive[rank], lengths->receive, bytes);
	return 0;
}

int t3_lengths_check(const struct t3_plan *plan)
{
	const struct t3_comm *comm = plan->comm;
	char why[T3_COMM_TEXT_SIZE];
	struct t3_text text = { .at = why, .size = sizeof(why) };
	int ret = check_rank(&plan->desc, plan->lengths, comm->rank, comm->ranks, &text);

	return ret ? t3_comm_fail(plan->comm, ret, "%s", why) : 0;
}

/* The ranks' own checks should have found wrong lengths. These come from other processes. */
int t3_lengths_agree(const struct t3_plan *plan)
{
	uint32_t ranks = plan->comm->ranks, r;
	char why[T3_COMM_TEXT_SIZE];
	struct t3_text text = { .at = why, .size = sizeof(why) };
	int ret;

	for (r = 0; r < ranks; r++) {
		ret = check_rank(&plan->desc, plan->lengths, r, ranks, &text);
		if (ret)
			return t3_comm_fail(plan->comm, ret, "rank %u: %s", r, why);
	}
	ret = compare(plan->lengths, ranks, &text);
	return ret ? t3_comm_fail(plan->comm, ret, "%s", why) : 0;
}

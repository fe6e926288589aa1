// SPDX-License-Identifier: MIT
/*
 * The plans of a communicator. All ranks get the same plans in the same order, so all keep the same
 * ones, and all know of those that could not be made.
 */
#include <errno.h>
#include <string.h>

#include "coll_t3.h"

bool coll_t3_agreed(int error)
{
	return error != -ETIMEDOUT && error != -EPIPE && error != -EPROTO && error != -ECOMM;
}

bool coll_t3_lacks_room(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -ENOMEM;
}

/* Return the index of the plan, or m->kept. */
static uint32_t find(const coll_t3_module_t *m, const struct t3_plan_desc *desc)
{
	uint32_t i;

	for (i = 0; i < m->kept; i++)
		if (!memcmp(&m->plans[i].desc, desc, sizeof(*desc)))
			break;
	return i;
}

bool coll_t3_has_plan(const coll_t3_module_t *m, const struct t3_plan_desc *desc)
{
	return find(m, desc) < m->kept;
}

void coll_t3_drop_plans(coll_t3_module_t *m)
{
	while (m->kept)
		t3_plan_destroy(m->plans[--m->kept].plan);
}

static uint64_t bytes_of(const struct t3_plan_desc *desc)
{
	return desc->count * t3_dtype_bytes(desc->dtype);
}

/* A plan that could not be made takes no memory. */
static uint64_t kept_bytes(const struct coll_t3_kept *kept)
{
	return kept->plan ? bytes_of(&kept->desc) : 0;
}

/* Drop those that were used longest ago, until a plan of so many bytes may be kept, too. */
static void make_room(coll_t3_module_t *m, uint64_t bytes)
{
	uint64_t most = 2 * coll_t3_params.piece;
	uint32_t i;

	if (most < COLL_T3_KEPT_BYTES)
		most = COLL_T3_KEPT_BYTES;
	for (i = 0; i < m->kept; i++)
		bytes += kept_bytes(&m->plans[i]);
	while (m->kept && (m->kept >= coll_t3_params.plans || bytes > most)) {
		bytes -= kept_bytes(&m->plans[--m->kept]);
		t3_plan_destroy(m->plans[m->kept].plan);
	}
}

static void put_first(coll_t3_module_t *m, uint32_t i)
{
	struct coll_t3_kept first = m->plans[i];

	memmove(&m->plans[1], &m->plans[0], i * sizeof(first));
	m->plans[0] = first;
}

static int create(coll_t3_module_t *m, const struct t3_plan_desc *desc, struct t3_plan **plan)
{
	return t3_plan_create(m->t3, desc,
			      t3_deadline(coll_t3_params.setup_seconds * 1000000000ull), plan);
}

/*
 * libt3 makes no progress of MPI, but a rank that is not here yet may need some to come. So the
 * ranks agree first.
 */
static int make(coll_t3_module_t *m, const struct t3_plan_desc *desc, struct t3_plan **plan)
{
	int ret = coll_t3_agree(m, 0);

	return ret ? ret : create(m, desc, plan);
}

/* All ranks have the error. */
static void say_error(coll_t3_module_t *m, int error)
{
	coll_t3_say(1, "%s: no plan: %s: %s", coll_t3_name(m->comm), strerror(-error),
		    t3_comm_error(m->t3));
	/* A link that one plan lacks, the next one lacks, too. */
	if (error == -EHOSTUNREACH)
		m->state = COLL_T3_OFF;
}

/* Kept plans stay, as collectives that do not block may be using them. */
int coll_t3_own_plan(coll_t3_module_t *m, const struct t3_plan_desc *desc, struct t3_plan **plan)
{
	int ret = make(m, desc, plan);

	if (ret && coll_t3_agreed(ret))
		say_error(m, ret);
	return ret;
}

static int add(coll_t3_module_t *m, const struct t3_plan_desc *desc)
{
	struct t3_plan *plan = NULL;
	int ret;

	make_room(m, bytes_of(desc));
	ret = make(m, desc, &plan);
	if (coll_t3_lacks_room(ret) && m->kept) {
		coll_t3_drop_plans(m);
		ret = create(m, desc, &plan);
	}
	if (ret && !coll_t3_agreed(ret))
		return ret;
	if (ret)
		say_error(m, ret);
	m->plans[m->kept++] = (struct coll_t3_kept){ *desc, plan, ret };
	return 0;
}

int coll_t3_plan(coll_t3_module_t *m, const struct t3_plan_desc *desc, bool may_make,
		 struct t3_plan **plan)
{
	uint32_t i = find(m, desc);
	int ret;

	if (i == m->kept) {
		ret = may_make ? add(m, desc) : -ENOENT;
		if (ret)
			return ret;
		i = m->kept - 1;
	}
	put_first(m, i);
	*plan = m->plans[0].plan;
	return m->plans[0].error;
}

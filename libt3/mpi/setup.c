// SPDX-License-Identifier: MIT
/*
 * The ranks of a communicator agree whether T3 carries its large messages. They do so in the first
 * collective that is large enough, by functions of the next component, as only then all of them are
 * in the same call. A program that sends only small messages never opens a device.
 */
#include <errno.h>
#include <string.h>

#include "coll_t3.h"

int coll_t3_agree(coll_t3_module_t *m, int mine)
{
	int least, ret;

	m->exchanges = true;
	ret = m->next.allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, m->comm,
				m->next.allreduce_module);
	m->exchanges = false;
	return ret ? -ECOMM : least;
}

int coll_t3_exchange(coll_t3_module_t *m, const void *mine, void *all, size_t bytes)
{
	int ret;

	m->exchanges = true;
	ret = m->next.allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, m->comm,
				m->next.allgather_module);
	m->exchanges = false;
	return ret ? -ECOMM : 0;
}

static int all_gather(void *ctx, const void *mine, void *all, size_t bytes)
{
	return coll_t3_exchange(ctx, mine, all, bytes);
}

/* own is this rank's error, or 0 when only another rank has one. */
static void turn_off(coll_t3_module_t *m, int own, int least, const char *why)
{
	m->state = COLL_T3_OFF;
	if (own)
		coll_t3_say(1, "%s is not T3's: %s: %s", coll_t3_name(m->comm), strerror(-own),
			    why);
	else
		coll_t3_say(1, "%s is not T3's: another rank says: %s", coll_t3_name(m->comm),
			    strerror(-least));
}

static void set_up(coll_t3_module_t *m)
{
	char why[T3_COMM_TEXT_SIZE] = "";
	struct t3_bootstrap_desc desc = {
		.all_gather = all_gather,
		.ctx = m,
		.rank = (uint32_t)ompi_comm_rank(m->comm),
		.ranks = (uint32_t)ompi_comm_size(m->comm),
		.text = why,
		.text_size = sizeof(why),
	};
	int64_t end;
	int own = coll_t3_open_device(), least = coll_t3_agree(m, own);

	if (least) {
		turn_off(m, own, least, coll_t3_device_error());
		return;
	}
	end = t3_deadline(coll_t3_params.setup_seconds * 1000000000ull);
	own = t3_comm_create_bootstrap(coll_t3_device(), &desc, end, &m->t3);
	least = coll_t3_agree(m, own);
	if (least) {
		coll_t3_leave(m);
		turn_off(m, own, least, why);
		return;
	}
	m->state = COLL_T3_ON;
	coll_t3_say(1, "%s is T3's: rank %d of %d", coll_t3_name(m->comm), ompi_comm_rank(m->comm),
		    ompi_comm_size(m->comm));
}

bool coll_t3_ready(coll_t3_module_t *m)
{
	if (m->state == COLL_T3_NEW)
		set_up(m);
	return m->state != COLL_T3_OFF;
}

/*
 * No barrier is needed, as no rank can be in a call that needs this one. In the set-up each rank
 * has left t3_comm_create_bootstrap() before coll_t3_agree() returns on any rank. Later a rank
 * leaves when its last collective is complete: it has delivered all that others need of it, and a
 * space that goes poisons only the epochs after that one (SPEC.md, section 6.2). After a failure
 * the epoch is not complete, and the others get -EIO by the poison.
 */
void coll_t3_leave(coll_t3_module_t *m)
{
	coll_t3_drop_persistent(m);
	coll_t3_drop_plans(m);
	t3_comm_destroy(m->t3);
	m->t3 = NULL;
	if (m->state == COLL_T3_ON)
		m->state = COLL_T3_OFF;
}

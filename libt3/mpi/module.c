// SPDX-License-Identifier: MIT
/*
 * The component on one communicator. Open MPI enables the modules of a communicator by rising
 * priority. The functions that it has when this one is enabled are those of the next component.
 */
#include <stdlib.h>
#include <string.h>

#include "coll_t3.h"

static void construct(coll_t3_module_t *m)
{
	memset((char *)m + sizeof(m->super), 0, sizeof(*m) - sizeof(m->super));
	m->state = COLL_T3_NEW;
	m->piece = coll_t3_params.piece;
}

#define RELEASE(name)              \
	if (m->next.name##_module) \
		OBJ_RELEASE(m->next.name##_module);

static void destruct(coll_t3_module_t *m)
{
	coll_t3_leave(m);
	free(m->scratch);
	COLL_T3_FUNCTIONS(RELEASE)
}

OBJ_CLASS_INSTANCE(coll_t3_module_t, mca_coll_base_module_t, construct, destruct);

#define KEEP(name)                                                             \
	if (!comm->c_coll->coll_##name || !comm->c_coll->coll_##name##_module) \
		return OMPI_ERROR;                                             \
	m->next.name = comm->c_coll->coll_##name;                              \
	m->next.name##_module = comm->c_coll->coll_##name##_module;            \
	OBJ_RETAIN(m->next.name##_module);

static int keep_next(coll_t3_module_t *m, struct ompi_communicator_t *comm)
{
	COLL_T3_FUNCTIONS(KEEP)
	return OMPI_SUCCESS;
}

static int enable(mca_coll_base_module_t *module, struct ompi_communicator_t *comm)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;

	m->comm = comm;
	return keep_next(m, comm);
}

/* While the communicator is still there. */
static int disable(mca_coll_base_module_t *module, struct ompi_communicator_t *comm)
{
	(void)comm;
	coll_t3_leave((coll_t3_module_t *)module);
	return OMPI_SUCCESS;
}

static const char *unfit(struct ompi_communicator_t *comm)
{
	int size = ompi_comm_size(comm);

	if (OMPI_COMM_IS_INTER(comm))
		return "it is an intercommunicator";
	if (size < T3_COMM_RANKS_MIN || size > T3_COMM_RANKS_MAX)
		return "T3 communicators have 2 to 32 ranks";
	return NULL;
}

mca_coll_base_module_t *coll_t3_comm_query(struct ompi_communicator_t *comm, int *priority)
{
	const char *why = unfit(comm);
	coll_t3_module_t *m;

	if (coll_t3_params.priority < 0)
		return NULL;
	if (why) {
		coll_t3_say(1, "%s is not T3's: %s", coll_t3_name(comm), why);
		return NULL;
	}
	m = OBJ_NEW(coll_t3_module_t);
	if (!m)
		return NULL;
	m->super.coll_module_enable = enable;
	m->super.coll_module_disable = disable;
	m->super.coll_allreduce = coll_t3_allreduce;
	m->super.coll_reduce = coll_t3_reduce;
	m->super.coll_reduce_scatter = coll_t3_reduce_scatter;
	m->super.coll_reduce_scatter_block = coll_t3_reduce_scatter_block;
	m->super.coll_iallreduce = coll_t3_iallreduce;
	m->super.coll_ireduce = coll_t3_ireduce;
	m->super.coll_ireduce_scatter = coll_t3_ireduce_scatter;
	m->super.coll_ireduce_scatter_block = coll_t3_ireduce_scatter_block;
	m->super.coll_allreduce_init = coll_t3_allreduce_init;
	m->super.coll_reduce_init = coll_t3_reduce_init;
	m->super.coll_reduce_scatter_init = coll_t3_reduce_scatter_init;
	m->super.coll_reduce_scatter_block_init = coll_t3_reduce_scatter_block_init;
	m->super.coll_allgather = coll_t3_allgather;
	m->super.coll_alltoall = coll_t3_alltoall;
	m->super.coll_bcast = coll_t3_bcast;
	m->super.coll_allgatherv = coll_t3_allgatherv;
	m->super.coll_gather = coll_t3_gather;
	m->super.coll_gatherv = coll_t3_gatherv;
	m->super.coll_scatter = coll_t3_scatter;
	m->super.coll_scatterv = coll_t3_scatterv;
	m->super.coll_alltoallv = coll_t3_alltoallv;
	m->super.coll_barrier = coll_t3_barrier;
	m->super.coll_scan = coll_t3_scan;
	m->super.coll_exscan = coll_t3_exscan;
	m->super.coll_alltoallw = coll_t3_alltoallw;
	*priority = coll_t3_params.priority;
	return &m->super;
}

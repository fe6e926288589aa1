// SPDX-License-Identifier: MIT
/*
 * Functions that T3 never does. They are counted as passed on, so that the counters have all that a
 * program does. README.md says why T3 has none of them.
 */
#include "coll_t3.h"

int coll_t3_scan(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
		 struct ompi_op_t *op, struct ompi_communicator_t *comm,
		 mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;

	coll_t3_pass(m, COLL_T3_SCAN, COLL_T3_FUNCTION, coll_t3_bytes(count, type));
	return m->next.scan(sbuf, rbuf, count, type, op, comm, m->next.scan_module);
}

int coll_t3_exscan(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
		   struct ompi_op_t *op, struct ompi_communicator_t *comm,
		   mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;

	coll_t3_pass(m, COLL_T3_EXSCAN, COLL_T3_FUNCTION, coll_t3_bytes(count, type));
	return m->next.exscan(sbuf, rbuf, count, type, op, comm, m->next.exscan_module);
}

int coll_t3_alltoallw(const void *sbuf, const int *scounts, const int *sdisps,
		      struct ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
		      const int *rdisps, struct ompi_datatype_t *const *rtypes,
		      struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	int ranks = ompi_comm_size(comm), r;
	size_t bytes = 0;

	for (r = 0; r < ranks; r++)
		bytes += coll_t3_bytes(rcounts[r], rtypes[r]);
	coll_t3_pass(m, COLL_T3_ALLTOALLW, COLL_T3_FUNCTION, bytes);
	return m->next.alltoallw(sbuf, scounts, sdisps, stypes, rbuf, rcounts, rdisps, rtypes, comm,
				 m->next.alltoallw_module);
}

// SPDX-License-Identifier: MIT
/*
 * MPI's types and operations that a device has. The handles of MPI are compared, as all others
 * are the program's own. MPI's types for Fortran are handles of their own.
 */
#include "coll_t3.h"

#define ANY (1u << DRM_T3_OP_ADD | 1u << DRM_T3_OP_MIN | 1u << DRM_T3_OP_MAX)
/* The sum of unsigned numbers has the bits of the signed one. Their order is another one. */
#define SUM (1u << DRM_T3_OP_ADD)

bool coll_t3_reduction(struct ompi_datatype_t *type, struct ompi_op_t *op, uint32_t *dtype,
		       uint32_t *t3_op)
{
	const struct {
		MPI_Datatype type;
		uint32_t dtype, ops;
	} types[] = {
		{ MPI_INT, DRM_T3_I32, ANY },	   { MPI_INT32_T, DRM_T3_I32, ANY },
		{ MPI_INTEGER, DRM_T3_I32, ANY },  { MPI_INTEGER4, DRM_T3_I32, ANY },
		{ MPI_UNSIGNED, DRM_T3_I32, SUM }, { MPI_UINT32_T, DRM_T3_I32, SUM },
		{ MPI_FLOAT, DRM_T3_F32, ANY },	   { MPI_REAL, DRM_T3_F32, ANY },
		{ MPI_REAL4, DRM_T3_F32, ANY },
	};
	const struct {
		MPI_Op op;
		uint32_t t3_op;
	} ops[] = {
		{ MPI_SUM, DRM_T3_OP_ADD },
		{ MPI_MIN, DRM_T3_OP_MIN },
		{ MPI_MAX, DRM_T3_OP_MAX },
	};
	size_t t, o, bytes;

	for (t = 0; t < sizeof(types) / sizeof(*types) && types[t].type != type; t++)
		;
	for (o = 0; o < sizeof(ops) / sizeof(*ops) && ops[o].op != op; o++)
		;
	if (t == sizeof(types) / sizeof(*types) || o == sizeof(ops) / sizeof(*ops) ||
	    !(types[t].ops >> ops[o].t3_op & 1))
		return false;
	/* Fortran's may have 8 bytes, by a flag of the compiler that built Open MPI. */
	if (ompi_datatype_type_size(type, &bytes) != OMPI_SUCCESS || bytes != 4)
		return false;
	*dtype = types[t].dtype;
	*t3_op = ops[o].t3_op;
	return true;
}

// SPDX-License-Identifier: MIT
/*
 * MPI's types and operations that a device has. The handles of MPI are compared, as all others
 * are the program's own. MPI's types for Fortran are handles of their own.
 */
#include "coll_t3.h"

#define OP(op)	(1u << DRM_T3_OP_##op)
#define FLOAT	(OP(ADD) | OP(MUL) | OP(MIN) | OP(MAX))
#define BITS	(OP(AND) | OP(OR) | OP(XOR))
#define INTEGER (FLOAT | BITS)
/* Sums, products and bits of unsigned numbers are those of signed ones. Their order is another. */
#define UNSIGNED (INTEGER & ~ORDER)
#define ORDER	 (OP(MIN) | OP(MAX))

/* Operations of MPI, in three kinds of their own. */
static bool find_op(struct ompi_op_t *op, bool logical, uint32_t *t3_op)
{
	const struct {
		MPI_Op op;
		uint32_t t3_op;
		bool logical;
	} ops[] = {
		{ MPI_SUM, DRM_T3_OP_ADD, false },  { MPI_PROD, DRM_T3_OP_MUL, false },
		{ MPI_MIN, DRM_T3_OP_MIN, false },  { MPI_MAX, DRM_T3_OP_MAX, false },
		{ MPI_BAND, DRM_T3_OP_AND, false }, { MPI_BOR, DRM_T3_OP_OR, false },
		{ MPI_BXOR, DRM_T3_OP_XOR, false }, { MPI_LAND, DRM_T3_OP_AND, true },
		{ MPI_LOR, DRM_T3_OP_OR, true },    { MPI_LXOR, DRM_T3_OP_XOR, true },
	};
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (ops[i].op == op && ops[i].logical == logical) {
			*t3_op = ops[i].t3_op;
			return true;
		}
	return false;
}

bool coll_t3_reduction(struct ompi_datatype_t *type, struct ompi_op_t *op, uint32_t *dtype,
		       uint32_t *t3_op)
{
	/* A type has two lines where one of its operations needs another type of the device. */
	const struct {
		MPI_Datatype type;
		uint32_t dtype, ops;
		bool logical; /* logical operations, on values that are 0 or 1 */
	} types[] = {
		{ MPI_INT, DRM_T3_I32, INTEGER, false },
		{ MPI_INT32_T, DRM_T3_I32, INTEGER, false },
		{ MPI_INTEGER, DRM_T3_I32, INTEGER, false },
		{ MPI_INTEGER4, DRM_T3_I32, INTEGER, false },
		{ MPI_UNSIGNED, DRM_T3_I32, UNSIGNED, false },
		{ MPI_UNSIGNED, DRM_T3_U32, ORDER, false },
		{ MPI_UINT32_T, DRM_T3_I32, UNSIGNED, false },
		{ MPI_UINT32_T, DRM_T3_U32, ORDER, false },
		{ MPI_FLOAT, DRM_T3_F32, FLOAT, false },
		{ MPI_REAL, DRM_T3_F32, FLOAT, false },
		{ MPI_REAL4, DRM_T3_F32, FLOAT, false },
		{ MPI_DOUBLE, DRM_T3_F64, FLOAT, false },
		{ MPI_DOUBLE_PRECISION, DRM_T3_F64, FLOAT, false },
		{ MPI_REAL8, DRM_T3_F64, FLOAT, false },
		{ MPI_LONG, DRM_T3_I64, INTEGER, false },
		{ MPI_LONG_LONG, DRM_T3_I64, INTEGER, false },
		{ MPI_INT64_T, DRM_T3_I64, INTEGER, false },
		{ MPI_INTEGER8, DRM_T3_I64, INTEGER, false },
		{ MPI_AINT, DRM_T3_I64, INTEGER, false },
		{ MPI_OFFSET, DRM_T3_I64, INTEGER, false },
		{ MPI_COUNT, DRM_T3_I64, INTEGER, false },
		{ MPI_UNSIGNED_LONG, DRM_T3_U64, INTEGER, false },
		{ MPI_UNSIGNED_LONG_LONG, DRM_T3_U64, INTEGER, false },
		{ MPI_UINT64_T, DRM_T3_U64, INTEGER, false },
		{ MPI_SIGNED_CHAR, DRM_T3_I8, INTEGER, false },
		{ MPI_INT8_T, DRM_T3_I8, INTEGER, false },
		{ MPI_INTEGER1, DRM_T3_I8, INTEGER, false },
		{ MPI_UNSIGNED_CHAR, DRM_T3_U8, INTEGER, false },
		{ MPI_UINT8_T, DRM_T3_U8, INTEGER, false },
		{ MPI_BYTE, DRM_T3_U8, BITS, false },
		{ MPI_C_BOOL, DRM_T3_U8, BITS, true },
		{ MPI_CXX_BOOL, DRM_T3_U8, BITS, true },
	};
	size_t t, bytes;

	/* Fortran's and long have other sizes by the compiler that built Open MPI. */
	if (ompi_datatype_type_size(type, &bytes) != OMPI_SUCCESS)
		return false;
	for (t = 0; t < sizeof(types) / sizeof(*types); t++) {
		*dtype = types[t].dtype;
		if (types[t].type == type && bytes == t3_dtype_bytes(*dtype) &&
		    find_op(op, types[t].logical, t3_op) && (types[t].ops >> *t3_op & 1))
			return true;
	}
	return false;
}

// SPDX-License-Identifier: MIT
/*
 * MPI's types and operations that a device has. The handles of MPI are compared, as all others
 * are the program's own. MPI's types for Fortran are handles of their own.
 */
#include "coll_t3.h"

/* Operations of MPI. Bits of a type's operations are 1 << SUM and so on. */
enum own_op { SUM, PROD, MIN, MAX, BAND, BOR, BXOR, LAND, LOR, LXOR, MINLOC, MAXLOC, OWN_OPS };

#define FLOAT	(1u << SUM | 1u << PROD | ORDER)
#define ORDER	(1u << MIN | 1u << MAX)
#define BITS	(1u << BAND | 1u << BOR | 1u << BXOR)
#define LOGICAL (1u << LAND | 1u << LOR | 1u << LXOR)
#define INTEGER (FLOAT | BITS | LOGICAL)
#define PLACE	(1u << MINLOC | 1u << MAXLOC)
/* Sums, products and bits of unsigned numbers are those of signed ones. Their order is another. */
#define UNSIGNED (INTEGER & ~ORDER)
/* An element of MPI's is two of the device's. */
#define TWICE (1u << OWN_OPS)

size_t coll_t3_bytes(int64_t count, struct ompi_datatype_t *type)
{
	size_t size;

	ompi_datatype_type_size(type, &size);
	return size * (size_t)count;
}

/* Return false for an operation of the program's own: these are all that MPI reduces by. */
static bool find_op(struct ompi_op_t *op, enum own_op *found, uint32_t *t3_op)
{
	const struct {
		MPI_Op op;
		uint32_t t3_op;
	} ops[OWN_OPS] = {
		[SUM] = { MPI_SUM, DRM_T3_OP_ADD },	  [PROD] = { MPI_PROD, DRM_T3_OP_MUL },
		[MIN] = { MPI_MIN, DRM_T3_OP_MIN },	  [MAX] = { MPI_MAX, DRM_T3_OP_MAX },
		[BAND] = { MPI_BAND, DRM_T3_OP_AND },	  [BOR] = { MPI_BOR, DRM_T3_OP_OR },
		[BXOR] = { MPI_BXOR, DRM_T3_OP_XOR },	  [LAND] = { MPI_LAND, DRM_T3_OP_AND },
		[LOR] = { MPI_LOR, DRM_T3_OP_OR },	  [LXOR] = { MPI_LXOR, DRM_T3_OP_XOR },
		[MINLOC] = { MPI_MINLOC, DRM_T3_OP_MIN }, [MAXLOC] = { MPI_MAXLOC, DRM_T3_OP_MAX },
	};
	int i;

	for (i = 0; i < OWN_OPS && ops[i].op != op; i++)
		;
	if (i == OWN_OPS)
		return false;
	*found = (enum own_op)i;
	*t3_op = ops[i].t3_op;
	return true;
}

/* How the device needs the elements, or NULL: as they are. */
static const struct coll_t3_form *form_of(struct ompi_datatype_t *type, enum own_op op,
					  uint32_t element)
{
	bool is_float = type == MPI_FLOAT_INT;

	if (1u << op & LOGICAL)
		return element == 1   ? &coll_t3_truth_8
		       : element == 4 ? &coll_t3_truth_32
				      : &coll_t3_truth_64;
	if (op == MINLOC)
		return is_float ? &coll_t3_least_float : &coll_t3_least_int;
	if (op == MAXLOC)
		return is_float ? &coll_t3_greatest_float : &coll_t3_greatest_int;
	return NULL;
}

/*
 * A type has two lines where one of its operations needs another type of the device. A complex
 * number is two of the device's, and so are the bits of 16-bit integers.
 */
static const struct {
	MPI_Datatype type;
	uint32_t dtype, ops;
} types[] = {
	{ MPI_INT, DRM_T3_I32, INTEGER },
	{ MPI_INT32_T, DRM_T3_I32, INTEGER },
	{ MPI_INTEGER, DRM_T3_I32, INTEGER },
	{ MPI_INTEGER4, DRM_T3_I32, INTEGER },
	{ MPI_UNSIGNED, DRM_T3_I32, UNSIGNED },
	{ MPI_UNSIGNED, DRM_T3_U32, ORDER },
	{ MPI_UINT32_T, DRM_T3_I32, UNSIGNED },
	{ MPI_UINT32_T, DRM_T3_U32, ORDER },
	{ MPI_FLOAT, DRM_T3_F32, FLOAT },
	{ MPI_REAL, DRM_T3_F32, FLOAT },
	{ MPI_REAL4, DRM_T3_F32, FLOAT },
	{ MPI_DOUBLE, DRM_T3_F64, FLOAT },
	{ MPI_DOUBLE_PRECISION, DRM_T3_F64, FLOAT },
	{ MPI_REAL8, DRM_T3_F64, FLOAT },
	{ MPI_LONG, DRM_T3_I64, INTEGER },
	{ MPI_LONG_LONG, DRM_T3_I64, INTEGER },
	{ MPI_INT64_T, DRM_T3_I64, INTEGER },
	{ MPI_INTEGER8, DRM_T3_I64, INTEGER },
	{ MPI_AINT, DRM_T3_I64, INTEGER },
	{ MPI_OFFSET, DRM_T3_I64, INTEGER },
	{ MPI_COUNT, DRM_T3_I64, INTEGER },
	{ MPI_UNSIGNED_LONG, DRM_T3_U64, INTEGER },
	{ MPI_UNSIGNED_LONG_LONG, DRM_T3_U64, INTEGER },
	{ MPI_UINT64_T, DRM_T3_U64, INTEGER },
	{ MPI_SIGNED_CHAR, DRM_T3_I8, INTEGER },
	{ MPI_INT8_T, DRM_T3_I8, INTEGER },
	{ MPI_INTEGER1, DRM_T3_I8, INTEGER },
	{ MPI_UNSIGNED_CHAR, DRM_T3_U8, INTEGER },
	{ MPI_UINT8_T, DRM_T3_U8, INTEGER },
	{ MPI_BYTE, DRM_T3_U8, BITS },
	{ MPI_C_BOOL, DRM_T3_U8, LOGICAL },
	{ MPI_CXX_BOOL, DRM_T3_U8, LOGICAL },
	{ MPI_LOGICAL, DRM_T3_I32, LOGICAL },
	{ MPI_SHORT, DRM_T3_U8, TWICE | BITS },
	{ MPI_INT16_T, DRM_T3_U8, TWICE | BITS },
	{ MPI_INTEGER2, DRM_T3_U8, TWICE | BITS },
	{ MPI_UNSIGNED_SHORT, DRM_T3_U8, TWICE | BITS },
	{ MPI_UINT16_T, DRM_T3_U8, TWICE | BITS },
	{ MPI_C_FLOAT_COMPLEX, DRM_T3_F32, TWICE | 1u << SUM },
	{ MPI_CXX_FLOAT_COMPLEX, DRM_T3_F32, TWICE | 1u << SUM },
	{ MPI_COMPLEX, DRM_T3_F32, TWICE | 1u << SUM },
	{ MPI_COMPLEX8, DRM_T3_F32, TWICE | 1u << SUM },
	{ MPI_C_DOUBLE_COMPLEX, DRM_T3_F64, TWICE | 1u << SUM },
	{ MPI_CXX_DOUBLE_COMPLEX, DRM_T3_F64, TWICE | 1u << SUM },
	{ MPI_DOUBLE_COMPLEX, DRM_T3_F64, TWICE | 1u << SUM },
	{ MPI_COMPLEX16, DRM_T3_F64, TWICE | 1u << SUM },
	{ MPI_2INT, DRM_T3_I64, PLACE },
	{ MPI_2INTEGER, DRM_T3_I64, PLACE },
	{ MPI_FLOAT_INT, DRM_T3_I64, PLACE },
};

bool coll_t3_reduction(struct ompi_datatype_t *type, struct ompi_op_t *op, struct coll_t3_job *job,
		       enum coll_t3_reason *why)
{
	bool is_known;
	enum own_op own = SUM;
	uint32_t bytes, twice;
	size_t t;

	is_known = find_op(op, &own, &job->op);
	*why = is_known ? COLL_T3_TYPE : COLL_T3_OWN_OP;
	if (!is_known)
		return false;
	for (t = 0; t < sizeof(types) / sizeof(*types); t++) {
		/* Fortran's and long have other sizes by the compiler that built Open MPI. */
		bytes = t3_dtype_bytes(types[t].dtype);
		twice = !!(types[t].ops & TWICE);
		if (types[t].type != type || coll_t3_bytes(1, type) != bytes << twice)
			continue;
		*why = COLL_T3_OP;
		if (!(types[t].ops >> own & 1))
			continue;
		job->dtype = types[t].dtype;
		job->element = bytes;
		job->count <<= twice;
		job->form = form_of(type, own, job->element);
		return true;
	}
	return false;
}

// SPDX-License-Identifier: MIT
/* The program's buffers as contiguous bytes. What has gaps is packed before and unpacked after. */
#include <stdlib.h>

#include "coll_t3.h"

void *coll_t3_element(const void *buf, struct ompi_datatype_t *type, int64_t index)
{
	ptrdiff_t lb, extent;

	ompi_datatype_get_extent(type, &lb, &extent);
	return (char *)buf + index * extent;
}

struct coll_t3_flat coll_t3_flatten(const void *buf, int count, struct ompi_datatype_t *type,
				    char *packed)
{
	struct coll_t3_flat f = { .count = count,
				  .type = type,
				  .bytes = coll_t3_bytes(count, type) };
	ptrdiff_t lb, extent;

	if (ompi_datatype_is_contiguous_memory_layout(type, count)) {
		ompi_datatype_get_true_extent(type, &lb, &extent);
		f.at = (char *)buf + lb;
	} else {
		f.at = packed;
		f.packed = true;
		f.user = (void *)buf;
	}
	return f;
}

/* By Open MPI's copy between datatypes, one of which is packed bytes. */
static void pack(const struct coll_t3_flat *f)
{
	if (f->packed)
		ompi_datatype_sndrcv(f->user, f->count, f->type, f->at, (int)f->bytes, MPI_PACKED);
}

static void unpack(const struct coll_t3_flat *f)
{
	if (f->packed)
		ompi_datatype_sndrcv(f->at, (int)f->bytes, MPI_PACKED, f->user, f->count, f->type);
}

char *coll_t3_scratch(coll_t3_module_t *m, size_t bytes)
{
	void *more;

	if (m->scratch_bytes < bytes) {
		more = realloc(m->scratch, bytes);
		if (!more)
			return NULL;
		m->scratch = more;
		m->scratch_bytes = bytes;
	}
	return m->scratch;
}

bool coll_t3_has_gaps(int count, struct ompi_datatype_t *type)
{
	return !ompi_datatype_is_contiguous_memory_layout(type, count);
}

void coll_t3_set_bytes(struct coll_t3_job *job, size_t part, size_t all)
{
	job->bytes = all;
	job->element = part % 4 ? 1 : 4;
	job->dtype = part % 4 ? DRM_T3_U8 : DRM_T3_I32;
	job->count = part / job->element;
}

bool coll_t3_is_over(enum coll_t3_end end, int *ret)
{
	*ret = end == COLL_T3_DONE ? OMPI_SUCCESS : OMPI_ERROR;
	return end != COLL_T3_PASS;
}

bool coll_t3_run_flat(coll_t3_module_t *m, struct coll_t3_job *job, const struct coll_t3_flat *in,
		      const struct coll_t3_flat *out, int *ret)
{
	enum coll_t3_end end;

	if ((in->packed && !in->at) || (out->packed && !out->at)) {
		end = coll_t3_break(m, job->call, "no memory for packed data");
		return coll_t3_is_over(end, ret);
	}
	pack(in);
	job->in = in->at;
	job->out = out->at;
	end = coll_t3_run(m, job);
	if (end == COLL_T3_DONE)
		unpack(out);
	return coll_t3_is_over(end, ret);
}

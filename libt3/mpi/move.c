// SPDX-License-Identifier: MIT
/*
 * MPI's functions that only move data. Ranks may use different datatypes for it, so that only its
 * bytes are equal at all ranks. What has gaps in memory is packed before and unpacked behind.
 */
#include <stdlib.h>

#include "coll_t3.h"

/* A user's buffer as contiguous bytes. */
struct flat {
	char *at;    /* the bytes */
	bool packed; /* they are not the user's own memory */
	void *user;  /* MPI_BOTTOM is NULL */
	int count;
	struct ompi_datatype_t *type;
	size_t bytes;
};

static size_t bytes_of(int count, struct ompi_datatype_t *type)
{
	size_t size;

	ompi_datatype_type_size(type, &size);
	return size * (size_t)count;
}

/* Element `index` of a buffer. */
static void *element_at(const void *buf, struct ompi_datatype_t *type, int64_t index)
{
	ptrdiff_t lb, extent;

	ompi_datatype_get_extent(type, &lb, &extent);
	return (char *)buf + index * extent;
}

/* packed is memory for the bytes, if they have gaps. */
static struct flat flatten(const void *buf, int count, struct ompi_datatype_t *type, char *packed)
{
	struct flat f = { .count = count, .type = type, .bytes = bytes_of(count, type) };
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
static void pack(const struct flat *f)
{
	if (f->packed)
		ompi_datatype_sndrcv(f->user, f->count, f->type, f->at, (int)f->bytes, MPI_PACKED);
}

static void unpack(const struct flat *f)
{
	if (f->packed)
		ompi_datatype_sndrcv(f->at, (int)f->bytes, MPI_PACKED, f->user, f->count, f->type);
}

/* Memory for packed input and output. */
static char *scratch(coll_t3_module_t *m, size_t bytes)
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

static bool has_gaps(int count, struct ompi_datatype_t *type)
{
	return !ompi_datatype_is_contiguous_memory_layout(type, count);
}

/* part: bytes of each part. The device's elements are words where these are whole words. */
static void set_bytes(struct coll_t3_job *job, size_t part)
{
	job->element = part % 4 ? 1 : 4;
	job->dtype = part % 4 ? DRM_T3_U8 : DRM_T3_I32;
	job->count = part / job->element;
}

/* Whether the call is over: done, or failed. */
static bool is_over(enum coll_t3_end end, int *ret)
{
	*ret = end == COLL_T3_DONE ? OMPI_SUCCESS : OMPI_ERROR;
	return end != COLL_T3_PASS;
}

/* Run the job from one flat buffer to another. Only what is T3's own is allocated, and may lack. */
static bool was_run(coll_t3_module_t *m, struct coll_t3_job *job, const struct flat *in,
		    const struct flat *out, int *ret)
{
	enum coll_t3_end end;

	if ((in->packed && !in->at) || (out->packed && !out->at)) {
		end = coll_t3_break(m, job->call, "no memory for packed data");
		return is_over(end, ret);
	}
	pack(in);
	job->in = in->at;
	job->out = out->at;
	end = coll_t3_run(m, job);
	if (end == COLL_T3_DONE)
		unpack(out);
	return is_over(end, ret);
}

/* ---------------------------------------------------------------------- MPI_Allgather */

int coll_t3_allgather(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		      int rcount, struct ompi_datatype_t *rtype, struct ompi_communicator_t *comm,
		      mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job = { .call = COLL_T3_ALLGATHER, .collective = T3_ALL_GATHER };
	int rank = ompi_comm_rank(comm), ranks = ompi_comm_size(comm), ret;
	size_t part = bytes_of(rcount, rtype), all = part * (size_t)ranks;
	const void *own = sbuf;
	struct flat in, out;
	char *spare = NULL;

	if (!coll_t3_takes(m, job.call, all))
		return m->next.allgather(sbuf, scount, stype, rbuf, rcount, rtype, comm,
					 m->next.allgather_module);
	if (sbuf == MPI_IN_PLACE) {
		own = element_at(rbuf, rtype, (int64_t)rank * rcount);
		scount = rcount;
		stype = rtype;
	}
	if (has_gaps(scount, stype) || has_gaps(rcount * ranks, rtype))
		spare = scratch(m, part + all);
	in = flatten(own, scount, stype, spare);
	out = flatten(rbuf, rcount * ranks, rtype, spare ? spare + part : NULL);
	set_bytes(&job, part);
	if (was_run(m, &job, &in, &out, &ret))
		return ret;
	return m->next.allgather(sbuf, scount, stype, rbuf, rcount, rtype, comm,
				 m->next.allgather_module);
}

/* ---------------------------------------------------------------------- MPI_Alltoall */

int coll_t3_alltoall(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		     int rcount, struct ompi_datatype_t *rtype, struct ompi_communicator_t *comm,
		     mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job = { .call = COLL_T3_ALLTOALL, .collective = T3_ALL_TO_ALL };
	int ranks = ompi_comm_size(comm), ret;
	size_t part = bytes_of(rcount, rtype), all = part * (size_t)ranks;
	bool in_place = sbuf == MPI_IN_PLACE;
	struct flat in, out;
	char *spare = NULL;

	if (!coll_t3_takes(m, job.call, all))
		return m->next.alltoall(sbuf, scount, stype, rbuf, rcount, rtype, comm,
					m->next.alltoall_module);
	if (has_gaps(rcount * ranks, rtype) || (!in_place && has_gaps(scount * ranks, stype)))
		spare = scratch(m, 2 * all);
	out = flatten(rbuf, rcount * ranks, rtype, spare ? spare + all : NULL);
	in = in_place ? out : flatten(sbuf, scount * ranks, stype, spare);
	set_bytes(&job, part);
	if (was_run(m, &job, &in, &out, &ret))
		return ret;
	return m->next.alltoall(sbuf, scount, stype, rbuf, rcount, rtype, comm,
				m->next.alltoall_module);
}

/* ---------------------------------------------------------------------- MPI_Bcast */

int coll_t3_bcast(void *buf, int count, struct ompi_datatype_t *type, int root,
		  struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job = {
		.call = COLL_T3_BCAST,
		.collective = T3_BROADCAST,
		.root = (uint32_t)root,
	};
	bool is_root = ompi_comm_rank(comm) == root;
	size_t bytes = bytes_of(count, type);
	const struct flat none = { .at = NULL };
	struct flat data;
	char *spare = NULL;
	int ret;

	if (!coll_t3_takes(m, job.call, bytes))
		return m->next.bcast(buf, count, type, root, comm, m->next.bcast_module);
	if (has_gaps(count, type))
		spare = scratch(m, bytes);
	data = flatten(buf, count, type, spare);
	set_bytes(&job, bytes);
	if (was_run(m, &job, is_root ? &data : &none, is_root ? &none : &data, &ret))
		return ret;
	return m->next.bcast(buf, count, type, root, comm, m->next.bcast_module);
}

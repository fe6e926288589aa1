// SPDX-License-Identifier: MIT
/*
 * MPI's persistent collectives with the component coll/t3:
 *
 *	mpirun -n 4 --mca coll_t3_piece 32768 mpi_persistent [t3|next|any]
 *	mpirun -n 4 --mca coll_t3_timeout 1 mpi_persistent t3 late
 *	mpirun -n 4 --mca coll_t3_piece 4194304 mpi_persistent t3 room
 *
 * Each is initialised once and started again and again with other data, also in place, several at a
 * time, behind and before other calls. With `late` a rank does not come, and the error must reach
 * MPI_Wait. With `room` the device has not room for all. Requests stay at the end, which a program may do, too.
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/checks.h"

#if OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allreduce_init	      MPIX_Allreduce_init
#define MPI_Reduce_init		      MPIX_Reduce_init
#define MPI_Reduce_scatter_init	      MPIX_Reduce_scatter_init
#define MPI_Reduce_scatter_block_init MPIX_Reduce_scatter_block_init
#endif

/* ---------------------------------------------------------------------- data */

/* Small integers, whose sums are exact in each type and order. */
static int64_t value(int of, uint64_t at, int round)
{
	return raw(of, at) % 1000 + (int64_t)round * (of + 3);
}

static int64_t reduced(uint64_t at, int round, int is_max)
{
	int64_t result = value(0, at, round), one;
	int r;

	for (r = 1; r < ranks; r++) {
		one = value(r, at, round);
		result = !is_max ? result + one : one > result ? one : result;
	}
	return result;
}

/* ---------------------------------------------------------------------- one request */

enum function { ALLREDUCE, REDUCE, SCATTER, BLOCK, FUNCTIONS };

static const char *const names[FUNCTIONS] = { "allreduce_init", "reduce_init",
					      "reduce_scatter_init", "reduce_scatter_block_init" };

struct task {
	enum function function;
	MPI_Datatype type; /* MPI_FLOAT, MPI_DOUBLE or MPI_INT */
	MPI_Op op;	   /* MPI_SUM or MPI_MAX */
	uint64_t count;
	int in_place, given; /* elements that part 0 gives to the last one */
	size_t bytes;	     /* of an element */
	uint64_t first, own; /* the result that this rank gets */
	int has_result, root;
	int me; /* this rank, in the request's communicator */
	void *in, *out;
	int counts[32];
	MPI_Request request;
};

static void put(const struct task *t, void *buf, uint64_t at, int64_t is)
{
	if (t->type == MPI_DOUBLE)
		((double *)buf)[at] = (double)is;
	else if (t->type == MPI_FLOAT)
		((float *)buf)[at] = (float)is;
	else
		((int32_t *)buf)[at] = (int32_t)is;
}

static double get(const struct task *t, uint64_t at)
{
	if (t->type == MPI_DOUBLE)
		return ((const double *)t->out)[at];
	return t->type == MPI_FLOAT ? (double)((const float *)t->out)[at]
				    : (double)((const int32_t *)t->out)[at];
}

static void set_result(struct task *t)
{
	uint64_t part = t->count / (uint64_t)ranks;
	int r;

	t->own = t->count;
	t->has_result = t->function != REDUCE || rank == t->root;
	if (t->function < SCATTER)
		return;
	for (r = 0; r < ranks; r++)
		t->counts[r] = (int)part;
	t->counts[0] -= t->given;
	t->counts[ranks - 1] += t->given;
	t->own = (uint64_t)t->counts[rank];
	t->first = part * (uint64_t)rank - (uint64_t)(rank ? t->given : 0);
}

static void init(struct task *t)
{
	const void *from;

	t->bytes = t->type == MPI_DOUBLE ? 8 : 4;
	t->root = ranks - 1;
	t->me = rank;
	set_result(t);
	t->in = buffer(t->count * t->bytes);
	t->out = buffer(t->count * t->bytes);
	from = t->in_place ? MPI_IN_PLACE : t->in;
	if (t->function == ALLREDUCE)
		MPI_Allreduce_init(from, t->out, (int)t->count, t->type, t->op, comm, MPI_INFO_NULL,
				   &t->request);
	else if (t->function == REDUCE)
		MPI_Reduce_init(t->in_place && rank != t->root ? t->out : from,
				rank == t->root ? t->out : NULL, (int)t->count, t->type, t->op,
				t->root, comm, MPI_INFO_NULL, &t->request);
	else if (t->function == SCATTER)
		MPI_Reduce_scatter_init(from, t->out, t->counts, t->type, t->op, comm,
					MPI_INFO_NULL, &t->request);
	else
		MPI_Reduce_scatter_block_init(from, t->out, t->counts[0], t->type, t->op, comm,
					      MPI_INFO_NULL, &t->request);
	/* MPI wants the lengths to stay until the request is freed. No other call looks at ours. */
}

/* The input of a start. */
static void feed(const struct task *t, int round)
{
	void *to = t->in_place ? t->out : t->in;
	uint64_t i;

	for (i = 0; i < t->count; i++)
		put(t, to, i, value(t->me, i, round));
}

static void check(const struct task *t, int round)
{
	uint64_t i = 0;

	if (!t->has_result)
		return;
	while (i < t->own && get(t, i) == (double)reduced(t->first + i, round, t->op == MPI_MAX))
		i++;
	expect(i == t->own, names[t->function], "wrong result");
	expect(untouched((unsigned char *)t->out + t->count * t->bytes, GUARD), names[t->function],
	       "it wrote behind its buffer");
}

static void end(struct task *t)
{
	MPI_Request_free(&t->request);
	expect(t->request == MPI_REQUEST_NULL, names[t->function], "it is not freed");
	free(t->in);
	free(t->out);
}

/* ---------------------------------------------------------------------- what is checked */

#define ROUNDS 3

static void wait_for(MPI_Request *request, int by_test)
{
	int done = 0;

	if (!by_test)
		MPI_Wait(request, MPI_STATUS_IGNORE);
	while (by_test && !done)
		MPI_Test(request, &done, MPI_STATUS_IGNORE);
	expect(*request != MPI_REQUEST_NULL, "a persistent request", "it is gone after its end");
}

/* One function: each start has other data, and a request may be freed before its first start. */
static void again_and_again(struct task t, int can)
{
	unsigned long long before = done_by_t3(names[t.function]), starts = counted("starts");
	unsigned long long bytes = counted("start_bytes");
	int round;

	init(&t);
	MPI_Wait(&t.request, MPI_STATUS_IGNORE); /* of an inactive one it returns at once */
	for (round = 0; round < ROUNDS; round++) {
		feed(&t, round);
		MPI_Start(&t.request);
		wait_for(&t.request, round % 2);
		check(&t, round);
	}
	end(&t);
	init(&t);
	end(&t);
	expect_t3(names[t.function], before, 2 * can);
	expect_counted("starts", starts, can ? ROUNDS : 0);
	expect_counted("start_bytes", bytes, can ? ROUNDS * t.count * t.bytes : 0);
}

static void each_function(void)
{
	const uint64_t count = 20000; /* several pieces, and parts of the same length */
	struct task t = { .op = MPI_SUM, .count = count };

	for (t.function = 0; t.function < FUNCTIONS; t.function++) {
		t.type = MPI_FLOAT;
		t.op = MPI_SUM;
		t.count = count - count % (uint64_t)ranks;
		again_and_again(t, 1);
		t.in_place = 1;
		again_and_again(t, 1);
		t.in_place = 0;
		t.type = MPI_DOUBLE;
		t.op = MPI_MAX;
		t.count = (uint64_t)ranks * 1030;
		again_and_again(t, 1);
		t.type = MPI_INT;
		t.count = (uint64_t)ranks * 10;
		again_and_again(t, 0); /* too short */
	}
	t = (struct task){ .function = SCATTER, .type = MPI_INT, .op = MPI_SUM, .given = 700 };
	t.count = 6000 - 6000 % (uint64_t)ranks;
	again_and_again(t, 1);
	t.given = (int)(t.count / (uint64_t)ranks); /* rank 0 gets none */
	again_and_again(t, 1);
}

/*
 * Four requests at a time, behind a blocking call and a call that does not block. Rank 0 starts all
 * before it sends the message that the others wait for before they start any.
 */
static void several_at_a_time(void)
{
	struct task t[4] = {
		{ .function = ALLREDUCE, .type = MPI_FLOAT, .op = MPI_SUM, .count = 20011 },
		{ .function = ALLREDUCE,
		  .type = MPI_FLOAT,
		  .op = MPI_SUM,
		  .count = 20011,
		  .in_place = 1 },
		{ .function = REDUCE, .type = MPI_INT, .op = MPI_MAX, .count = 5000 },
		{ .function = ALLREDUCE, .type = MPI_DOUBLE, .op = MPI_SUM, .count = 3000 },
	};
	unsigned long long starts = counted("starts");
	struct task own = { .type = MPI_FLOAT, .op = MPI_SUM, .bytes = 4, .me = rank };
	float *in = buffer(20011 * 4), *out[2] = { buffer(20011 * 4), buffer(20011 * 4) };
	MPI_Request all[5];
	int round, i, token = 0;

	for (i = 0; i < 4; i++)
		init(&t[i]);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < 4; i++) {
			feed(&t[i], round);
			all[i] = t[i].request;
		}
		own.in = in;
		own.count = own.own = 20011;
		feed(&own, round);
		if (rank)
			MPI_Recv(&token, 1, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
		MPI_Startall(4, all);
		for (i = 1; !rank && i < ranks; i++)
			MPI_Send(&token, 1, MPI_INT, i, 3, comm);
		/* The second one has the plan of the first one. */
		MPI_Allreduce(in, out[0], 20011, MPI_FLOAT, MPI_SUM, comm);
		MPI_Iallreduce(in, out[1], 20011, MPI_FLOAT, MPI_SUM, comm, &all[4]);
		MPI_Waitall(5, all, MPI_STATUSES_IGNORE);
		for (i = 0; i < 4; i++)
			check(&t[i], round);
		own.has_result = 1;
		for (i = 0; i < 2; i++) {
			own.out = out[i];
			check(&own, round);
		}
	}
	expect_counted("starts", starts, 4 * ROUNDS);
	/* Not in the order in which they were made, and other ones at other ranks. */
	for (i = 0; i < 4; i++)
		end(&t[(i + rank) % 4]);
	free(in);
	free(out[0]);
	free(out[1]);
}

/*
 * A communicator of T3's stays until its last request is freed. Open MPI 4.1's own requests use one
 * that is gone.
 */
static void two_communicators(void)
{
	struct task t[2] = {
		{ .function = ALLREDUCE, .type = MPI_INT, .op = MPI_SUM, .count = 9000 },
		{ .function = BLOCK, .type = MPI_INT, .op = MPI_SUM },
	};
	MPI_Comm world = comm, other;
	int round;

	MPI_Comm_split(world, 0, -rank, &other);
	init(&t[0]);
	use(other);
	t[1].count = 2000 * (uint64_t)ranks;
	init(&t[1]);
	if (by_t3 > 0)
		MPI_Comm_free(&other);
	use(world);
	for (round = 0; round < ROUNDS; round++) {
		feed(&t[0], round);
		feed(&t[1], round);
		MPI_Start(&t[round % 2].request);
		MPI_Start(&t[1 - round % 2].request);
		MPI_Wait(&t[0].request, MPI_STATUS_IGNORE);
		MPI_Wait(&t[1].request, MPI_STATUS_IGNORE);
		check(&t[0], round);
		check(&t[1], round);
	}
	end(&t[0]);
	end(&t[1]);
	if (by_t3 <= 0)
		MPI_Comm_free(&other);
}

/* ---------------------------------------------------------------------- what is passed on */

static void take_the_last(void *in, void *inout, int *count, MPI_Datatype *type)
{
	(void)type;
	memcpy(inout, in, (size_t)*count * 4);
}

static void a_type_and_an_operation_that_no_device_has(void)
{
	unsigned long long types = counted("why_type"), ops = counted("why_own_op");
	unsigned long long before = done_by_t3("allreduce_init"), starts = counted("starts");
	float *in = buffer(40000), *out = buffer(40000);
	long double *wide = buffer(40000), *sum = buffer(40000);
	MPI_Request request;
	int i, good = 1;
	MPI_Op last;

	for (i = 0; i < 10000; i++)
		in[i] = (float)(rank + i);
	for (i = 0; i < 2500; i++)
		wide[i] = rank + i;
	MPI_Allreduce_init(wide, sum, 2500, MPI_LONG_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL,
			   &request);
	MPI_Start(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (i = 0; i < 2500; i++)
		good &= sum[i] == ranks * i + ranks * (ranks - 1) / 2;
	MPI_Request_free(&request);
	expect(good, "a persistent sum of long doubles", "wrong result");
	MPI_Op_create(take_the_last, 0, &last);
	MPI_Allreduce_init(in, out, 10000, MPI_FLOAT, last, comm, MPI_INFO_NULL, &request);
	MPI_Start(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (i = 0; i < 10000; i++)
		good &= out[i] >= (float)i && out[i] < (float)(i + ranks);
	MPI_Request_free(&request);
	MPI_Op_free(&last);
	expect(good, "a persistent operation of the program's", "wrong result");
	expect_counted("why_type", types, 1);
	expect_counted("why_own_op", ops, 1);
	expect_counted("starts", starts, 0);
	expect_t3("allreduce_init", before, 0);
	free(wide);
	free(sum);
	free(in);
	free(out);
}

#define MANY 64

/*
 * More requests than a device has room for, all with the same buffers, one after the other. The
 * next component has made those that are left.
 */
static void more_than_there_is_room_for(void)
{
	struct task t = { .function = ALLREDUCE, .type = MPI_INT, .op = MPI_SUM, .count = 1 << 20 };
	unsigned long long before = done_by_t3("allreduce_init"), plans = counted("why_plan"), own;
	MPI_Request all[MANY];
	int i;

	init(&t);
	all[0] = t.request;
	for (i = 1; i < MANY; i++)
		MPI_Allreduce_init(t.in, t.out, (int)t.count, t.type, t.op, comm, MPI_INFO_NULL,
				   &all[i]);
	own = done_by_t3("allreduce_init") - before;
	expect(own && own < MANY, "many requests", "not some of them by T3");
	expect_counted("why_plan", plans, MANY - own);
	for (i = 0; i < MANY; i += MANY - 1) {
		feed(&t, i);
		MPI_Start(&all[i]);
		MPI_Wait(&all[i], MPI_STATUS_IGNORE);
		check(&t, i);
	}
	for (i = 1; i < MANY; i++)
		MPI_Request_free(&all[i]);
	end(&t);
	before = done_by_t3("allreduce_init");
	init(&t); /* there is room again */
	end(&t);
	expect_t3("allreduce_init", before, 1);
}

/* ---------------------------------------------------------------------- wrong calls */

/*
 * A request that is active can neither be started nor freed. It is active for sure at rank 0, as the
 * others start after a message of rank 0. Open MPI 4.1's own one is damaged by such a start.
 */
static void an_active_request_is_neither_started_nor_freed(void)
{
	struct task t = { .function = ALLREDUCE, .type = MPI_INT, .op = MPI_SUM, .count = 5000 };
	int token = 0, i, class = MPI_SUCCESS;
	MPI_Request same;

	if (by_t3 <= 0)
		return;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	init(&t);
	feed(&t, 1);
	if (rank)
		MPI_Recv(&token, 1, MPI_INT, 0, 4, comm, MPI_STATUS_IGNORE);
	MPI_Start(&t.request);
	if (!rank) {
		MPI_Error_class(MPI_Start(&t.request), &class);
		expect(class == MPI_ERR_REQUEST, "a second start", "it is not refused");
		same = t.request;
		MPI_Error_class(MPI_Request_free(&same), &class);
		expect(class == MPI_ERR_REQUEST && same == t.request, "an active request",
		       "it can be freed");
	}
	for (i = 1; !rank && i < ranks; i++)
		MPI_Send(&token, 1, MPI_INT, i, 4, comm);
	MPI_Wait(&t.request, MPI_STATUS_IGNORE);
	check(&t, 1);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	end(&t);
}

/* ---------------------------------------------------------------------- a rank does not come */

static int calls_of_handler;

static void handle(MPI_Comm *of, int *error, ...)
{
	(void)of;
	(void)error;
	calls_of_handler++;
}

/*
 * The last rank does not start. The others wait until coll_t3_timeout is over. Open MPI 4.1 gives the
 * error to the handler of MPI_COMM_WORLD, and 5.0 to the communicator's. Both free the request.
 */
static void a_rank_does_not_start(void)
{
	struct task t = { .function = ALLREDUCE, .type = MPI_INT, .op = MPI_SUM, .count = 5000 };
	struct task other = t;
	MPI_Comm world = comm, own;
	MPI_Errhandler handler;
	int ret;

	MPI_Comm_create_errhandler(handle, &handler);
	MPI_Comm_dup(world, &own);
	MPI_Comm_set_errhandler(own, handler);
	MPI_Comm_set_errhandler(world, handler);
	use(own);
	init(&t);
	init(&other);
	feed(&t, 0);
	feed(&other, 0);
	if (rank < ranks - 1) {
		MPI_Start(&t.request);
		ret = MPI_Wait(&t.request, MPI_STATUS_IGNORE);
		expect(ret != MPI_SUCCESS, "a rank does not start", "the wait has no error");
		expect(calls_of_handler == 1, "a rank does not start", "the handler is not called");
		expect(t.request == MPI_REQUEST_NULL, "a failed request", "it stays");
		MPI_Start(&other.request);
		ret = MPI_Wait(&other.request, MPI_STATUS_IGNORE);
		expect(ret != MPI_SUCCESS, "a start after a failure", "it succeeds");
		expect(calls_of_handler == 2, "a start after a failure", "no call of the handler");
	}
	use(world);
	MPI_Barrier(comm);
	MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
	MPI_Errhandler_free(&handler);
	if (t.request != MPI_REQUEST_NULL)
		MPI_Request_free(&t.request);
	if (other.request != MPI_REQUEST_NULL)
		MPI_Request_free(&other.request);
	MPI_Comm_free(&own);
	/* Another communicator is as before. */
	again_and_again(
		(struct task){
			.function = ALLREDUCE, .type = MPI_INT, .op = MPI_SUM, .count = 5000 },
		1);
}

/* Of the world and of a communicator that nobody frees either. */
static void requests_that_stay(void)
{
	struct task t = { .function = ALLREDUCE, .type = MPI_FLOAT, .op = MPI_SUM, .count = 5000 };
	MPI_Comm world = comm, other;

	MPI_Comm_dup(world, &other);
	init(&t);
	use(other);
	init(&t);
	feed(&t, 1);
	MPI_Start(&t.request);
	MPI_Wait(&t.request, MPI_STATUS_IGNORE);
	check(&t, 1);
	use(world);
}

static void run_all(void)
{
	each_function();
	several_at_a_time();
	two_communicators();
	a_type_and_an_operation_that_no_device_has();
	an_active_request_is_neither_started_nor_freed();
	requests_that_stay();
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";

	return run_checks(argc, argv,
			  !strcmp(what, "late")	  ? a_rank_does_not_start
			  : !strcmp(what, "room") ? more_than_there_is_room_for
						  : run_all);
}

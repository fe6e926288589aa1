// SPDX-License-Identifier: MIT
/* The component's messages, and the names of calls, reasons and communicators in them. */
#include <stdarg.h>
#include <stdio.h>

#include "coll_t3.h"

#include "opal/util/output.h"

const char *const coll_t3_names[COLL_T3_CALLS] = {
	[COLL_T3_ALLREDUCE] = "allreduce",
	[COLL_T3_REDUCE] = "reduce",
	[COLL_T3_REDUCE_SCATTER] = "reduce_scatter",
	[COLL_T3_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
	[COLL_T3_ALLGATHER] = "allgather",
	[COLL_T3_ALLTOALL] = "alltoall",
	[COLL_T3_BCAST] = "bcast",
	[COLL_T3_ALLGATHERV] = "allgatherv",
	[COLL_T3_GATHER] = "gather",
	[COLL_T3_GATHERV] = "gatherv",
	[COLL_T3_SCATTER] = "scatter",
	[COLL_T3_SCATTERV] = "scatterv",
	[COLL_T3_ALLTOALLV] = "alltoallv",
	[COLL_T3_IALLREDUCE] = "iallreduce",
	[COLL_T3_IREDUCE] = "ireduce",
	[COLL_T3_IREDUCE_SCATTER] = "ireduce_scatter",
	[COLL_T3_IREDUCE_SCATTER_BLOCK] = "ireduce_scatter_block",
	[COLL_T3_ALLREDUCE_INIT] = "allreduce_init",
	[COLL_T3_REDUCE_INIT] = "reduce_init",
	[COLL_T3_REDUCE_SCATTER_INIT] = "reduce_scatter_init",
	[COLL_T3_REDUCE_SCATTER_BLOCK_INIT] = "reduce_scatter_block_init",
	[COLL_T3_BARRIER] = "barrier",
	[COLL_T3_SCAN] = "scan",
	[COLL_T3_EXSCAN] = "exscan",
	[COLL_T3_ALLTOALLW] = "alltoallw",
};

const char *const coll_t3_reasons[COLL_T3_REASONS] = {
	[COLL_T3_SHORT] = "it is below the threshold",
	[COLL_T3_LONG] = "it is over 2 GiB",
	[COLL_T3_TYPE] = "devices do not have its type",
	[COLL_T3_OP] = "devices do not have its operation for its type",
	[COLL_T3_OWN_OP] = "its operation is the program's own",
	[COLL_T3_PARTS] = "its parts have too unequal lengths",
	[COLL_T3_UNASKED] = "calls before it were not T3's, so its lengths were not exchanged",
	[COLL_T3_COMMUNICATOR] = "the communicator is not T3's",
	[COLL_T3_PLAN] = "there is no plan for it",
	[COLL_T3_EARLY] = "no blocking call has made a plan for it",
	[COLL_T3_FUNCTION] = "T3 does not have the function",
};

const char *const coll_t3_reason_names[COLL_T3_REASONS] = {
	[COLL_T3_SHORT] = "short",	 [COLL_T3_LONG] = "long",
	[COLL_T3_TYPE] = "type",	 [COLL_T3_OP] = "op",
	[COLL_T3_OWN_OP] = "own_op",	 [COLL_T3_PARTS] = "parts",
	[COLL_T3_UNASKED] = "unasked",	 [COLL_T3_COMMUNICATOR] = "communicator",
	[COLL_T3_PLAN] = "plan",	 [COLL_T3_EARLY] = "early",
	[COLL_T3_FUNCTION] = "function",
};

static int stream = -1;

void coll_t3_open_messages(void)
{
	stream = opal_output_open(NULL);
}

void coll_t3_close_messages(void)
{
	if (stream >= 0)
		opal_output_close(stream);
	stream = -1;
}

static void write_out(int to, const char *format, va_list values)
{
	char text[512];

	vsnprintf(text, sizeof(text), format, values);
	opal_output(to, "coll:t3: %s", text);
}

const char *coll_t3_name(const struct ompi_communicator_t *comm)
{
	static _Thread_local char text[40];

	if (*comm->c_name)
		return comm->c_name;
	snprintf(text, sizeof(text), "communicator %d (unnamed)", comm->c_f_to_c_index);
	return text;
}

void coll_t3_say(int level, const char *format, ...)
{
	va_list values;

	if (stream < 0 || coll_t3_params.verbose < level)
		return;
	va_start(values, format);
	write_out(stream, format, values);
	va_end(values);
}

void coll_t3_complain(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	write_out(0, format, values);
	va_end(values);
}

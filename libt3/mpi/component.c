// SPDX-License-Identifier: MIT
/* What Open MPI loads: the component's parameters, its counters, and the check of versions. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "coll_t3.h"

#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/util/output.h"

const char *const coll_t3_names[COLL_T3_CALLS] = {
	[COLL_T3_ALLREDUCE] = "allreduce",
	[COLL_T3_REDUCE] = "reduce",
	[COLL_T3_REDUCE_SCATTER] = "reduce_scatter",
	[COLL_T3_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
	[COLL_T3_ALLGATHER] = "allgather",
	[COLL_T3_ALLTOALL] = "alltoall",
	[COLL_T3_BCAST] = "bcast",
	[COLL_T3_IALLREDUCE] = "iallreduce",
	[COLL_T3_IREDUCE] = "ireduce",
	[COLL_T3_IREDUCE_SCATTER] = "ireduce_scatter",
	[COLL_T3_IREDUCE_SCATTER_BLOCK] = "ireduce_scatter_block",
};

struct coll_t3_params coll_t3_params = {
	.priority = 60,
	.device = "auto",
	.algorithm = "auto",
	.min_bytes = {
		[COLL_T3_ALLREDUCE] = 16384,
		[COLL_T3_REDUCE] = 16384,
		[COLL_T3_REDUCE_SCATTER] = 16384,
		[COLL_T3_REDUCE_SCATTER_BLOCK] = 16384,
		[COLL_T3_ALLGATHER] = 16384,
		[COLL_T3_ALLTOALL] = 16384,
		[COLL_T3_BCAST] = 16384,
	},
	.piece = 1048576,
	.plans = 6,
	.tile = 0,
	.setup_seconds = 60,
	.seconds = 0,
	.memory_min = 65536,
	.memory_max = 0,
	.device_min = 524288,
};

struct coll_t3_counts coll_t3_counts;

static int stream = -1;

void coll_t3_count_bytes(unsigned long long *counter, unsigned long long bytes)
{
	__atomic_add_fetch(counter, bytes, __ATOMIC_RELAXED);
}

void coll_t3_count(unsigned long long *counter)
{
	coll_t3_count_bytes(counter, 1);
}

/* ---------------------------------------------------------------------- messages */

static void write_out(int to, const char *format, va_list values)
{
	char text[512];

	vsnprintf(text, sizeof(text), format, values);
	opal_output(to, "coll:t3: %s", text);
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

/* ---------------------------------------------------------------------- parameters */

/* Open MPI looks it up by this name. */
T3_API extern mca_coll_base_component_t mca_coll_t3_component;

static int add(const char *name, const char *help, mca_base_var_type_t type, bool settable,
	       void *storage)
{
	return mca_base_component_var_register(
		&mca_coll_t3_component.collm_version, name, help, type, NULL, 0,
		settable ? MCA_BASE_VAR_FLAG_SETTABLE : 0, OPAL_INFO_LVL_6,
		settable ? MCA_BASE_VAR_SCOPE_ALL : MCA_BASE_VAR_SCOPE_READONLY, storage);
}

static int parameter(const char *name, const char *help, mca_base_var_type_t type, void *storage)
{
	return add(name, help, type, false, storage);
}

static void register_thresholds(void)
{
	char name[64], help[200];
	uint32_t i;

	for (i = 0; i < COLL_T3_BLOCKING; i++) {
		snprintf(name, sizeof(name), "%s_min", coll_t3_names[i]);
		snprintf(help, sizeof(help),
			 "Smallest message of MPI_%c%s in bytes that T3 carries. A message counts "
			 "as a whole, as all ranks' parts together",
			 coll_t3_names[i][0] - 'a' + 'A', coll_t3_names[i] + 1);
		parameter(name, help, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG,
			  &coll_t3_params.min_bytes[i]);
	}
}

static void add_counter(const char *name, const char *help, int class, unsigned long long *value)
{
	mca_base_component_pvar_register(
		&mca_coll_t3_component.collm_version, name, help, OPAL_INFO_LVL_4, class,
		MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MPI_T_BIND_NO_OBJECT,
		MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, NULL, NULL, NULL,
		value);
}

static void register_counter(const char *name, const char *what, unsigned long long *value)
{
	char full[64], help[120];

	snprintf(full, sizeof(full), "%s_%s", what, name);
	snprintf(help, sizeof(help), "Calls of MPI's %s that were %s", name,
		 *what == 't' ? "done by T3" : "passed on to the next component");
	add_counter(full, help, MCA_BASE_PVAR_CLASS_COUNTER, value);
}

static void register_counters(void)
{
	int i;

	for (i = 0; i < COLL_T3_CALLS; i++) {
		register_counter(coll_t3_names[i], "t3", &coll_t3_counts.by_t3[i]);
		register_counter(coll_t3_names[i], "next", &coll_t3_counts.passed_on[i]);
	}
	add_counter("device_input",
		    "Bytes of input that the device read in the memory of MPI_Alloc_mem itself",
		    MCA_BASE_PVAR_CLASS_COUNTER, &coll_t3_counts.device_input);
	add_counter("device_result",
		    "Bytes of results that the device copied to the memory of MPI_Alloc_mem",
		    MCA_BASE_PVAR_CLASS_COUNTER, &coll_t3_counts.device_result);
	add_counter("device_memory", "Bytes of MPI_Alloc_mem that are device memory now",
		    MCA_BASE_PVAR_CLASS_LEVEL, &coll_t3_counts.memory);
}

static void register_memory(void)
{
	struct coll_t3_params *p = &coll_t3_params;

	parameter("memory_min",
		  "Smallest request of MPI_Alloc_mem in bytes that gets device memory",
		  MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, &p->memory_min);
	parameter(
		"memory_max",
		"Bytes of device memory that MPI_Alloc_mem gives at most; what is more is ordinary "
		"memory. Plans need device memory, too. 0: half of the device's memory",
		MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, &p->memory_max);
	parameter(
		"device_min",
		"Smallest piece in bytes that the device reads in memory of MPI_Alloc_mem itself, "
		"or copies to it. A shorter one is copied by the processor, in less time than "
		"the system calls take",
		MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, &p->device_min);
}

static int coll_t3_register(void)
{
	struct coll_t3_params *p = &coll_t3_params;

	add("priority",
	    "Priority of the component, 0 to 100. It must be above those of the components that it "
	    "replaces. A negative one turns it off. A program can set it by MPI_T, at all ranks, "
	    "for "
	    "the communicators that it makes then",
	    MCA_BASE_VAR_TYPE_INT, true, &p->priority);
	parameter(
		"verbose",
		"1: say for each communicator whether T3 carries its messages, and why not; at the "
		"end say how many calls T3 did. 10: the same for each call",
		MCA_BASE_VAR_TYPE_INT, &p->verbose);
	parameter(
		"device",
		"The device of a rank: auto is the one whose index in `t3 list` is the rank's "
		"number on its node. A list of indexes such as 3,2,1,0 gives one to each of these "
		"numbers. none: no device, so nothing is T3's",
		MCA_BASE_VAR_TYPE_STRING, &p->device);
	parameter(
		"algorithm",
		"auto, ring, direct or hierarchical, as of t3_plan_create(3). auto chooses by the "
		"links of the fabric and the nodes. All sums have the same bits in each run but "
		"those of direct",
		MCA_BASE_VAR_TYPE_STRING, &p->algorithm);
	register_thresholds();
	parameter("piece",
		  "Bytes that are carried at once, 4096 or more. A longer message goes piece by "
		  "piece, "
		  "so that its plan fits into device memory",
		  MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, &p->piece);
	parameter("plans",
		  "Plans that a communicator keeps, 1 to 16. A message of another length or type "
		  "needs another plan. Each takes device memory",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &p->plans);
	parameter("tile", "Bytes of a tile, the unit of a transfer; 0 is libt3's default",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &p->tile);
	parameter("setup_timeout",
		  "Seconds in which ranks that are in the same call must meet, 1 or more",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &p->setup_seconds);
	parameter("timeout",
		  "Seconds after which a collective fails whose other ranks do not come. 0: it "
		  "waits, "
		  "as MPI does. A rank that has ended is found out at once",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &p->seconds);
	register_memory();
	register_counters();
	return OMPI_SUCCESS;
}

/* ---------------------------------------------------------------------- versions */

#define TEXT(x)	 TEXT_(x)
#define TEXT_(x) #x
/* Of the headers that this was built with. Searchable in the file, as a test changes it. */
static const volatile char built_for[] =
	"coll_t3 for Open MPI v" TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) ".";

/*
 * The layout of a module is another one in another version of Open MPI. Open MPI compares the version
 * of the interface, which does not change each time.
 */
static bool same_version(void)
{
	char running[MPI_MAX_LIBRARY_VERSION_STRING] = "another version", wanted[sizeof(built_for)];
	const char *version;
	int length;
	size_t i;

	for (i = 0; i < sizeof(wanted); i++)
		wanted[i] = built_for[i];
	version = strstr(wanted, "Open MPI v");
	if (version && !PMPI_Get_library_version(running, &length) &&
	    !strncmp(running, version, strlen(version)))
		return true;
	running[strcspn(running, ",")] = '\0';
	coll_t3_complain("built for %.*s, but this is %s. It is not used: build it again",
			 version ? (int)strlen(version) - 1 : 0, version ? version : "", running);
	return false;
}

/* ---------------------------------------------------------------------- open, close */

static bool usable_params(void)
{
	struct coll_t3_params *p = &coll_t3_params;
	const char *wrong = NULL;

	if (p->piece < 4096)
		wrong = "coll_t3_piece is below 4096";
	if (!p->plans || p->plans > COLL_T3_PLANS_MAX)
		wrong = "coll_t3_plans is not 1 to 16";
	if (!p->setup_seconds)
		wrong = "coll_t3_setup_timeout is not 1 or more";
	if (strcmp(p->algorithm, "auto") && strcmp(p->algorithm, "ring") &&
	    strcmp(p->algorithm, "direct") && strcmp(p->algorithm, "hierarchical"))
		wrong = "coll_t3_algorithm is not auto, ring, direct or hierarchical";
	if (wrong)
		coll_t3_complain("%s. The component is not used", wrong);
	return !wrong;
}

static int coll_t3_open(void)
{
	if (!same_version() || !usable_params())
		return OPAL_ERR_NOT_AVAILABLE;
	stream = opal_output_open(NULL);
	coll_t3_open_pool();
	return OMPI_SUCCESS;
}

static void say_sums(void)
{
	unsigned long long by_t3 = 0, passed_on = 0;
	char list[256] = "";
	size_t used = 0;
	int i;

	for (i = 0; i < COLL_T3_CALLS; i++) {
		by_t3 += coll_t3_counts.by_t3[i];
		passed_on += coll_t3_counts.passed_on[i];
		if (coll_t3_counts.by_t3[i] && used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s %llu",
						 used ? ", " : " (", coll_t3_names[i],
						 coll_t3_counts.by_t3[i]);
	}
	coll_t3_say(1, "%llu calls by T3%s%s, %llu passed on", by_t3, list, used ? ")" : "",
		    passed_on);
}

static int coll_t3_close(void)
{
	if (stream >= 0) {
		say_sums();
		opal_output_close(stream);
		stream = -1;
	}
	coll_t3_close_later();
	coll_t3_close_pool();
	coll_t3_close_queue();
	coll_t3_close_device();
	return OMPI_SUCCESS;
}

static int coll_t3_init_query(bool progress_threads, bool threads)
{
	(void)progress_threads;
	(void)threads;
	return OMPI_SUCCESS;
}

/* Open MPI 5's, with the same beginning. */
#ifdef MCA_COLL_BASE_VERSION_2_4_0
#define INTERFACE MCA_COLL_BASE_VERSION_2_4_0
#else
#define INTERFACE MCA_COLL_BASE_VERSION_2_0_0
#endif

mca_coll_base_component_t mca_coll_t3_component = {
	.collm_version = {
		INTERFACE,
		.mca_component_name = "t3",
		MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
				      OMPI_RELEASE_VERSION),
		.mca_open_component = coll_t3_open,
		.mca_close_component = coll_t3_close,
		.mca_register_component_params = coll_t3_register,
	},
	.collm_data = { MCA_BASE_METADATA_PARAM_NONE },
	.collm_init_query = coll_t3_init_query,
	.collm_comm_query = coll_t3_comm_query,
};

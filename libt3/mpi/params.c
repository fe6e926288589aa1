// SPDX-License-Identifier: MIT
/* The component's parameters: their defaults, their registration at Open MPI, and the check. */
#include <stdio.h>
#include <string.h>

#include "coll_t3.h"

#include "opal/mca/base/mca_base_var.h"

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
		[COLL_T3_ALLGATHERV] = 16384,
		[COLL_T3_GATHER] = 16384,
		[COLL_T3_GATHERV] = 16384,
		[COLL_T3_SCATTER] = 16384,
		[COLL_T3_SCATTERV] = 16384,
		[COLL_T3_ALLTOALLV] = 16384,
	},
	.piece = 8388608,
	.plans = 6,
	.tile = 0,
	.setup_seconds = 60,
	.seconds = 0,
	.memory_min = 65536,
	.memory_max = 0,
	.device_min = 524288,
};

/* The component that the parameters belong to. */
static const mca_base_component_t *version;

static int add(const char *name, const char *help, mca_base_var_type_t type, bool settable,
	       void *storage)
{
	return mca_base_component_var_register(
		version, name, help, type, NULL, 0, settable ? MCA_BASE_VAR_FLAG_SETTABLE : 0,
		OPAL_INFO_LVL_6, settable ? MCA_BASE_VAR_SCOPE_ALL : MCA_BASE_VAR_SCOPE_READONLY,
		storage);
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

static void register_plans(void)
{
	struct coll_t3_params *p = &coll_t3_params;

	parameter("piece",
		  "Bytes that are carried at once, 4096 or more. A longer message goes piece by "
		  "piece, so that its plan fits into device memory. Where it does not fit, the "
		  "communicator's pieces are halved, down to 1 MiB",
		  MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, &p->piece);
	parameter("plans",
		  "Plans that a communicator keeps, 1 to 16. A message of another length or type "
		  "needs another plan. Each takes device memory, so those kept are for 32 MiB of "
		  "pieces at most, or for two pieces",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &p->plans);
	parameter("tile", "Bytes of a tile, the unit of a transfer; 0 is libt3's default",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &p->tile);
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

void coll_t3_register_params(const mca_base_component_t *component)
{
	struct coll_t3_params *p = &coll_t3_params;

	version = component;
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
		"auto, ring, direct, hierarchical or switch, as of t3_plan_create(3). auto chooses "
		"by the links of the fabric, its switch and the nodes. All sums have the same bits "
		"in each run but those of direct and switch",
		MCA_BASE_VAR_TYPE_STRING, &p->algorithm);
	parameter("deterministic",
		  "Sums and products of floats that T3 carries are those in the order of the "
		  "ranks, "
		  "with the same bits for every length, algorithm and number of nodes. Then "
		  "the thresholds of reductions count as 0, and hierarchical as auto",
		  MCA_BASE_VAR_TYPE_BOOL, &p->deterministic);
	parameter(
		"barrier",
		"MPI_Barrier is an all-reduce of one word by T3. It is slower than Open MPI's own "
		"barrier in a node",
		MCA_BASE_VAR_TYPE_BOOL, &p->barrier);
	register_thresholds();
	register_plans();
	parameter("setup_timeout",
		  "Seconds in which ranks that are in the same call must meet, 1 or more",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &p->setup_seconds);
	parameter("timeout",
		  "Seconds after which a collective fails whose other ranks do not come. 0: it "
		  "waits, "
		  "as MPI does. A rank that has ended is found out at once",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &p->seconds);
	register_memory();
}

bool coll_t3_check_params(void)
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
	    strcmp(p->algorithm, "direct") && strcmp(p->algorithm, "hierarchical") &&
	    strcmp(p->algorithm, "switch"))
		wrong = "coll_t3_algorithm is not auto, ring, direct, hierarchical or switch";
	if (wrong)
		coll_t3_complain("%s. The component is not used", wrong);
	return !wrong;
}

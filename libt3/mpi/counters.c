// SPDX-License-Identifier: MIT
/* The counters of calls and bytes, as variables of MPI_T and in a message at the end. */
#include <stdio.h>

#include "coll_t3.h"

#include "opal/mca/base/mca_base_pvar.h"

struct coll_t3_counts coll_t3_counts;

void coll_t3_count_bytes(unsigned long long *counter, unsigned long long bytes)
{
	__atomic_add_fetch(counter, bytes, __ATOMIC_RELAXED);
}

void coll_t3_count_by_t3(enum coll_t3_call call, unsigned long long bytes)
{
	coll_t3_count_bytes(&coll_t3_counts.by_t3[call], 1);
	coll_t3_count_bytes(&coll_t3_counts.t3_bytes, bytes);
}

void coll_t3_count_passed(enum coll_t3_call call, enum coll_t3_reason why, unsigned long long bytes)
{
	coll_t3_count_bytes(&coll_t3_counts.passed_on[call], 1);
	coll_t3_count_bytes(&coll_t3_counts.passed_why[call][why], 1);
	coll_t3_count_bytes(&coll_t3_counts.passed_why_bytes[call][why], bytes);
	coll_t3_count_bytes(&coll_t3_counts.reasons[why], 1);
	coll_t3_count_bytes(&coll_t3_counts.reason_bytes[why], bytes);
}

static void add_counter(const mca_base_component_t *version, const char *name, const char *help,
			int class, unsigned long long *value)
{
	mca_base_component_pvar_register(
		version, name, help, OPAL_INFO_LVL_4, class, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG,
		NULL, MPI_T_BIND_NO_OBJECT,
		MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, NULL, NULL, NULL,
		value);
}

static void register_counter(const mca_base_component_t *version, const char *name,
			     const char *what, unsigned long long *value)
{
	char full[64], help[120];

	snprintf(full, sizeof(full), "%s_%s", what, name);
	snprintf(help, sizeof(help), "Calls of MPI's %s that were %s", name,
		 *what == 't' ? "done by T3" : "passed on to the next component");
	add_counter(version, full, help, MCA_BASE_PVAR_CLASS_COUNTER, value);
}

static void register_reason(const mca_base_component_t *version, int why)
{
	char name[64], help[160];

	snprintf(name, sizeof(name), "why_%s", coll_t3_reason_names[why]);
	snprintf(help, sizeof(help), "Calls that were passed on because %s", coll_t3_reasons[why]);
	add_counter(version, name, help, MCA_BASE_PVAR_CLASS_COUNTER, &coll_t3_counts.reasons[why]);
	snprintf(name, sizeof(name), "why_%s_bytes", coll_t3_reason_names[why]);
	snprintf(help, sizeof(help), "Bytes of the calls that were passed on because %s",
		 coll_t3_reasons[why]);
	add_counter(version, name, help, MCA_BASE_PVAR_CLASS_COUNTER,
		    &coll_t3_counts.reason_bytes[why]);
}

void coll_t3_register_counters(const mca_base_component_t *version)
{
	int i;

	for (i = 0; i < COLL_T3_CALLS; i++) {
		register_counter(version, coll_t3_names[i], "t3", &coll_t3_counts.by_t3[i]);
		register_counter(version, coll_t3_names[i], "next", &coll_t3_counts.passed_on[i]);
	}
	for (i = 0; i < COLL_T3_REASONS; i++)
		register_reason(version, i);
	add_counter(version, "t3_bytes", "Bytes of the calls that were done by T3",
		    MCA_BASE_PVAR_CLASS_COUNTER, &coll_t3_counts.t3_bytes);
	add_counter(version, "starts", "Starts of persistent collectives that T3 has done",
		    MCA_BASE_PVAR_CLASS_COUNTER, &coll_t3_counts.starts);
	add_counter(version, "start_bytes",
		    "Bytes of the starts of persistent collectives that T3 has done",
		    MCA_BASE_PVAR_CLASS_COUNTER, &coll_t3_counts.start_bytes);
	add_counter(version, "device_input",
		    "Bytes of input that the device read in the memory of MPI_Alloc_mem itself",
		    MCA_BASE_PVAR_CLASS_COUNTER, &coll_t3_counts.device_input);
	add_counter(version, "device_result",
		    "Bytes of results that the device copied to the memory of MPI_Alloc_mem",
		    MCA_BASE_PVAR_CLASS_COUNTER, &coll_t3_counts.device_result);
	add_counter(version, "device_memory", "Bytes of MPI_Alloc_mem that are device memory now",
		    MCA_BASE_PVAR_CLASS_LEVEL, &coll_t3_counts.memory);
}

static void say_reasons(int call)
{
	int why;

	for (why = 0; why < COLL_T3_REASONS; why++)
		if (coll_t3_counts.passed_why[call][why])
			coll_t3_say(1, "%s passed on: %llu calls of %llu bytes: %s",
				    coll_t3_names[call], coll_t3_counts.passed_why[call][why],
				    coll_t3_counts.passed_why_bytes[call][why],
				    coll_t3_reasons[why]);
}

void coll_t3_say_counts(void)
{
	unsigned long long by_t3 = 0, passed_on = 0, bytes = 0;
	char list[400] = "";
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
	for (i = 0; i < COLL_T3_REASONS; i++)
		bytes += coll_t3_counts.reason_bytes[i];
	coll_t3_say(1, "%llu calls by T3%s%s, %llu passed on", by_t3, list, used ? ")" : "",
		    passed_on);
	coll_t3_say(1, "bytes of calls: %llu by T3, %llu passed on", coll_t3_counts.t3_bytes,
		    bytes);
	if (coll_t3_counts.starts)
		coll_t3_say(1, "persistent collectives by T3: %llu starts of %llu bytes",
			    coll_t3_counts.starts, coll_t3_counts.start_bytes);
	for (i = 0; i < COLL_T3_CALLS; i++)
		say_reasons(i);
}

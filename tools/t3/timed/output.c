// SPDX-License-Identifier: MIT
/* The timed model's figures, as a table and as JSON. All times are virtual. */
#include <inttypes.h>

#include "timed/output.h"

#define PS_PER_US 1e6
#define MB	  1e6

/* --------------------------------------------------------------------- table */

static bool all_to_all(const struct timed_job *job)
{
	return job->setup.workload.collective == T3_TIMED_COLLECTIVE_ALL_TO_ALL;
}

static void print_ranks(const struct t3_timed_workload *w)
{
	printf("%" PRIu64 " ranks", w->ranks);
	if (w->nodes > 1)
		printf(" in %" PRIu64 " nodes", w->nodes);
}

static void print_workload(const struct timed_job *job)
{
	const struct t3_timed_workload *w = &job->setup.workload;
	uint64_t rows, columns;

	t3_timed_chunk(&job->setup, &rows, &columns);
	printf("%s %s: %" PRIu64 " x %" PRIu64 " x %" PRIu64 " on each of ", job->workload.model,
	       sim_workload_part(&job->workload), w->rows, w->columns, w->depth);
	print_ranks(w);
	printf(", in chunks of %" PRIu64 " x %" PRIu64 ", %" PRIu64 " bytes an element", rows,
	       columns, w->element_bytes);
	if (w->collective != T3_TIMED_COLLECTIVE_ALL_REDUCE)
		printf(", %s", t3_timed_collective_name(w->collective));
	if (w->collective == T3_TIMED_COLLECTIVE_ALL_GATHER)
		printf(" of a chunk that each computes");
}

static void print_message(const struct timed_job *job)
{
	const struct t3_timed_workload *w = &job->setup.workload;
	uint64_t bytes = sim_buffer_bytes(&job->setup);

	printf("%s of %" PRIu64 " bytes", t3_timed_collective_name(w->collective), bytes);
	if (bytes != job->workload.message)
		printf(" (rounded up from %" PRIu64 ")", job->workload.message);
	printf(" on each of ");
	print_ranks(w);
	printf(": %" PRIu64 " x %" PRIu64 ", %" PRIu64 " bytes an element", w->rows, w->columns,
	       w->element_bytes);
}

static void print_heading(const struct timed_job *job)
{
	bool all = all_to_all(job);

	if (job->workload.message)
		print_message(job);
	else
		print_workload(job);
	printf("%s\n\n", job->setup.mirrored ? "" : ", all devices simulated");
	printf("  %-11s %10s %8s %9s %9s %9s %9s %9s %9s %9s", "", "virtual us", "speed-up",
	       "GEMM rd", "GEMM wr", "RS rd", "RS wr", all ? "A2A rd" : "AG rd",
	       all ? "A2A wr" : "AG wr", "link");
	printf("%s %8s\n", job->setup.workload.nodes > 1 ? " node link" : "", "compute");
}

static void print_parts(const struct t3_timed_workload *w)
{
	if (w->collective == T3_TIMED_COLLECTIVE_ALL_REDUCE)
		printf("  made of the GEMM, reduce-scatter and all-gather\n");
	else
		printf("  made of the GEMM and the %s\n", t3_timed_collective_name(w->collective));
}

/* The collective alone has no GEMM to be compared with. */
static void print_speedup(const struct sim_figures *f, enum sim_config config)
{
	if (config == SIM_ALONE)
		printf(" %8s", "");
	else
		printf(" %8.3f", sim_figures_speedup(f, config));
}

static void print_config(const struct timed_job *job, enum sim_config config)
{
	enum t3_timed_program program = sim_config_program(config);
	const struct sim_figures *f = &job->figures;
	const struct t3_timed_counters *c;
	double time = (double)sim_figures_time(f, config);
	int kind;

	printf("  %-11s %10.1f", sim_config_name(config), time / PS_PER_US);
	print_speedup(f, config);
	if (program == T3_TIMED_NATIVE_PROGRAMS) {
		print_parts(&job->setup.workload);
		return;
	}
	c = &f->counters[program];
	for (kind = 0; kind < T3_TIMED_TRACKER_READ; kind++)
		printf(" %6.1f MB", (double)c->memory_bytes[kind] / MB);
	printf(" %6.1f MB", (double)c->link_bytes / MB);
	if (job->setup.workload.nodes > 1)
		printf(" %6.1f MB", (double)c->node_link_bytes / MB);
	printf(" %6.1f %%\n",
	       100 * (double)c->compute_busy / time / (double)job->setup.params.compute_units);
}

static struct timed_device_run device_sum(const struct timed_job *job, uint32_t *runs)
{
	struct timed_device_run sum = { .start = UINT64_MAX };
	int program;

	*runs = 0;
	for (program = 0; program < T3_TIMED_NATIVE_PROGRAMS; program++) {
		const struct timed_device_run *run = &job->device[program];

		if (!run->ran)
			continue;
		++*runs;
		sum.host_paced |= run->host_paced;
		sum.seconds += run->seconds;
		if (run->start < sum.start)
			sum.start = run->start;
	}
	return sum;
}

static void print_device(const struct timed_job *job)
{
	struct timed_device_run sum;
	uint32_t runs;

	if (!job->devices)
		return;
	sum = device_sum(job, &runs);
	printf("  on %u device%s: %u runs from %" PRIu64
	       " virtual ns on, %sHOST_PACED, %.2f s; all counters are those above\n\n",
	       job->devices, job->devices > 1 ? "s" : "", runs, sum.start,
	       sum.host_paced ? "" : "not ", sum.seconds);
}

static const char *phase_name(const struct timed_job *job, enum t3_timed_program program,
			      enum t3_timed_phase phase)
{
	static const char *const names[T3_TIMED_PHASES] = { "GEMM", "reduce-scatter",
							    "node reduce-scatter",
							    "node all-gather", "all-gather" };

	if (phase == T3_TIMED_ALL_GATHER && all_to_all(job))
		return "all-to-all";
	if (phase == T3_TIMED_GEMM && t3_timed_fused(program) &&
	    t3_timed_reduces(job->setup.workload.collective))
		return "GEMM with reduce-scatter";
	return names[phase];
}

/* Each phase, its time, and what bounds it. */
static void print_phases(const struct timed_job *job, enum t3_timed_program program)
{
	const struct t3_timed_counters *c = &job->figures.counters[program];
	const char *before = ":";
	struct sim_bound bound;
	uint64_t took;
	int phase;

	printf("  %s", t3_timed_program_name(program));
	for (phase = 0; phase < T3_TIMED_PHASES; phase++) {
		if (!c->phase_end[phase])
			continue;
		took = c->phase_end[phase] -
		       sim_phase_start(program, c, (enum t3_timed_phase)phase);
		bound = sim_figures_bound(&job->figures, &job->setup.params, program,
					  (enum t3_timed_phase)phase);
		printf("%s %s %.1f us (%s", before,
		       phase_name(job, program, (enum t3_timed_phase)phase),
		       (double)took / PS_PER_US, sim_part_name(bound.part));
		if (bound.part != SIM_LATENCY)
			printf(" %.0f %%", 100 * bound.busy[bound.part]);
		printf(")");
		before = ",";
	}
	printf("\n");
}

/* Prints how few entries the switch held for each device, and how many updates found none. */
static void print_switch(const struct timed_job *job, enum t3_timed_program program)
{
	const struct t3_timed_switch_counters *c = &job->figures.switched[program];

	printf("  %s: a port's %" PRIu64 " updates left as %" PRIu64 " sums, in at most %" PRIu64
	       " of %" PRIu64 " entries; %" PRIu64 " passed on unreduced\n",
	       t3_timed_program_name(program), c->updates, c->sums, c->entries_peak,
	       job->setup.params.switch_entries, c->unreduced);
}

static void print_bandwidth(const struct timed_job *job)
{
	struct sim_bandwidth b = sim_figures_bandwidth(&job->figures, &job->setup);

	printf("\n  alone: %" PRIu64 " bytes, algorithm bandwidth %.1f GB/s, bus bandwidth %.1f "
	       "GB/s\n",
	       b.bytes, b.algorithm, b.bus);
}

void timed_print(const struct timed_job *job)
{
	int config, program;

	print_heading(job);
	for (config = 0; config < SIM_CONFIGS; config++)
		if (job->configs & 1u << config)
			print_config(job, (enum sim_config)config);
	printf("\n");
	for (program = 0; program < T3_TIMED_NATIVE_PROGRAMS; program++)
		if (job->figures.ran[program])
			print_phases(job, (enum t3_timed_program)program);
	for (program = T3_TIMED_SWITCH; program <= T3_TIMED_T3_SWITCH; program++)
		if (job->figures.ran[program])
			print_switch(job, (enum t3_timed_program)program);
	if (job->figures.ran[T3_TIMED_ALONE])
		print_bandwidth(job);
	printf("\n");
	print_device(job);
}

/* ----------------------------------------------------------------- semantics */

static const char *const semantics_keys[] = { "exact", "approximated", "left_out" };

static void add_sentence(json_t *all, int key, const char *text)
{
	json_array_append_new(json_object_get(all, semantics_keys[key]), json_string(text));
}

static void add_switch(json_t *all)
{
	add_sentence(all, 0, "bytes of each port of a switch, sums, and updates that passed on");
	add_sentence(all, 1,
		     "a switch adds the updates for a device at that device's port, with entries "
		     "and an adder of its own");
	add_sentence(all, 2,
		     "of a switch: bounds of its queues, credits, replay, headers, and what it "
		     "does beside this collective");
}

json_t *timed_semantics(bool mirrored, bool switched, const json_t *more, json_t *derived)
{
	json_t *all = json_pack(
		"{s:[s], s:[s, s, s], s:[s]}", semantics_keys[0],
		"bytes of memory and links by kind, tiles, updates and triggers in their order",
		semantics_keys[1],
		"memory channels are one server, the cache is one data path, and ragged tiles take "
		"as long as full ones",
		"row_conflict_ns is fitted to one published figure of the paper's machine",
		"ranks start together and are alike", semantics_keys[2],
		"refresh, changing clocks, launches of kernels, other work of the device");
	size_t i;

	if (mirrored)
		add_sentence(all, 0, "one device stands for all ranks, to the picosecond");
	if (switched)
		add_switch(all);
	if (switched && more)
		add_sentence(all, 1,
			     "an all-to-all takes as long by a switch as by links: in switch as in "
			     "sequential, in t3-switch as in t3-mca");
	json_array_extend(json_object_get(all, semantics_keys[1]), derived);
	for (i = 0; i < 3; i++)
		json_array_extend(json_object_get(all, semantics_keys[i]),
				  json_object_get(more, semantics_keys[i]));
	return all;
}

void timed_print_semantics(const json_t *semantics)
{
	static const char *const names[] = { "exact", "approximated", "left out" };
	const json_t *note;
	size_t i, k;

	for (i = 0; i < 3; i++)
		json_array_foreach(json_object_get(semantics, semantics_keys[i]), k, note)
			printf("  %-12s  %s\n", k ? "" : names[i], json_string_value(note));
	printf("\n");
}

/* ------------------------------------------------------------------ warnings */

/* Writes the parameters of a part that were not given, with their values. */
static bool list_defaults(enum sim_part part, bool switched, const struct sim_machine *machine,
			  char *text, size_t size)
{
	const char *const *name = sim_part_params(part, switched);
	size_t used = 0;

	for (; *name; name++) {
		const struct t3_timed_param *param = t3_timed_param_find(*name);

		if (t3_timed_param_get(&machine->given, param))
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s = %" PRIu64,
					 used ? ", " : "", *name,
					 t3_timed_param_get(&machine->params, param));
	}
	return used;
}

static bool any_given(const struct sim_machine *machine)
{
	size_t i;

	for (i = 0; i < t3_timed_param_count; i++)
		if (t3_timed_param_get(&machine->given, &t3_timed_params[i]))
			return true;
	return false;
}

void timed_warn(const struct timed_job *job, const struct sim_machine *machine, uint32_t *warned,
		json_t *warnings)
{
	char defaults[128];
	struct sim_bound bound;
	int program, phase;

	if (!any_given(machine))
		return;
	for (program = 0; program < T3_TIMED_NATIVE_PROGRAMS; program++) {
		for (phase = 0; phase < T3_TIMED_PHASES; phase++) {
			if (!job->figures.ran[program] ||
			    !job->figures.counters[program].phase_end[phase])
				continue;
			bound = sim_figures_bound(&job->figures, &job->setup.params,
						  (enum t3_timed_program)program,
						  (enum t3_timed_phase)phase);
			if (*warned & 1u << bound.part ||
			    !list_defaults(bound.part,
					   t3_timed_switched((enum t3_timed_program)program),
					   machine, defaults, sizeof(defaults)))
				continue;
			*warned |= 1u << bound.part;
			json_array_append_new(
				warnings,
				json_sprintf("%s, %s of %s: the %s bounds it, busy for %.0f %% of "
					     "the time, by what was not given: %s",
					     sim_workload_part(&job->workload),
					     phase_name(job, (enum t3_timed_program)program,
							(enum t3_timed_phase)phase),
					     t3_timed_program_name((enum t3_timed_program)program),
					     sim_part_name(bound.part),
					     100 * bound.busy[bound.part], defaults));
		}
	}
}

/* ---------------------------------------------------------------------- JSON */

static const char *const phase_keys[T3_TIMED_PHASES] = {
	"gemm", "reduce_scatter", "node_reduce_scatter", "node_all_gather", "all_gather",
};

static void put(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *counters_to_json(const struct t3_timed_counters *c)
{
	json_t *object = json_object(), *memory = json_object();
	int kind;

	for (kind = 0; kind < T3_TIMED_BYTES; kind++)
		put(memory, t3_timed_bytes_name((enum t3_timed_bytes)kind), c->memory_bytes[kind]);
	json_object_set_new(object, "memory_bytes", memory);
	put(object, "memory_total_bytes", sim_memory_bytes(c));
	put(object, "memory_busy_ps", c->memory_busy);
	put(object, "memory_turns", c->memory_turns);
	put(object, "queue_peak_entries", c->queue_peak);
	put(object, "queue_entry_ps", c->queue_entry_ps);
	put(object, "starved_requests", c->starved);
	put(object, "threshold_entries", c->threshold);
	put(object, "intensity_permille", c->intensity);
	put(object, "compute_busy_ps", c->compute_busy);
	put(object, "workgroups", c->groups);
	put(object, "cache_hits", c->cache_hits);
	put(object, "cache_misses", c->cache_misses);
	put(object, "link_bytes", c->link_bytes);
	put(object, "link_messages", c->link_messages);
	put(object, "link_busy_ps", c->link_busy);
	put(object, "node_link_bytes", c->node_link_bytes);
	put(object, "node_link_messages", c->node_link_messages);
	put(object, "node_link_busy_ps", c->node_link_busy);
	put(object, "link_stalled_workgroups", c->link_stalls);
	put(object, "received_bytes", c->received_bytes);
	put(object, "triggers", c->triggers);
	put(object, "tracker_updates", c->tracker_updates);
	put(object, "tracker_allocs", c->tracker_allocs);
	put(object, "tracker_spills", c->tracker_spills);
	put(object, "tracker_fills", c->tracker_fills);
	put(object, "tracker_peak", c->tracker_peak);
	return object;
}

/* Of the device's port of a switch: up is what it sends there, down what it gets. */
static json_t *switch_to_json(const struct t3_timed_switch_counters *c)
{
	json_t *object = json_object();

	put(object, "up_update_bytes", c->update_bytes);
	put(object, "up_multicast_bytes", c->multicast_bytes);
	put(object, "down_sum_bytes", c->sum_bytes);
	put(object, "down_unreduced_bytes", c->unreduced_bytes);
	put(object, "down_gathered_bytes", c->gathered_bytes);
	put(object, "updates", c->updates);
	put(object, "sums", c->sums);
	put(object, "unreduced_updates", c->unreduced);
	put(object, "entries_peak", c->entries_peak);
	put(object, "adder_busy_ps", c->adder_busy);
	put(object, "port_busy_ps", c->port_busy);
	return object;
}

static void bandwidth_to_json(const struct timed_job *job, json_t *object)
{
	struct sim_bandwidth b = sim_figures_bandwidth(&job->figures, &job->setup);

	put(object, "buffer_bytes", b.bytes);
	json_object_set_new(object, "algorithm_gbps", json_real(b.algorithm));
	json_object_set_new(object, "bus_gbps", json_real(b.bus));
}

/* The share of the phase's time in which each part was busy, and the part that bounds it. */
static void bound_to_json(const struct timed_job *job, enum t3_timed_program program,
			  enum t3_timed_phase phase, json_t *span)
{
	struct sim_bound bound =
		sim_figures_bound(&job->figures, &job->setup.params, program, phase);
	json_t *busy = json_object();
	int part;

	for (part = 0; part < SIM_LATENCY; part++)
		json_object_set_new(busy, sim_part_name((enum sim_part)part),
				    json_real(bound.busy[part]));
	json_object_set_new(span, "busy", busy);
	json_object_set_new(span, "bound", json_string(sim_part_name(bound.part)));
}

/* Each phase of the run: its start, its end, and what bounds it. */
static json_t *run_phases_to_json(const struct timed_job *job, enum t3_timed_program program)
{
	const struct t3_timed_counters *c = &job->figures.counters[program];
	json_t *object = json_object();
	const char *key;
	int phase;

	for (phase = 0; phase < T3_TIMED_PHASES; phase++) {
		json_t *span = json_object();

		if (c->phase_end[phase]) {
			put(span, "start_ps",
			    sim_phase_start(program, c, (enum t3_timed_phase)phase));
			put(span, "end_ps", c->phase_end[phase]);
			bound_to_json(job, program, (enum t3_timed_phase)phase, span);
			key = phase_keys[phase];
			if (phase == T3_TIMED_ALL_GATHER && all_to_all(job))
				key = "all_to_all";
			json_object_set(object, key, span);
		}
		json_decref(span);
	}
	return object;
}

static json_t *config_to_json(const struct timed_job *job, enum sim_config config)
{
	enum t3_timed_program program = sim_config_program(config);
	json_t *object = json_object();

	put(object, "virtual_ps", sim_figures_time(&job->figures, config));
	if (config == SIM_ALONE)
		bandwidth_to_json(job, object);
	else
		json_object_set_new(object, "speedup",
				    json_real(sim_figures_speedup(&job->figures, config)));
	if (program == T3_TIMED_NATIVE_PROGRAMS)
		return object;
	json_object_set_new(object, "phases", run_phases_to_json(job, program));
	json_object_set_new(object, "counters", counters_to_json(&job->figures.counters[program]));
	if (t3_timed_switched(program))
		json_object_set_new(object, "switch",
				    switch_to_json(&job->figures.switched[program]));
	return object;
}

static json_t *phases_to_json(const struct timed_job *job)
{
	const struct sim_figures *f = &job->figures;
	bool all = job->setup.workload.collective == T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	json_t *object = json_object();

	put(object, "gemm_ps", sim_figures_phase(f, T3_TIMED_GEMM));
	put(object, "reduce_scatter_ps", sim_figures_phase(f, T3_TIMED_REDUCE_SCATTER));
	put(object, "node_reduce_scatter_ps", sim_figures_phase(f, T3_TIMED_NODE_REDUCE_SCATTER));
	put(object, "node_all_gather_ps", sim_figures_phase(f, T3_TIMED_NODE_ALL_GATHER));
	put(object, all ? "all_to_all_ps" : "all_gather_ps",
	    sim_figures_phase(f, T3_TIMED_ALL_GATHER));
	if (f->ran[T3_TIMED_RS_NMC])
		put(object, "reduce_scatter_nmc_ps", f->counters[T3_TIMED_RS_NMC].end);
	return object;
}

static json_t *device_run_to_json(const struct timed_device_run *run)
{
	json_t *object = json_object();

	put(object, "start_ns", run->start);
	json_object_set_new(object, "host_paced", json_boolean(run->host_paced));
	json_object_set_new(object, "wall_seconds", json_real(run->seconds));
	return object;
}

static json_t *device_to_json(const struct timed_job *job)
{
	json_t *object = json_object(), *programs = json_object();
	struct timed_device_run sum;
	uint32_t runs;
	int program;

	sum = device_sum(job, &runs);
	for (program = 0; program < T3_TIMED_NATIVE_PROGRAMS; program++)
		if (job->device[program].ran)
			json_object_set_new(programs,
					    t3_timed_program_name((enum t3_timed_program)program),
					    device_run_to_json(&job->device[program]));
	put(object, "devices", job->devices);
	put(object, "start_ns", sum.start);
	json_object_set_new(object, "host_paced", json_boolean(sum.host_paced));
	json_object_set_new(object, "wall_seconds", json_real(sum.seconds));
	json_object_set_new(object, "runs", programs);
	return object;
}

static void workload_to_json(const struct sim_workload *w, json_t *object)
{
	json_object_set_new(object, "model", json_string(w->model));
	if (w->message) {
		put(object, "message", w->message);
	} else {
		json_object_set_new(object, "sublayer", json_string(sim_workload_part(w)));
		if (w->depth)
			put(object, "k", w->depth);
		put(object, "hidden", w->hidden);
		put(object, "tokens", w->tokens);
	}
	json_object_set_new(object, "collective",
			    json_string(t3_timed_collective_name(w->collective)));
	put(object, "tp", w->tp);
}

json_t *timed_job_to_json(const struct timed_job *job)
{
	const struct t3_timed_workload *w = &job->setup.workload;
	json_t *configs = json_object(), *object = json_object();
	uint64_t rows, columns;
	int config;

	for (config = 0; config < SIM_CONFIGS; config++)
		if (job->configs & 1u << config)
			json_object_set_new(configs, sim_config_name((enum sim_config)config),
					    config_to_json(job, (enum sim_config)config));
	workload_to_json(&job->workload, object);
	put(object, "nodes", w->nodes > 1 ? w->nodes : 1);
	put(object, "rows", w->rows);
	put(object, "columns", w->columns);
	put(object, "depth", w->depth);
	t3_timed_chunk(&job->setup, &rows, &columns);
	put(object, "chunk_rows", rows);
	put(object, "chunk_columns", columns);
	put(object, "element_bytes", w->element_bytes);
	json_object_set_new(object, "mirrored", json_boolean(job->setup.mirrored));
	put(object, "events", job->figures.events);
	if (job->figures.ran[T3_TIMED_SEQUENTIAL])
		json_object_set_new(object, "phases", phases_to_json(job));
	json_object_set_new(object, "configs", configs);
	if (job->devices)
		json_object_set_new(object, "device", device_to_json(job));
	return object;
}

json_t *timed_params_to_json(const struct t3_timed_params *params, bool switched)
{
	size_t count = switched ? t3_timed_param_count : T3_TIMED_PARAMS, i;
	json_t *array = json_array();

	for (i = 0; i < count; i++) {
		const struct t3_timed_param *p = &t3_timed_params[i];
		json_t *object = json_object();

		json_object_set_new(object, "name", json_string(p->name));
		put(object, "value", t3_timed_param_get(params, p));
		put(object, "default", p->value);
		put(object, "low", p->low);
		put(object, "high", p->high);
		json_object_set_new(object, "unit", json_string(p->unit));
		json_object_set_new(object, "source", json_string(p->source));
		json_array_append_new(array, object);
	}
	return array;
}

void timed_print_params(const struct t3_timed_params *params)
{
	size_t i;

	printf("%-22s %9s %-6s %15s  %s\n", "parameter", "value", "", "varied", "source");
	for (i = 0; i < t3_timed_param_count; i++) {
		const struct t3_timed_param *p = &t3_timed_params[i];
		char range[48] = "";

		if (p->low != p->high)
			snprintf(range, sizeof(range), "%" PRIu64 " to %" PRIu64, p->low, p->high);
		printf("%-22s %9" PRIu64 " %-6s %15s  %s\n", p->name, t3_timed_param_get(params, p),
		       p->unit, range, p->source);
	}
}

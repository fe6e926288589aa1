// SPDX-License-Identifier: MIT
/* t3 gemm-rs --timed: runs the job's shape on the timed model of the devices that computed it. */
#include <stdio.h>
#include <string.h>

#include "gemm/timed.h"
#include "common/message.h"

#define PS_PER_US 1e6

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

/* The model's tiles are those of workgroups, not the tracked tiles of the job. */
static void set_up(const struct gemm_config *cfg, struct t3_timed_setup *setup)
{
	struct t3_timed_params *p = &setup->params;

	t3_timed_params_default(p);
	setup->workload.rows = cfg->m;
	setup->workload.columns = cfg->n;
	setup->workload.depth = cfg->k / cfg->ranks;
	setup->workload.element_bytes = t3_dtype_bytes(cfg->dtype);
	setup->workload.ranks = cfg->ranks;
	setup->workload.chunks = T3_TIMED_CHUNKS_ROWS; /* as the job's */
	p->tile_rows = at_most(p->tile_rows, cfg->m / cfg->ranks);
	p->tile_columns = at_most(p->tile_columns, cfg->n);
	p->k_block = at_most(p->k_block, setup->workload.depth);
}

static bool look(void *opaque, const struct t3_timed_setup *setup, const struct t3_timed *native,
		 char *why)
{
	struct gemm_timed *timed = opaque;

	return timed_devices_run(&timed->devices, setup, native, &timed->run[setup->program], why);
}

/* All devices of the fabric when they are the job's ranks, else one that stands for them. */
static int open_devices(const struct gemm_config *cfg, struct gemm_timed *timed)
{
	int ret = timed_devices_open(&timed->devices, cfg->fabric_id, false);

	if (ret != EXIT_OK || timed->devices.ranks != cfg->ranks)
		return ret;
	timed_devices_close(&timed->devices);
	return timed_devices_open(&timed->devices, cfg->fabric_id, true);
}

static int run(const struct gemm_config *cfg, struct gemm_timed *timed)
{
	static const enum sim_config configs[] = { SIM_SEQUENTIAL, SIM_T3, SIM_T3_MCA };
	struct t3_timed_setup setup = { .mirrored = !timed->devices.every };
	char why[SIM_WHY_SIZE];
	size_t i;

	set_up(cfg, &setup);
	if (!t3_timed_check(&setup, why, sizeof(why)))
		return complain(EXIT_FAIL, "--timed: %s", why);
	timed->figures.witness = (struct sim_witness){ look, timed };
	for (i = 0; i < sizeof(configs) / sizeof(configs[0]); i++)
		if (!sim_figures_run(&timed->figures, configs[i], &setup, why))
			return complain(EXIT_FAIL, "--timed: %s", why);
	return EXIT_OK;
}

int gemm_timed_run(const struct gemm_config *cfg, struct gemm_timed *timed)
{
	int ret;

	*timed = (struct gemm_timed){ 0 };
	ret = open_devices(cfg, timed);
	if (ret == EXIT_OK)
		ret = run(cfg, timed);
	timed->count = timed->devices.every ? timed->devices.ranks : timed->devices.count;
	timed_devices_close(&timed->devices);
	return ret;
}

static double microseconds(const struct gemm_timed *timed, enum sim_config config)
{
	return (double)sim_figures_time(&timed->figures, config) / PS_PER_US;
}

void gemm_timed_print(const struct gemm_timed *timed)
{
	const struct sim_figures *f = &timed->figures;

	printf("virtual time of one iteration on %u %s (timed model): sequential %.2f us, t3 %.2f "
	       "us "
	       "(%.2fx), t3-mca %.2f us (%.2fx)\n",
	       timed->count, timed->count == 1 ? "device for all" : "devices",
	       microseconds(timed, SIM_SEQUENTIAL), microseconds(timed, SIM_T3),
	       sim_figures_speedup(f, SIM_T3), microseconds(timed, SIM_T3_MCA),
	       sim_figures_speedup(f, SIM_T3_MCA));
}

json_t *gemm_timed_to_json(const struct gemm_timed *timed)
{
	const struct sim_figures *f = &timed->figures;

	return json_pack("{s:I, s:I, s:I, s:I, s:b}", "devices", (json_int_t)timed->count,
			 "sequential_ps", (json_int_t)sim_figures_time(f, SIM_SEQUENTIAL), "t3_ps",
			 (json_int_t)sim_figures_time(f, SIM_T3), "t3_mca_ps",
			 (json_int_t)sim_figures_time(f, SIM_T3_MCA), "host_paced",
			 (int)timed->run[T3_TIMED_T3_MCA].host_paced);
}

// SPDX-License-Identifier: MIT
/* t3 gemm-rs --devices: the devices of the ranks, which must be able to send to each other. */
#include "common/devices.h"
#include "gemm/choose.h"

static int ask(uint32_t index, struct drm_t3_device_info *info)
{
	const struct cmd_common common = { .one = true, .device = index };
	struct tool_devices devices;
	int ret = devices_open(&common, &devices);

	if (ret == EXIT_OK)
		*info = devices.list[0].info;
	devices_close(&devices);
	return ret;
}

/* A rank sends to the one before it. */
static bool have_link(const struct drm_t3_device_info *a, const struct drm_t3_device_info *b)
{
	return a->topology != DRM_T3_TOPOLOGY_RING || (a->rank + 1) % a->ranks == b->rank ||
	       (b->rank + 1) % b->ranks == a->rank;
}

int gemm_choose(struct gemm_config *cfg)
{
	const struct device_choice *choice = &cfg->choice;
	struct drm_t3_device_info info[DEVICE_CHOICE_MAX];
	uint32_t i, before;
	int ret;

	for (i = 0; i < choice->count; i++) {
		ret = ask(choice->index[i], &info[i]);
		if (ret != EXIT_OK)
			return ret;
	}
	for (i = 0; i < choice->count; i++) {
		before = (i + choice->count - 1) % choice->count;
		if (info[i].fabric_id != info[before].fabric_id)
			return complain(EXIT_USAGE,
					"--devices: %u is on fabric 0x%llx and %u on 0x%llx: they "
					"must be on one",
					choice->index[before],
					(unsigned long long)info[before].fabric_id,
					choice->index[i], (unsigned long long)info[i].fabric_id);
		if (!have_link(&info[before], &info[i]))
			return complain(
				EXIT_USAGE,
				"--devices: %u (rank %u) and %u (rank %u) have no link: in a "
				"ring, each must be a neighbour of the one before, and the "
				"last of the first",
				choice->index[before], info[before].rank, choice->index[i],
				info[i].rank);
	}
	cfg->fabric_id = info[0].fabric_id;
	return EXIT_OK;
}

/* A device of a rank on this node; one that cannot be opened is told by its rank. */
static bool has_groups(const struct gemm_config *cfg)
{
	struct drm_t3_device_info info = { 0 };
	struct t3_device *dev;
	int ret;

	if (cfg->choice.count)
		ret = t3_device_open_index(cfg->choice.index[0], &dev);
	else
		ret = t3_device_open_rank(cfg->fabric_id, cfg->first, &dev);
	if (ret)
		return false;
	t3_device_info(dev, &info);
	t3_device_close(dev);
	return info.features & DRM_T3_FEATURE_GROUPS;
}

int gemm_choose_algorithm(struct gemm_config *cfg)
{
	bool wanted = cfg->algorithm == GEMM_ALGORITHM_SWITCH;

	cfg->grouped = (wanted || (cfg->algorithm == GEMM_ALGORITHM_AUTO && cfg->ranks > 2)) &&
		       has_groups(cfg);
	if (wanted && !cfg->grouped)
		return complain(
			EXIT_USAGE,
			"--algorithm switch needs a fabric with a switch: see `t3 list`, and "
			"t3-vm's --topology switch");
	return EXIT_OK;
}

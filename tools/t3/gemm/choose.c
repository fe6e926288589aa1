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

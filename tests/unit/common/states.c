/* SPDX-License-Identifier: MIT */
/* Brings a space into each state. */
#include "host.h"

struct host *host_in_state(uint32_t wanted)
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];

	host_space(a, 1);
	host_space(b, 1);
	host_connect(a, b, 1);
	host_connect(b, a, 1);
	host_local(a, 1, 0);
	host_stage(a, 1, 0, 2);
	if (wanted == T3_SPACE_ARMING || wanted == T3_SPACE_ARMED || wanted == T3_SPACE_COMPLETE)
		host_arm(a, 1, 1);
	if (wanted == T3_SPACE_ARMED || wanted == T3_SPACE_COMPLETE)
		host_arm(b, 1, 1);
	if (wanted == T3_SPACE_COMPLETE)
		host_fill(a, 1, 0, 1);
	if (wanted == T3_SPACE_FAULTED)
		host_store(a, 1, 0, 1, 4);
	if (wanted == T3_SPACE_DISABLED) /* no answer to POISON ever comes */
		t3_fabric_set_inline_budget(host->fabric, 0);
	if (wanted == T3_SPACE_DISABLED || wanted == T3_SPACE_QUIESCED)
		host_space_command(a, T3_CMD_SPACE_DISABLE, 1);
	if (wanted == T3_SPACE_FREE)
		host_destroy(a, 1);
	if (wanted != T3_SPACE_FREE)
		assert_int_equal(host_state(a, 1), wanted);
	return host;
}

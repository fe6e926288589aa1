// SPDX-License-Identifier: MIT
/* SPEC.md 17: commands of groups, with a switch and without one. */
#include "conf.h"
#include "pair.h"

CONF_SECTION("17", "groups of a switch");

static bool has_switch(struct conf_device *d)
{
	return conf_reg(d, T3_REG_TOPOLOGY) == T3_TOPOLOGY_SWITCH;
}

/* TOPOLOGY alone says that there is a switch. */
TEST("without a switch the commands of groups are unknown")
{
	static const uint32_t opcodes[] = { T3_CMD_GROUP_CREATE, T3_CMD_GROUP_MEMBER,
					    T3_CMD_GROUP_DESTROY, T3_CMD_GROUP_QUERY,
					    T3_CMD_SWITCH_QUERY };
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_switch_query args = { 0 };
	uint32_t i;

	if (has_switch(d))
		conf_skip(c, "needs a fabric without a switch");
	for (i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++)
		conf_try(c, d, opcodes[i], &args, sizeof(args), T3_ADMIN_BAD_OPCODE);
}

TEST("a port says how many entries it has")
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_switch_query args = { 0 };

	if (!has_switch(d))
		conf_skip(c, "needs a switch");
	conf_try(c, d, T3_CMD_SWITCH_QUERY, &args, sizeof(args), T3_ADMIN_OK);
	CHECK(c, args.entries && args.entries <= T3_PORT_ENTRIES, "%u entries", args.entries);
	args = (struct t3_cmd_switch_query){ .mbz = 1 };
	conf_try(c, d, T3_CMD_SWITCH_QUERY, &args, sizeof(args), T3_ADMIN_BAD_VALUE);
}

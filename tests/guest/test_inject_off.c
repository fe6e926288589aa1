// SPDX-License-Identifier: MIT
/* debugfs' inject of a device that does not allow it: the error names the property to set. */
#include "debugfs.h"
#include "module.h"

TEST("the file says that injection is off")
{
	const char *text = debugfs_read(0, "inject");

	debugfs_expect(text, "inject enabled=0 rank=0");
	CHECK(!strstr(text, "kind="));
}

TEST("each text is refused, and the log names the property")
{
	CHECK(!kernel_log_has("guest-inject=on"));
	CHECK_EQ(debugfs_write(0, "inject", "lose-irq"), -EOPNOTSUPP);
	CHECK_EQ(debugfs_write(0, "inject", "nonsense"), -EOPNOTSUPP);
	CHECK(kernel_log_has("start it with the property guest-inject=on"));
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}

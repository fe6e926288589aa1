// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that gets stuck, or fails, in the way that its parameter names: what the
 * launcher says of it is tested in tests/loop.py.
 */
#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>

static char *how = "";
module_param(how, charp, 0);

static DEFINE_MUTEX(stuck_lock);

static noinline void stuck_deadlock(void)
{
	mutex_lock(&stuck_lock);
	mutex_lock(&stuck_lock);
	/* Not reached; it keeps the call above from being a jump, which leaves no trace. */
	mutex_unlock(&stuck_lock);
}

static noinline void stuck_lockup(void)
{
	preempt_disable();
	while (true)
		cpu_relax();
}

static noinline void stuck_interrupts_off(void)
{
	local_irq_disable();
	while (true)
		cpu_relax();
}

static noinline void stuck_bug(void)
{
	*(volatile int *)NULL = 1;
}

static int __init stuck_init(void)
{
	if (!strcmp(how, "deadlock"))
		stuck_deadlock();
	else if (!strcmp(how, "lockup"))
		stuck_lockup();
	else if (!strcmp(how, "interrupts-off"))
		stuck_interrupts_off();
	else if (!strcmp(how, "bug"))
		stuck_bug();
	return -EINVAL;
}

module_init(stuck_init);
MODULE_DESCRIPTION("Gets stuck on purpose");
MODULE_LICENSE("GPL");

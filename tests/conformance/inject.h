/* SPDX-License-Identifier: MIT */
/* Fault injection: SPEC.md 12. Injected faults are cleared before the next test. */
#ifndef T3_CONFORMANCE_INJECT_H
#define T3_CONFORMANCE_INJECT_H

#include "conf.h"

/* Skip the test if the device does not let its guest inject. */
void inject_needed(struct conf *c, struct conf_device *d);
/* Inject. Sets `rank`. Returns ADMIN_STATUS. */
uint32_t inject_try(struct conf *c, struct conf_device *d, struct t3_cmd_inject args);
void inject(struct conf *c, struct conf_device *d, struct t3_cmd_inject args);

#define INJECT(c, d, ...) inject(c, d, (struct t3_cmd_inject){ __VA_ARGS__ })

#endif

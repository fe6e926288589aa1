/* SPDX-License-Identifier: MIT */
/* Injected faults: SPEC.md 12. They are taken away before the next test. */
#ifndef T3_CONFORMANCE_INJECT_H
#define T3_CONFORMANCE_INJECT_H

#include "conf.h"

/* Skips the test if the device does not let its guest inject. */
void inject_needed(struct conf *c, struct conf_device *d);
/* `rank` is filled in. Returns ADMIN_STATUS. */
uint32_t inject_try(struct conf *c, struct conf_device *d, struct t3_cmd_inject args);
void inject(struct conf *c, struct conf_device *d, struct t3_cmd_inject args);

#define INJECT(c, d, ...) inject(c, d, (struct t3_cmd_inject){ __VA_ARGS__ })

#endif

/* SPDX-License-Identifier: MIT */
/* Devices that --devices names: their indices in t3_device_list(), in the order of the ranks. */
#ifndef T3_CHOICE_H
#define T3_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#define DEVICE_CHOICE_MAX  32u
#define DEVICE_CHOICE_RULE "--devices must be 2 to 32 different indices of `t3 list`, as in 0,2,3"

struct device_choice {
	uint32_t count; /* 0: not given */
	uint32_t index[DEVICE_CHOICE_MAX];
};

/* False: not as DEVICE_CHOICE_RULE says. */
bool device_choice_parse(const char *text, struct device_choice *choice);

#endif /* T3_CHOICE_H */

// SPDX-License-Identifier: MIT
/* The sections, in the order of SPEC.md. */
#include "run.h"

extern const struct conf_section section_function, section_registers, section_interrupts;

const struct conf_section *const conf_sections[] = {
	&section_function, &section_registers, &section_interrupts, NULL,
};

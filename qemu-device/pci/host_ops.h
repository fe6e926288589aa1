/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The callbacks of the core. */
#ifndef T3_HOST_OPS_H
#define T3_HOST_OPS_H

#include "t3_core.h"

/* `opaque` is T3State. */
extern const struct t3_host_ops t3_pci_host_ops;

#endif /* T3_HOST_OPS_H */

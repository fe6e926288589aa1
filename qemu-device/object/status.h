/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The `status` property of the fabric. SPEC.md section 15. */
#ifndef T3_STATUS_H
#define T3_STATUS_H

#include "qobject/qobject.h"
#include "t3_core.h"

/* Returns a new dictionary. dev[rank] is NULL if the rank has no device. */
QObject *t3_status(const struct t3_fabric *fabric, struct t3_dev *const dev[T3_MAX_RANKS]);

#endif /* T3_STATUS_H */

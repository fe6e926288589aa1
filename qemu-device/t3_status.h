/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef T3_STATUS_H
#define T3_STATUS_H

#include "qobject/qobject.h"
#include "t3_core.h"

/* A new dictionary (SPEC.md section 15); dev[rank] is NULL where there is none. */
QObject *t3_status(const struct t3_fabric *fabric, struct t3_dev *const dev[T3_MAX_RANKS]);

#endif /* T3_STATUS_H */

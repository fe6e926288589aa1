/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The object t3-fabric: its properties, and the core's fabric, which it owns. */
#ifndef T3_OBJECT_H
#define T3_OBJECT_H

#include "fabric/fabric.h"

/* Creates a fabric of one rank without links, as a child of `owner`. */
T3Fabric *t3_fabric_new_private(Object *owner, Error **errp);

#endif /* T3_OBJECT_H */

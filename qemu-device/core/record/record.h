/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder: writes the calls and callbacks between the core and its host. SPEC.md section
 * 14. The front reports each call, if the fabric has a recorder or the device has a port. Without
 * a record that test is the only cost.
 */
#ifndef T3_CORE_RECORD_H
#define T3_CORE_RECORD_H

#include "device/device.h"
#include "t3_record.h"

void t3_record_access(struct t3_port *port, uint32_t type, uint64_t offset, uint64_t value,
		      uint32_t size);
void t3_record_device(struct t3_port *port, uint32_t type);
void t3_record_attach(struct t3_port *port, uint32_t rank);
void t3_record_fabric(struct t3_recorder *r, uint32_t type, uint64_t value);
void t3_record_inject(struct t3_recorder *r, const struct t3_cmd_inject *inject);
void t3_record_end(struct t3_recorder *r, uint64_t value, uint32_t size);
void t3_record_port_end(struct t3_port *port, uint64_t value, uint32_t size);
/* The next two test for a recorder and a port themselves. */
bool t3_record_adopt(struct t3_dev *dev, struct t3_fabric *fabric);
void t3_record_drop(struct t3_dev *dev);

#endif /* T3_CORE_RECORD_H */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Poisoned device memory: SPEC.md section 12. */
#include "t3_internal.h"

/* Does a range hold a poisoned byte? `where` is then the first. */
bool t3_poisoned(const struct t3_dev *dev, uint64_t offset, uint64_t len, uint64_t *where)
{
	(void)dev;
	(void)offset;
	(void)len;
	(void)where;
	return false;
}

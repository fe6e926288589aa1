/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Differences between the versions of QEMU that the device is built with: 10.0 to 10.2. */
#ifndef HW_T3_COMPAT_H
#define HW_T3_COMPAT_H

/* From 10.1 on class data is constant. */
#if QEMU_VERSION_MAJOR > 10 || (QEMU_VERSION_MAJOR == 10 && QEMU_VERSION_MINOR >= 1)
typedef const void T3ClassData;
#else
typedef void T3ClassData;
#endif

#endif /* HW_T3_COMPAT_H */

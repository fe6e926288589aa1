/* SPDX-License-Identifier: MIT */
/* /proc/self/fdinfo of a node, by the kernel's drm-usage-stats. */
#ifndef T3_GUEST_FDINFO_H
#define T3_GUEST_FDINFO_H

#include "guest.h"

/* The text of a whole file. The test fails when a line is not "key:<space>value". */
struct fdinfo {
	char text[4096];
};

void fdinfo_read(int fd, struct fdinfo *info);
/* The text behind a key, to the end of its line. */
void fdinfo_text(const struct fdinfo *info, const char *key, char *value, size_t size);
/* A number of the given unit ("ns"), or of bytes with or without KiB or MiB (NULL). */
uint64_t fdinfo_number(const struct fdinfo *info, const char *key, const char *unit);
/* Read the file again, and return one number of bytes. */
uint64_t fdinfo_bytes(int fd, const char *key);
uint64_t fdinfo_ns(int fd, const char *key);

#endif /* T3_GUEST_FDINFO_H */

/* SPDX-License-Identifier: MIT */
/*
 * Where tests make folders: in TMPDIR, so that who starts a test that crashes can remove them.
 */
#ifndef TEST_LIB_FOLDER_H
#define TEST_LIB_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

/* A template for mkdtemp(), which fails if the path is cut. */
static inline void name_new(char *path, size_t size, const char *name)
{
	const char *folder = getenv("TMPDIR");

	snprintf(path, size, "%s/t3-%s-XXXXXX", folder ? folder : "/tmp", name);
}

#endif /* TEST_LIB_FOLDER_H */

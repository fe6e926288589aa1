// SPDX-License-Identifier: MIT
/*
 * T3_DEBUG: reads its words, and loads the checker when it asks for it. A setuid program has
 * neither, because it ignores the environment.
 */
#define _GNU_SOURCE /* secure_getenv */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "space/private.h"

#define CHECKER "libt3-check.so.0"
#define NOTHING "libt3: T3_DEBUG=check: nothing is checked: "
#define PLACE	4096u

const struct t3_hooks *_Atomic t3_hooks_table;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool checks, goes_on;

static void read_words(const char *text)
{
	size_t length;

	for (; *text; text += length + !!text[length]) {
		length = strcspn(text, ",");
		if (length == 5 && !memcmp(text, "check", 5))
			checks = true;
		else if (length == 8 && !memcmp(text, "continue", 8))
			goes_on = true;
		else if (length)
			fprintf(stderr,
				"libt3: T3_DEBUG: \"%.*s\" is unknown; there are check and "
				"continue (after a report)\n",
				(int)length, text);
	}
}

/* Load the checker. */
static void *load(void)
{
	char path[PLACE + sizeof(CHECKER) + 1] = "", why_not_beside[PLACE], why_not[PLACE];
	const char *slash = NULL;
	struct t3_object own;
	void *object;

	/* The checker beside libt3.so, unless libt3 is part of the program. */
	if (t3_object_find(&t3_hooks_table, &own) && !own.is_program)
		slash = strrchr(own.path, '/');
	if (slash && slash - own.path < PLACE) {
		snprintf(path, sizeof(path), "%.*s/" CHECKER, (int)(slash - own.path), own.path);
		object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (object)
			return object;
		snprintf(why_not_beside, sizeof(why_not_beside), "%s", dlerror());
	}
	object = dlopen(CHECKER, RTLD_NOW | RTLD_LOCAL);
	if (object)
		return object;
	snprintf(why_not, sizeof(why_not), "%s", dlerror());
	if (*path)
		fprintf(stderr, NOTHING "the checker is not beside libt3 (%s)\n", why_not_beside);
	fprintf(stderr,
		NOTHING "the checker is not where the dynamic linker looks (%s); `make install` of "
			"T3 puts it beside libt3.so.0, and `ldconfig` tells the linker\n",
		why_not);
	return NULL;
}

static const struct t3_hooks *find_table(void *object)
{
	const struct t3_hooks *hooks = dlsym(object, T3_HOOKS_NAME);

	if (!hooks) {
		fprintf(stderr, NOTHING CHECKER " has no " T3_HOOKS_NAME "\n");
		return NULL;
	}
	if (strncmp(hooks->version, T3_VERSION, sizeof(hooks->version)) ||
	    hooks->size != sizeof(*hooks) || hooks->space_size != sizeof(struct t3_space)) {
		fprintf(stderr,
			NOTHING CHECKER " is of libt3 %.*s and this is %s: install both from one "
					"build\n",
			(int)sizeof(hooks->version), hooks->version, T3_VERSION);
		return NULL;
	}
	return hooks;
}

static void read_settings(void)
{
	const char *text = secure_getenv("T3_DEBUG");
	const struct t3_hooks *hooks = NULL;
	const char *why = NULL;
	void *object;

	if (!text)
		return;
	read_words(text);
	object = checks ? load() : NULL;
	if (object)
		hooks = find_table(object);
	if (hooks)
		why = hooks->begin(goes_on);
	if (why) {
		fprintf(stderr, NOTHING "%s\n", why);
		hooks = NULL;
	}
	atomic_store(&t3_hooks_table, hooks);
}

const struct t3_hooks *t3_debug(void)
{
	pthread_once(&once, read_settings);
	return t3_hooks();
}

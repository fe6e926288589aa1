// SPDX-License-Identifier: MIT
/*
 * Finds the function and line of an address. The dynamic linker gives the object. libdw gives
 * lines, and functions that the linker does not know, where it is installed (elfutils' libdwfl.h).
 */
#define _GNU_SOURCE /* dladdr */
#include "check/check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* -------------------------------------------------------------------- libdwfl */

typedef int dwfl_find_debuginfo(void *module, void **data, const char *name, uint64_t base,
				const char *file, const char *link, uint32_t crc, char **found);

struct dwfl_callbacks {
	void *find_elf;
	dwfl_find_debuginfo *find_debuginfo;
	void *section_address;
	char **path;
};

static struct {
	bool tried;
	void *session; /* NULL: not installed */
	void *(*begin)(const struct dwfl_callbacks *callbacks);
	int (*report)(void *session, pid_t pid);
	int (*report_end)(void *session, void *removed, void *arg);
	void *(*find_module)(void *session, uint64_t address);
	const char *(*function)(void *module, uint64_t address);
	void *(*line)(void *module, uint64_t address);
	const char *(*info)(void *line, uint64_t *address, int *number, int *column, uint64_t *time,
			    uint64_t *length);
} dwfl;

/* Debug data outside the object is not searched, because that might use the network. */
static int no_debuginfo(void *module, void **data, const char *name, uint64_t base,
			const char *file, const char *link, uint32_t crc, char **found)
{
	(void)module;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)found;
	return -1;
}

/* POSIX requires that function and object pointers have one size. */
static bool get(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol;
}

static bool load(struct dwfl_callbacks *callbacks)
{
	void *library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);

	return library && get(library, "dwfl_begin", &dwfl.begin) &&
	       get(library, "dwfl_linux_proc_find_elf", &callbacks->find_elf) &&
	       get(library, "dwfl_linux_proc_report", &dwfl.report) &&
	       get(library, "dwfl_report_end", &dwfl.report_end) &&
	       get(library, "dwfl_addrmodule", &dwfl.find_module) &&
	       get(library, "dwfl_module_addrname", &dwfl.function) &&
	       get(library, "dwfl_module_getsrc", &dwfl.line) &&
	       get(library, "dwfl_lineinfo", &dwfl.info);
}

static void *find_module(uint64_t address)
{
	static struct dwfl_callbacks callbacks = { .find_debuginfo = no_debuginfo };

	if (!dwfl.tried) {
		dwfl.tried = true;
		if (load(&callbacks))
			dwfl.session = dwfl.begin(&callbacks);
		if (dwfl.session && (dwfl.report(dwfl.session, getpid()) ||
				     dwfl.report_end(dwfl.session, NULL, NULL)))
			dwfl.session = NULL;
	}
	return dwfl.session ? dwfl.find_module(dwfl.session, address) : NULL;
}

/* ---------------------------------------------------------------------- text */

static int add_line(char *text, size_t size, void *module, uint64_t address)
{
	void *line = module ? dwfl.line(module, address) : NULL;
	const char *file = NULL;
	int number = 0;

	if (line)
		file = dwfl.info(line, NULL, &number, NULL, NULL, NULL);
	return file ? snprintf(text, size, " %s:%d", file, number) : 0;
}

/* For the program itself the linker has no path, or argv[0]. */
static void find_path(const struct t3_object *object, char *path, size_t size)
{
	ssize_t length = object->is_program ? readlink("/proc/self/exe", path, size - 1) : -1;

	if (length < 0)
		snprintf(path, size, "%s", object->path);
	else
		path[length] = 0;
}

/* A return address belongs to the call before it. */
void t3_symbol_text(const void *address, bool exact, char *text, size_t size)
{
	uint64_t at = (uintptr_t)address - !exact;
	const char *function = NULL;
	struct t3_object object;
	Dl_info info = { 0 };
	char path[256];
	void *module;
	int used;

	if (!t3_object_find((void *)(uintptr_t)at, &object)) {
		snprintf(text, size, "%p", address);
		return;
	}
	find_path(&object, path, sizeof(path));
	module = find_module(at);
	if (module)
		function = dwfl.function(module, at);
	if (!function && dladdr((void *)(uintptr_t)at, &info))
		function = info.dli_sname;
	at -= object.bias;
	used = snprintf(text, size, "%p %s (%s+%#llx)", address, function ? function : "?", path,
			(unsigned long long)at);
	if (used < 0 || (size_t)used >= size)
		return;
	if (!add_line(text + used, size - (size_t)used, module, at + object.bias))
		snprintf(text + used, size - (size_t)used, "; addr2line -fe %s %#llx", path,
			 (unsigned long long)at);
}

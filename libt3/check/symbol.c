// SPDX-License-Identifier: MIT
/*
 * Finds the function and line of an address. The dynamic linker gives the object. libdw gives
 * lines, and functions that the linker does not know, where it is installed (elfutils' libdwfl.h).
 */
#define _GNU_SOURCE /* dladdr1 */
#include "check/check.h"

#include <dlfcn.h>
#include <link.h>
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

/* For the program itself the linker has argv[0], which may be no path. */
static void find_object(const struct link_map *map, const Dl_info *info, char *path, size_t size)
{
	ssize_t length = *map->l_name ? -1 : readlink("/proc/self/exe", path, size - 1);

	if (length < 0)
		snprintf(path, size, "%s", info->dli_fname);
	else
		path[length] = 0;
}

/* A return address belongs to the call before it. */
void t3_symbol_text(const void *address, bool exact, char *text, size_t size)
{
	uint64_t at = (uintptr_t)address - !exact;
	const char *function = NULL;
	struct link_map *map = NULL;
	Dl_info info = { 0 };
	char object[256];
	void *module;
	int used;

	if (!dladdr1((void *)(uintptr_t)at, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) {
		snprintf(text, size, "%p", address);
		return;
	}
	find_object(map, &info, object, sizeof(object));
	module = find_module(at);
	if (module)
		function = dwfl.function(module, at);
	if (!function)
		function = info.dli_sname;
	at -= map->l_addr;
	used = snprintf(text, size, "%p %s (%s+%#llx)", address, function ? function : "?", object,
			(unsigned long long)at);
	if (used < 0 || (size_t)used >= size)
		return;
	if (!add_line(text + used, size - (size_t)used, module, at + map->l_addr))
		snprintf(text + used, size - (size_t)used, "; addr2line -fe %s %#llx", object,
			 (unsigned long long)at);
}

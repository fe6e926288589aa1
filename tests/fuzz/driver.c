/* SPDX-License-Identifier: MIT */
/*
 * A target without libFuzzer: runs each input once, for `make fuzz-report`, whose programs gcc
 * builds. usage: PROGRAM FILE-OR-FOLDER...
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long inputs;

static int fail(const char *path)
{
	perror(path);
	return 1;
}

static int run_file(const char *path, size_t size)
{
	uint8_t *data = malloc(size + 1);
	FILE *file = fopen(path, "rb");

	if (!data || !file || fread(data, 1, size, file) != size)
		return fail(path);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	inputs++;
	return 0;
}

static int run(const char *path);

static int run_folder(const char *path)
{
	struct dirent **entry;
	char name[4096];
	int count = scandir(path, &entry, NULL, alphasort), i, ret = 0;

	if (count < 0)
		return fail(path);
	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, entry[i]->d_name);
		if (entry[i]->d_name[0] != '.')
			ret |= run(name);
		free(entry[i]);
	}
	free(entry);
	return ret;
}

static int run(const char *path)
{
	struct stat info;

	if (stat(path, &info))
		return fail(path);
	return S_ISDIR(info.st_mode) ? run_folder(path) : run_file(path, (size_t)info.st_size);
}

int main(int argc, char **argv)
{
	int i, ret = 0;

	LLVMFuzzerInitialize(&argc, &argv);
	for (i = 1; i < argc; i++)
		ret |= run(argv[i]);
	printf("%lu inputs\n", inputs);
	return ret;
}

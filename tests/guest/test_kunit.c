// SPDX-License-Identifier: MIT
/*
 * The driver's own tests. The module has them when KUnit is built in, and runs them at its load.
 * debugfs has the results as KTAP. This prints one line for each case.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define RESULTS "/sys/kernel/debug/kunit"
#define SKIPPED 77

static unsigned int cases, failed;

/* "    ok 3 name # comment": of a case, because it is indented. */
static void one_line(const char *suite, const char *line)
{
	const char *text = line + strspn(line, " ");
	char verdict[8], name[128];
	unsigned int number;

	if (text == line)
		return;
	if (sscanf(text, "not ok %u %127s", &number, name) == 2)
		strcpy(verdict, "not ok");
	else if (sscanf(text, "ok %u %127s", &number, name) == 2)
		strcpy(verdict, "ok");
	else
		return;
	failed += *verdict == 'n';
	printf("%s %u - %s/%s\n", verdict, ++cases, suite, name);
}

static void one_suite(const char *suite)
{
	unsigned int before = cases;
	char path[300], line[512];
	FILE *file;

	snprintf(path, sizeof(path), RESULTS "/%s/results", suite);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		printf("# %s", line);
		one_line(suite, line);
	}
	if (file)
		fclose(file);
	if (cases == before) {
		printf("not ok %u - %s/reports-a-case\n", ++cases, suite);
		failed++;
	}
}

int main(void)
{
	DIR *dir = opendir(RESULTS);
	struct dirent *entry;

	if (!dir)
		return SKIPPED;
	while ((entry = readdir(dir)))
		if (!strncmp(entry->d_name, "t3_", 3))
			one_suite(entry->d_name);
	closedir(dir);
	printf("1..%u\n", cases);
	return failed ? 1 : 0;
}

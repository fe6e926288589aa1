// SPDX-License-Identifier: MIT
/* t3-conformance: tests a device against qemu-device/SPEC.md. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static const char help[] =
	"usage: t3-conformance [options]\n"
	"Test T3 functions, register by register, against the programming manual SPEC.md.\n"
	"%s\n"
	"  --device BDF     test this function, as in 0000:01:00.0; may be repeated\n"
	"                   (default: all that there are). Tests of one function use the\n"
	"                   first; the others' need links between them, or are skipped\n"
	"  --bind           bind the functions to vfio-pci first; VFIO only\n"
	"  --section N      only this section of SPEC.md, and those below it\n"
	"  --timeout SEC    the longest that a device may take to do something (2)\n"
	"  --json           one JSON object instead of TAP\n"
	"  --list           list the sections and tests, without any device\n"
	"  --help\n"
	"\n"
	"exit status: 0 no test failed, 1 some failed, 2 bad use, 3 no function could be\n"
	"tested (none found, no access, another version), or one stopped answering\n";

enum { STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_UNTESTED = 3 };

struct options {
	char bdfs[T3_MAX_RANKS][16];
	unsigned count;
	const char *section;
	double timeout;
	bool bind, json, list;
};

static int usage(const char *why, const char *what)
{
	fprintf(stderr, "t3-conformance: %s%s; see --help\n", why, what);
	return STATUS_USAGE;
}

static int add_device(struct options *options, const char *bdf)
{
	if (options->count == T3_MAX_RANKS || strlen(bdf) != strlen("0000:00:00.0"))
		return usage("not a function, or one too many: ", bdf);
	strcpy(options->bdfs[options->count++], bdf);
	return 0;
}

static int set_timeout(struct options *options, const char *text)
{
	char *end;

	options->timeout = strtod(text, &end);
	if (*end || end == text || !(options->timeout > 0 && options->timeout <= 30))
		return usage("--timeout must be more than 0 and at most 30, not ", text);
	return 0;
}

static int set_section(struct options *options, const char *text)
{
	options->section = text;
	return conf_total(text) ? 0 : usage("no tests of section ", text);
}

static int parse(struct options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "section", required_argument, NULL, 's' },
		{ "timeout", required_argument, NULL, 't' },
		{ "bind", no_argument, NULL, 'b' },
		{ "json", no_argument, NULL, 'j' },
		{ "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option, bad = 0;

	while (!bad && (option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'd':
			bad = add_device(options, optarg);
			break;
		case 's':
			bad = set_section(options, optarg);
			break;
		case 't':
			bad = set_timeout(options, optarg);
			break;
		case 'b':
			options->bind = true;
			break;
		case 'j':
			options->json = true;
			break;
		case 'l':
			options->list = true;
			break;
		case 'h':
			printf(help, conf_way);
			exit(0);
		default:
			return STATUS_USAGE;
		}
	}
	if (!bad && optind < argc)
		bad = usage("unexpected argument ", argv[optind]);
	return bad;
}

static int list(const char *wanted)
{
	char name[CONF_NAME];

	for (const struct conf_section *s = conf_sections; s; s = s->next) {
		if (!conf_section_matches(s, wanted))
			continue;
		printf("section %s, %s:\n", s->number, s->title);
		for (const struct conf_test *test = s->tests; test; test = test->next) {
			for (unsigned row = 0; row < test->rows + !test->rows; row++) {
				conf_test_name(name, sizeof(name), s, test, row);
				printf("  %s\n", name);
			}
		}
	}
	return 0;
}

static int open_devices(struct conf *c, struct options *options)
{
	char *bdfs[T3_MAX_RANKS];

	if (!options->count)
		options->count = conf_find(options->bdfs, T3_MAX_RANKS);
	if (!options->count) {
		fprintf(stderr, "t3-conformance: no PCI function %04x:%04x here\n",
			T3_PCI_VENDOR_ID, T3_PCI_DEVICE_ID);
		return -1;
	}
	for (unsigned i = 0; i < options->count; i++) {
		bdfs[i] = options->bdfs[i];
		if (options->bind && conf_bind(bdfs[i]))
			return -1;
	}
	return conf_open(c, bdfs, options->count);
}

static int run(struct conf *c, const struct options *options)
{
	struct conf_result *results;
	unsigned count, failed = 0, passed = 0;

	if (!options->json)
		printf("# %u functions, %u of them linked in a row\n1..%u\n", c->count, c->linked,
		       conf_total(options->section));
	count = conf_run(c, options->section, &results, options->json ? NULL : conf_tap_result);
	for (unsigned i = 0; i < count; i++) {
		failed += results[i].verdict == CONF_FAILED;
		passed += results[i].verdict == CONF_PASSED;
	}
	if (options->json)
		conf_json(c, results, count);
	else
		conf_tap_summary(results, count);
	free(results);
	if (failed)
		return STATUS_FAILED;
	return passed ? 0 : STATUS_UNTESTED;
}

int main(int argc, char **argv)
{
	static struct conf conf = { .container = -1 };
	struct options options = { .timeout = 2 };
	const uint32_t one = 1;
	int status = parse(&options, argc, argv);

	if (status)
		return status;
	if (options.list)
		return list(options.section);
	/* Host and device share structures, so the host must be little-endian, too. */
	if (*(const uint8_t *)&one != 1)
		return usage("this host is big-endian", "");
	conf.timeout = options.timeout;
	status = open_devices(&conf, &options) ? STATUS_UNTESTED : run(&conf, &options);
	conf_close(&conf);
	return status;
}

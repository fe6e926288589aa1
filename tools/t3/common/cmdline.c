// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "common/cmdline.h"
#include "common/message.h"

#define DECIMALS 9

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct cmd_common *common = state->input;

	switch (key) {
	case 'j':
		common->json = true;
		return 0;
	case 'd':
		common->one = true;
		common->device = cmdline_number(state, "-d", arg, 0, 255);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is one argument too many", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

#define OPTION_JSON                                               \
	{                                                         \
		"json", 'j', NULL, 0, "JSON instead of tables", 1 \
	}

static const struct argp_option json_options[] = { OPTION_JSON, { 0 } };

static const struct argp_option device_options[] = {
	OPTION_JSON,
	{ "device", 'd', "INDEX", 0, "only that device, as `t3 list` shows it", 1 },
	{ 0 },
};

const struct argp cmdline_json = { .options = json_options, .parser = parse_common };
const struct argp cmdline_device = { .options = device_options, .parser = parse_common };

void cmdline_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input)
{
	static char name[64]; /* argp begins its messages with this name */

	snprintf(name, sizeof(name), "t3 %s", argv[0]);
	argv[0] = name;
	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(argp, argc, argv, flags, NULL, input))
		exit(complain(EXIT_FAIL, "no memory for the command line"));
}

uint64_t cmdline_number(struct argp_state *state, const char *option, const char *text,
			uint64_t min, uint64_t max)
{
	uint64_t value = 0;

	if (!parse_number(text, max, &value) || value < min)
		argp_error(state, "%s must be a whole number from %llu to %llu, not '%s'", option,
			   (unsigned long long)min, (unsigned long long)max, text);
	return value;
}

static bool parse_size(const char *text, uint64_t max, uint64_t *bytes)
{
	static const char units[] = "KMG";
	size_t digits = strspn(text, "0123456789");
	const char *unit = text[digits] ? strchr(units, text[digits]) : NULL;
	unsigned int shift = unit ? 10 * (unsigned int)(unit - units + 1) : 0;
	char number[16];

	if (!digits || digits >= sizeof(number) || (text[digits] && (!unit || text[digits + 1])))
		return false;
	memcpy(number, text, digits);
	number[digits] = '\0';
	if (!parse_number(number, max >> shift, bytes))
		return false;
	*bytes <<= shift;
	return true;
}

uint64_t cmdline_size(struct argp_state *state, const char *option, const char *text, uint64_t min,
		      uint64_t max)
{
	uint64_t bytes = 0;

	if (!parse_size(text, max, &bytes) || bytes < min)
		argp_error(state,
			   "%s must be from %llu to %llu bytes, as in 64K, 1M or 1G, not '%s'",
			   option, (unsigned long long)min, (unsigned long long)max, text);
	return bytes;
}

/* "0.25" as nanoseconds. */
static bool parse_seconds(const char *text, uint64_t max, uint64_t *ns)
{
	size_t whole = strcspn(text, "."), decimals = 0;
	char digits[32];
	int unit;

	if (text[whole])
		decimals = strlen(text + whole + 1);
	if (whole + DECIMALS >= sizeof(digits) || decimals > DECIMALS || (text[whole] && !decimals))
		return false;
	memcpy(digits, text, whole);
	memset(digits + whole, '0', DECIMALS);
	memcpy(digits + whole, text + whole + (decimals ? 1 : 0), decimals);
	unit = (int)(whole + DECIMALS);
	digits[unit] = '\0';
	return whole && parse_number(digits, max * 1000000000, ns) && *ns;
}

uint64_t cmdline_seconds(struct argp_state *state, const char *option, const char *text,
			 uint64_t max)
{
	uint64_t ns = 0;

	if (!parse_seconds(text, max, &ns))
		argp_error(state, "%s must be seconds above 0 up to %llu, as in 0.5, not '%s'",
			   option, (unsigned long long)max, text);
	return ns;
}

char **cmdline_command(struct argp_state *state)
{
	char **command = state->argv + state->next - 1;

	state->next = state->argc;
	return command;
}

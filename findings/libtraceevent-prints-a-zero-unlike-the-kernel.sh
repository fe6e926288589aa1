#!/bin/bash
# SPDX-License-Identifier: MIT
# libtraceevent 1.7.1 of Debian 12 (libtraceevent1=1:1.7.1-1): a zero of %#x or %#llx in an
# event's print fmt is printed as 0. The kernel, whose format it is, prints the same record as
# 0x0: its printf puts 0x before a zero too, where that of C does not.
#
# Seen, of a record with zeros and of one with ones, by `print fmt: "%#x %#llx 0x%llx"`:
#     libtraceevent:    0 0 0x0          0x1 0x1 0x1
#     the kernel's %#x: 0x0
# So perf and trace-cmd print a line that differs from the line of the kernel's own trace file,
# and a pattern that looks for 0x fits one of the two. An event that says 0x%x is the same in
# both. libtraceevent 1.8.4 of Debian 13 does the same. The kernel's %#x is shown by the file
# dev_id of the loopback device, which it prints by that.
#
# The packages are unpacked below a temporary folder, by the sources of this machine's apt, which
# must have Debian 12's. It needs gcc, sysfs with a loopback device, and no root.
set -euo pipefail

VERSION=1:1.7.1-1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

cd "$place"
apt-get -qq download "libtraceevent1=$VERSION" "libtraceevent-dev=$VERSION" 2>/dev/null
for package in *.deb; do
	dpkg -x "$package" root
done
cat >zero.c <<'C'
#include <event-parse.h>
#include <stdio.h>
#include <string.h>
#include <trace-seq.h>

static char format[] =
	"name: look\n"
	"ID: 1\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:u64 wide;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:u32 narrow;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\n"
	"print fmt: \"%#x %#llx 0x%llx\", REC->narrow, REC->wide, REC->wide\n";

struct look {
	unsigned short type;
	int pid;
	unsigned long long wide;
	unsigned int narrow;
};

int main(void)
{
	struct tep_handle *tep = tep_alloc();

	if (!tep || tep_parse_event(tep, format, strlen(format), "made_up"))
		return 1;
	for (unsigned int i = 0; i < 2; i++) {
		struct look look = { .type = 1, .pid = 1, .wide = i, .narrow = i };
		struct tep_record record = { .data = &look, .size = sizeof(look) };
		struct trace_seq text;

		trace_seq_init(&text);
		tep_print_event(tep, &text, &record, "%s", TEP_PRINT_INFO);
		trace_seq_terminate(&text);
		printf("%s\n", text.buffer);
		trace_seq_destroy(&text);
	}
	tep_free(tep);
	return 0;
}
C
libs=$place/root/usr/lib/x86_64-linux-gnu
gcc -O1 -Wall -Wextra -Werror -o zero zero.c -Iroot/usr/include/traceevent -L"$libs" -ltraceevent

expect() {
	echo "$1: $3"
	[ "$2" = "$3" ] || { echo "expected: $2" >&2 && exit 1; }
}

expect "libtraceevent" $'0 0 0x0\n0x1 0x1 0x1' "$(LD_LIBRARY_PATH=$libs ./zero)"
expect "the kernel's %#x" 0x0 "$(cat /sys/class/net/lo/dev_id)"

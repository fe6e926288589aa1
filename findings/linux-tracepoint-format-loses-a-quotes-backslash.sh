#!/bin/bash
# SPDX-License-Identifier: MIT
# Linux 6.1 of Debian 12 (linux-image-6.1.0-50-amd64=6.1.176-1): an event whose TP_printk() has \"
# in its string has a bare " in its format file. The macro puts quotes around the string as the
# compiler has read it, and does not escape those within. libtraceevent 1.7.1
# (libtraceevent1=1:1.7.1-1), by which perf and trace-cmd read that file, then lists the event's
# fields instead.
#
# Seen, of the event afs_edit_dir of the module kafs, as the module has it:
#     print fmt: "d=%x:%x %s %s %u[%u] f=%x:%x "%s"", REC->vnode, ...
# A record of it, once as shipped and once with the two backslashes put back:
#     [FAILED TO PARSE] vnode=1 unique=2 why=0 op=0 block=3 slot=4 f_vnode=5 f_unique=6 name=file
#     d=1:2 Create create 3[4] f=5:6 "file"
# The kernel's own trace file is not printed by that format, so its lines have the quotes. An
# event that perf is to print needs '%s', or no quotes. libtraceevent 1.8.4 of Debian 13 does the
# same.
#
# The packages are unpacked below a temporary folder, by the sources of this machine's apt, which
# must have Debian 12's; the kernel's takes 70 MB. It needs gcc, and no root. No kernel is
# started.
set -euo pipefail

VERSION=1:1.7.1-1
KERNEL=6.1.0-50-amd64
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

cd "$place"
apt-get -qq download "linux-image-$KERNEL=6.1.176-1" "libtraceevent1=$VERSION" \
	"libtraceevent-dev=$VERSION" 2>/dev/null
for package in libtraceevent*.deb; do
	dpkg -x "$package" root
done
module=./lib/modules/$KERNEL/kernel/fs/afs/kafs.ko
dpkg-deb --fsys-tarfile linux-image-*.deb | tar -xf - -C root "$module"
cat >edit.c <<'C'
#include <event-parse.h>
#include <stdio.h>
#include <string.h>
#include <trace-seq.h>

#define FIELD(text, at, size) "\tfield:" text ";\toffset:" #at ";\tsize:" #size ";\tsigned:0;\n"

struct edit {
	unsigned short type;
	int pid;
	unsigned int vnode, unique, why, op, block, slot, f_vnode, f_unique;
	char name[24];
};

/* usage: edit PRINT-FMT */
int main(int argc, char **argv)
{
	struct edit edit = { 1, 1, 1, 2, 0, 0, 3, 4, 5, 6, "file" };
	struct tep_record record = { .data = &edit, .size = sizeof(edit) };
	struct tep_handle *tep = tep_alloc();
	struct trace_seq text;
	char format[8192];

	if (!tep || argc != 2)
		return 1;
	snprintf(format, sizeof(format),
		 "name: edit\nID: 1\nformat:\n" FIELD("unsigned short common_type", 0, 2)
		 FIELD("int common_pid", 4, 4) "\n" FIELD("unsigned int vnode", 8, 4)
		 FIELD("unsigned int unique", 12, 4) FIELD("unsigned int why", 16, 4)
		 FIELD("unsigned int op", 20, 4) FIELD("unsigned int block", 24, 4)
		 FIELD("unsigned int slot", 28, 4) FIELD("unsigned int f_vnode", 32, 4)
		 FIELD("unsigned int f_unique", 36, 4) FIELD("char name[24]", 40, 24)
		 "\nprint fmt: %s\n", argv[1]);
	if (tep_parse_event(tep, format, strlen(format), "afs"))
		return 1;
	trace_seq_init(&text);
	tep_print_event(tep, &text, &record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&text);
	printf("%s\n", text.buffer);
	trace_seq_destroy(&text);
	tep_free(tep);
	return 0;
}
C
libs=$place/root/usr/lib/x86_64-linux-gnu
gcc -O1 -Wall -Wextra -Werror -o edit edit.c -Iroot/usr/include/traceevent -L"$libs" -ltraceevent
export LD_LIBRARY_PATH=$libs

expect() {
	echo "$1: $3"
	[ "$2" = "$3" ] || { echo "expected: $2" >&2 && exit 1; }
}

# When the kernel loads the module, it puts numbers in the place of the enumerators: here 0.
shipped=$(grep -aoE '"d=%x:%x [[:print:]]*REC->name' "root/$module" | sed -E 's/\{ afs_\w+,/{ 0,/g')
expect "in the module" '"d=%x:%x %s %s %u[%u] f=%x:%x "%s"", REC->vnode' \
	"${shipped%%, REC->unique*}"
expect "as shipped" "[FAILED TO PARSE] vnode=1 unique=2 why=0 op=0 block=3 slot=4 f_vnode=5 \
f_unique=6 name=file" "$(./edit "$shipped")"
expect "with backslashes" 'd=1:2 Create create 3[4] f=5:6 "file"' \
	"$(./edit "${shipped/'"%s""'/'\"%s\""'}")"

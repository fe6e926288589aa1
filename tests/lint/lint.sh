#!/bin/bash
# SPDX-License-Identifier: MIT
# The lint checkers, one at a time. Usage: lint.sh CHECKER | --list | --format
# Exits 0 when clean, 77 when there is nothing to check, else nonzero.
set -euo pipefail
. "$(dirname "$0")/../../tools/build/common.sh"
cd "$T3_ROOT"

CHECKERS="checkpatch kernel-doc sparse size modinfo abi clang-format spdx columns reuse headers musl core-includes shellcheck pipes python mutants rooms docs machines pictures"
NOTHING=77
CLANG_FORMAT=14

# Our files: those that git knows or would add, and that still exist.
our_files() {
	git ls-files --cached --others --exclude-standard -- "$@" | sort -u |
		while read -r file; do
			[ ! -f "$file" ] || echo "$file"
		done
}

# nothing_to_check REASON: end as a skipped check. tap.py wants the reason.
nothing_to_check() {
	echo "skipped: $1"
	exit $NOTHING
}

# lint_files VARIABLE PATTERN...: fill an array, or end with "nothing to check".
lint_files() {
	local -n found=$1

	shift
	mapfile -t found < <(our_files "$@")
	[ ${#found[@]} -gt 0 ] || nothing_to_check "the tree has none of these files: $*"
}

# checkpatch writes the CamelCase names of these headers into a file in its current folder.
checkpatch() {
	local headers

	headers=$(echo "$T3_BUILD"/kernel/usr/src/linux-headers-*-common)
	(cd "$T3_BUILD/log" && perl "$T3_BUILD/kernel/checkpatch/checkpatch.pl" --no-tree --strict \
		--root="$headers" --terse --show-types --max-line-length=100 "$@")
}

# The form of tracepoints is given by their macros, and two checks do not like it.
# The hardware header is shared with hosts that have only the C library's types, and lists of
# names (T3_*_LIST) cannot be in parentheses. A rule of t3_refuse.h takes place, size and sign of one
# member, so its macros use their arguments several times, and as names.
lint_checkpatch() {
	local driver uapi trace=driver/t3_trace.h rules=driver/t3_refuse.h status=0

	lint_files uapi 'uapi/*.h'
	mapfile -t driver < <(our_files 'driver/*.[ch]' ":!$trace" ":!$rules")
	checkpatch --ignore MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE -f "$T3_ROOT/$rules" || status=1
	checkpatch --ignore OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,MACRO_ARG_UNUSED -f "$T3_ROOT/$trace" || status=1
	checkpatch --ignore PREFER_KERNEL_TYPES,CAMELCASE,BIT_MACRO,COMPLEX_MACRO,MACRO_ARG_REUSE,MACRO_ARG_UNUSED,BRACKET_SPACE \
		-f "${uapi[@]/#/$T3_ROOT/}" || status=1
	[ ${#driver[@]} -eq 0 ] || checkpatch -f "${driver[@]/#/$T3_ROOT/}" || status=1
	return $status
}

# A function that a file offers to others begins at the margin, without "static". Its
# comment comes directly before it.
functions_without_kernel_doc() {
	awk '
		FNR == 1 { described = "" }
		/^ \* [a-z0-9_]+\(\) - / { described = $2 }
		/^[a-z].*\(.*[^;]$/ && !/^(static|module_|extern) ?/ {
			name = $0
			sub(/\(.*/, "", name)
			sub(/.*[ *]/, "", name)
			if (described != name "()") {
				print FILENAME ":" FNR ": " name "() has no kernel-doc comment"
				found = 1
			}
		}
		/^}/ { described = "" }
		END { exit !found }
	' "$@"
}

lint_kernel_doc() {
	local files sources status=0

	lint_files files 'driver/*.[ch]' uapi/t3_accel.h
	perl "$T3_BUILD/kernel/checkpatch/kernel-doc" -none -Wall -Werror "${files[@]}" || status=1
	lint_files sources 'driver/*.c' ':!driver/tests'
	! functions_without_kernel_doc "${sources[@]}" || status=1
	return $status
}

lint_sparse() {
	[ -e Kbuild ] || nothing_to_check "the tree has no Kbuild"
	tools/build/module.sh sparse
}

# For the driver and its interface: no function has over 60 lines, from its name to its last brace.
# A file over 500 lines gives a reason ("Over 500 lines: ...").
lint_size() {
	local files

	lint_files files 'driver/*.[ch]' 'uapi/*.h'
	awk '
		FNR == 1 { check_file(); file = FILENAME; why = 0 }
		/Over 500 lines: / { why = 1 }
		/^[a-zA-Z_].*\(/ { start = FNR }
		/^\{/ { inside = 1 }
		/^\}/ && inside {
			inside = 0
			if (FNR - start >= 60)
				finding(file ":" start ": a function of " FNR - start + 1 " lines")
		}
		{ lines = FNR }
		END { check_file(); exit found }
		function check_file() {
			if (file && lines > 500 && !why)
				finding(file ": " lines " lines, and no reason given")
		}
		function finding(text) { print text; found = 1 }
	' "${files[@]}"
}

# modinfo's output: each parameter has a description and a type. There is a version and a licence.
lint_modinfo() {
	local module=$T3_BUILD/module/t3.ko name field status=0

	[ -e "$module" ] || nothing_to_check "$module is not built"
	for field in version license description; do
		[ -n "$(modinfo -F "$field" "$module")" ] || { echo "no $field"; status=1; }
	done
	for name in $(our_files 'driver/*.c' | xargs sed -n 's/^module_param[a-z_]*(\([a-z0-9_]*\),.*/\1/p'); do
		modinfo -p "$module" | grep -E "^$name:.{20,} \([a-z]+\)$" >/dev/null ||
			{ echo "parameter $name: no description or no type"; status=1; }
	done
	return $status
}

# Each attribute that the driver makes is documented in a complete entry, and no other is.
lint_abi() {
	local text=driver/sysfs-driver-t3 source=driver/t3_sysfs.c

	diff <(sed -n 's|^What:\t\t/sys/bus/pci/devices/<BDF>/||p' $text | sort) \
		<(sed -n 's/^static DEVICE_ATTR_[A-Z]*(\(.*\));/\1/p' $source | sort) || return 1
	awk -F: '
		/^[A-Z][A-Za-z]*:/ { tags = tags " " $1 }
		/^$/ { check() }
		END { check(); exit wrong }
		function check() {
			if (tags != " What Date KernelVersion Contact Description") {
				print FILENAME ":" FNR ": an entry of" tags
				wrong = 1
			}
			tags = ""
		}
	' $text
}

lint_clang_format() {
	local files version

	lint_files files 'qemu-device/*.[ch]' 'libt3/*.[ch]' 'tools/*.[ch]' 'tests/*.[ch]'
	version=$(clang-format --version)
	# Other versions break some lines in other places.
	case $version in
	*"version $CLANG_FORMAT."*) ;;
	*) nothing_to_check "the code has the format of clang-format $CLANG_FORMAT, and here is: $version" ;;
	esac
	clang-format "${@:---dry-run}" -Werror "${files[@]}"
}

# Line 1 names the licence; line 2 where line 1 must be "#!".
lint_spdx() {
	local files

	lint_files files '*.c' '*.h' '*.sh' '*.py' '*.map' 'Makefile' 'Kbuild' '*meson.build' meson_options.txt 'tools/*' 'tests/*' 'findings/*' \
		'.clang-format' '.editorconfig' '.gitignore' '.ci/run' ':!*.md' ':!*.json' ':!*.bin' ':!*.golden' \
		':!*/corpus/*' ':!*/VERSION' ':!*/debian/source/format' ':!*/debian/copyright'
	awk '
		FNR == 1 { line = /^#(!|compdef )/ ? 2 : 1 }
		FNR == line && /SPDX-License-Identifier: / { named[FILENAME] = 1 }
		END {
			for (i = 1; i < ARGC; i++)
				if (!(ARGV[i] in named)) {
					print ARGV[i] ": no SPDX line at its top"
					missing = 1
				}
			exit missing
		}
	' "${files[@]}"
}

# The description of the build. C has clang-format, pages have docs.py.
lint_columns() {
	local files

	lint_files files Makefile '*meson.build' meson_options.txt
	awk 'length > 100 { print FILENAME ":" FNR ": " length " columns, at most 100 are allowed"; found = 1 }
		END { exit found }' "${files[@]}"
}

# Each file has a licence and a copyright (.reuse/dep5 for those without a comment), and LICENSES the
# text of each licence.
lint_reuse() {
	command -v reuse >/dev/null || nothing_to_check "reuse is not installed"
	reuse lint
}

# Each public header compiles alone, in both languages.
lint_headers() {
	local header flags status=0

	read -ra flags <<<"$(pkg-config --cflags libdrm)"
	for header in uapi/t3_accel.h uapi/t3_hw.h libt3/t3*.h; do
		[ -e "$header" ] || { echo "$header is missing"; status=1; continue; }
		gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c -Iuapi -Ilibt3 \
			"${flags[@]}" "$header" || status=1
		g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ -Iuapi -Ilibt3 \
			"${flags[@]}" "$header" || status=1
	done
	return $status
}

# libt3 needs no GNU C library: it compiles against musl's headers, with those of the kernel, libdrm
# and libpci beside them. (Debian has no libdrm for musl, so nothing is linked.)
lint_musl() {
	local files file include=$T3_BUILD/musl-include status=0

	command -v musl-gcc >/dev/null || nothing_to_check "musl-gcc is not installed (musl-tools)"
	lint_files files 'libt3/*.c' ':!libt3/mpi'
	rm -rf "$include"
	mkdir -p "$include"
	ln -s /usr/include/{linux,asm-generic,libdrm,xf86drm.h,xf86drmMode.h} \
		/usr/include/x86_64-linux-gnu/{asm,pci} "$include"
	for file in "${files[@]}"; do
		musl-gcc -std=gnu11 -O1 -Wall -Wextra -Werror -fsyntax-only -Iuapi -Ilibt3 \
			-isystem "$include" -isystem "$include/libdrm" -DT3_VERSION='"0"' "$file" || status=1
	done
	return $status
}

# The core is plain C for any host. It includes the C library's headers, t3_hw.h and its own.
lint_core_includes() {
	local files std='arm_neon|assert|errno|inttypes|limits|math|immintrin|stdarg|stdbool|stddef|stdint|stdio|stdlib|string'

	lint_files files 'qemu-device/core/*.[ch]'
	! grep -nE '^[[:space:]]*#[[:space:]]*include' "${files[@]}" |
		grep -vE "<($std)\.h>|\"([a-z]+/)?[a-z0-9_]+\.h\"" || return 1
	# A quoted name must be a file of the core or the hardware header.
	! grep -hoE '^[[:space:]]*#[[:space:]]*include "[^"]+"' "${files[@]}" | grep -o '"[^"]*"' |
		tr -d '"' | sort -u | while read -r name; do
			[ "$name" = t3_hw.h ] || [ -e "qemu-device/core/$name" ] || echo "foreign header: $name"
		done | grep .
}

lint_shellcheck() {
	local files

	mapfile -t files < <(our_files .ci tools tests findings | xargs grep -lE '^#!/bin/(ba)?sh|^# shellcheck shell' | sort)
	[ ${#files[@]} -gt 0 ] || nothing_to_check "the tree has no such scripts"
	# SC1091: sourced files are checked by themselves.
	shellcheck --severity=warning --exclude=SC1091 "${files[@]}"
}

# With pipefail a pipe fails when its reader ends before its writer has written all: now and then.
lint_pipes() {
	local files

	mapfile -t files < <(our_files .ci tools tests Makefile | xargs grep -lE 'set -.*pipefail|^# shellcheck shell')
	! grep -nE '\| *(head\b|grep -[a-zA-Z]*[qm]|(sed|awk) .*[ ;{](q|exit) *[};])' "${files[@]}" | grep -v 'head -c.* || true$'
}

lint_python() {
	local files

	mapfile -t files < <({
		our_files tools tests libt3 | xargs grep -lE '^#!.*python3'
		our_files tools tests libt3 | grep '\.py$'
	} | sort -u)
	[ ${#files[@]} -gt 0 ] || nothing_to_check "the tree has no such scripts"
	PYTHONPYCACHEPREFIX=$T3_BUILD/pycache python3 -W error -m py_compile "${files[@]}"
}

# A mutant whose text has changed would change nothing, and end `make mutants`.
lint_mutants() {
	export PYTHONPYCACHEPREFIX=$T3_BUILD/pycache
	tests/mutants.py --check && tests/faults.py --check
}

# The core has no name of libt3: a program with both would have the core's in the place of libt3's.
names_of_both() {
	local native=$T3_BUILD/native of_libt3 of_core

	of_libt3=$(nm -D --defined-only "$native/libt3/libt3.so.0" |
		awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u) || return
	of_core=$(nm -g --defined-only "$native"/{qemu-device/core/libt3core,tools/t3/libt3sim}.a |
		awk 'NF == 3 { print $3 }' | sort -u) || return
	! comm -12 <(echo "$of_libt3") <(echo "$of_core") | sed 's/$/: a name of the core and of libt3/' | grep .
}

# Where a house has several rooms, each uses only those below it. tests/rooms.py tests this.
lint_rooms() {
	local lists list house objects status=0

	lint_files lists '*/rooms.txt'
	for list in "${lists[@]}"; do
		house=$(dirname "$list")
		objects=$T3_BUILD/native/$house
		[ "$house" != driver ] || objects=$T3_BUILD/module/driver
		[ "$house" != qemu-device ] || objects=$T3_BUILD/qemu/obj/$house
		python3 tests/lint/rooms.py "$house" "$objects" || status=1
	done
	names_of_both || status=1
	return $status
}

# Lengths of sentences, lines and READMEs, and the targets of links. tests/docs.py tests this.
# Each command that they show is run, or has a reason why not.
lint_docs() {
	local files status=0

	lint_files files '*.md'
	python3 tests/lint/docs.py "${files[@]}" || status=1
	# A shown command of which recipes.py knows nothing would be found only after minutes.
	tests/recipes.py --list >/dev/null || status=1
	return $status
}

# Each picture matches its source.
lint_pictures() {
	python3 tests/lint/pictures.py --check
}

# README's table of machines has what tests/machines.json has. tests/cells.py tests this.
lint_machines() {
	PYTHONPYCACHEPREFIX=$T3_BUILD/pycache tools/build/machines.py check
}

main() {
	local checker

	case ${1:-} in
	--list) echo "$CHECKERS"; exit ;;
	--format) lint_clang_format -i; exit ;;
	esac
	for checker in $CHECKERS; do
		if [ "${1:-}" = "$checker" ]; then
			"lint_${checker//-/_}"
			exit
		fi
	done
	die "usage: lint.sh CHECKER, one of: $CHECKERS"
}

main "$@"

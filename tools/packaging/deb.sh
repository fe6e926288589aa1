#!/bin/bash
# SPDX-License-Identifier: MIT
# Pack what is built here as Debian packages, in T3_BUILD/deb. The library and the tool are
# installed as `make install` does it; QEMU, the kernel and the guest's image are those that
# the tests run. Usage: deb.sh
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../build/common.sh"

PACKAGING=$T3_ROOT/tools/packaging
VERSION=$(cat "$PACKAGING/VERSION")
DEB=$T3_BUILD/deb
TREE=$DEB/build/t3-$VERSION
ROOT=$TREE/root

# Packages of different releases have different libraries below them, and so different versions.
debian_version() {
	echo "$VERSION-1~deb$(. /etc/os-release && echo "${VERSION_ID:?}")"
}

# Of CHANGELOG.md, whose form tests/dist.py checks.
debian_changelog() {
	awk -v full="$(debian_version)" '
		# An entry that is complete, in lines of less than 80 columns.
		function entry(    count, i, line, words) {
			count = split(text, words, " ")
			line = text ? "  *" : ""
			for (i = 1; i <= count; i++) {
				if (length(line " " words[i]) > 78) {
					print line
					line = "   "
				}
				line = line " " words[i]
			}
			if (text)
				print line
			text = ""
		}
		function finish() {
			entry()
			if (date)
				print "\n -- The T3 authors <t3@t3.invalid>  " date "\n"
		}
		/^## / {
			finish()
			split(substr($0, 4), head, ", ")
			command = "LC_ALL=C date -u -R -d " head[2]
			command | getline date
			close(command)
			print "t3 (" (releases++ ? head[1] "-1" : full) ") unstable; urgency=medium\n"
		}
		/^- / { entry(); text = substr($0, 3) }
		/^  / { text = text " " $0 }
		END { finish() }
	' "$PACKAGING/CHANGELOG.md"
}

# libt3.symbols as dpkg-gensymbols wants it: NAME@VERSION SINCE.
debian_symbols() {
	printf '%s\n' "libt3-check.so.0 libt3-0 #MINVER#" "* Build-Depends-Package: libt3-dev" \
		" t3_check_hooks@Base $VERSION" "libt3.so.0 libt3-0 #MINVER#" "* Build-Depends-Package: libt3-dev"
	awk '/^[^#]/ { print " " $0; split($1, part, "@")
			if (!(part[2] in since) || $2 < since[part[2]]) since[part[2]] = $2 }
		END { for (node in since) print " " node "@" node " " since[node] }' \
		"$T3_ROOT/tests/libt3/libt3.symbols" | LC_ALL=C sort
}

# The packages of the files that initramfs.sh takes from this machine.
guest_sources() {
	local files=() file

	mapfile -t files < <({
		command -v busybox
		LD_LIBRARY_PATH=$T3_BUILD ldd "$T3_BUILD/t3" "$T3_BUILD/libt3-check.so.0" |
			grep -o '/[^ ]*\.so[^ :]*' | grep -vF "$T3_BUILD/"
		ldconfig -p | sed -n 's/.*libdw\.so\.1 (libc6,x86-64) => //p'
	} | xargs realpath | sort -u)
	for file in "${files[@]}"; do
		dpkg-query -S "$file" "${file#/usr}" 2>/dev/null | sed -n 1p | cut -d: -f1
	done | sort -u | xargs dpkg-query -W -f '${source:Package} (= ${source:Version})\n'
}

kernel_source() {
	strings -n 30 "$T3_BUILD/kernel/vmlinux" |
		sed -n 's/.* SMP .* Debian \([^ ]*\) .*/linux (= \1)/p' | sort -u | sed -n 1p
}

qemu_source() {
	local entry

	entry=$(basename "$(readlink -f "$T3_BUILD/qemu/entry")")
	entry=${entry#qemu-}
	entry=${entry%-*}
	echo "qemu (= ${entry/_/:})"
}

joined() {
	sort -u | paste -sd, - | sed 's/,/, /g'
}

stage_library_and_tool() {
	make -C "$T3_ROOT" --no-print-directory T3_BUILD="$T3_BUILD" install DESTDIR="$ROOT" PREFIX=/usr \
		LIBDIR="/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)"
}

# dh_python3 compiles it for the Python of the machine.
stage_python() {
	local to=$ROOT/usr/lib/python3/dist-packages/t3

	mkdir -p "$to/torch" "$to/traces"
	install -m 644 "$T3_BUILD"/python/t3/*.py "$T3_BUILD/python/t3/py.typed" "$to/"
	install -m 644 "$T3_BUILD"/python/t3/torch/*.py "$to/torch/"
	install -m 644 "$T3_BUILD"/python/t3/traces/*.py "$to/traces/"
}

stage_driver() {
	"$T3_ROOT/tools/build/dkms.sh" "$ROOT"
	(cd "$TREE" && echo root/usr/src/t3-*/dkms.conf >debian/t3-dkms.dkms)
	# Debian's folder of licences has the text.
	rm -rf "$ROOT"/usr/src/t3-*/LICENSES
}

# QEMU looks for its firmware in qemu-bundle beside itself, wherever that is.
stage_qemu() {
	local to=$ROOT/usr/lib/qemu-system-t3 from=$T3_BUILD/qemu/qemu-bundle/usr/local/share/qemu
	local firmware=qemu-bundle/usr/local/share/qemu file

	install -D "$T3_BUILD/qemu/qemu-system-x86_64" "$to/qemu-system-x86_64"
	mkdir -p "$to/$firmware" "$ROOT/usr/bin"
	for file in "$from"/*.bin; do
		case $(readlink "$file") in
		/usr/share/seabios/*) ln -s "$(readlink "$file")" "$to/$firmware/" ;;
		*) install -m 644 "$file" "$to/$firmware/" ;;
		esac
	done
	ln -s ../lib/qemu-system-t3/qemu-system-x86_64 "$ROOT/usr/bin/qemu-system-t3"
	install -D -m 644 "$PACKAGING/qemu-system-t3.1" "$ROOT/usr/share/man/man1/qemu-system-t3.1"
}

# t3-vm takes its parts from the folder `guest` beside it, if there is one.
stage_vm() {
	local to=$ROOT/usr/lib/t3-vm file

	install -D "$T3_ROOT/tools/vm/t3-vm" "$to/t3-vm"
	install -m 644 "$T3_ROOT"/tools/vm/vm_*.py "$to/"
	mkdir -p "$to/guest/kernel"
	ln -s ../../qemu-system-t3 "$to/guest/qemu"
	for file in vmlinux release append memory; do
		[ ! -e "$T3_BUILD/kernel/$file" ] || install -m 644 "$T3_BUILD/kernel/$file" "$to/guest/kernel/"
	done
	install -D -m 644 -t "$to/guest/kernel/boot" "$T3_BUILD"/kernel/boot/config-*
	install -m 644 "$T3_BUILD/initramfs.img" "$to/guest/"
	ln -s ../lib/t3-vm/t3-vm "$ROOT/usr/bin/t3-vm"
	install -D -m 644 "$T3_ROOT/tools/vm/t3-vm.1" "$ROOT/usr/share/man/man1/t3-vm.1"
}

make_tree() {
	rm -rf "$DEB"
	mkdir -p "$ROOT"
	cp -r "$PACKAGING/debian" "$TREE/"
	cp "$T3_ROOT/tests/libt3/program.c" "$TREE/debian/tests/"
	debian_changelog >"$TREE/debian/changelog"
	debian_symbols >"$TREE/debian/libt3-0.symbols"
	stage_library_and_tool
	stage_python
	stage_driver
	stage_qemu
	stage_vm
	{
		echo "t3:QemuSource=$(qemu_source)"
		echo "t3:GuestSources=$({ kernel_source; guest_sources; } | joined)"
	} >"$ROOT/substvars"
}

# The built-in dependencies are compilers, and nothing is compiled here.
pack() {
	cd "$TREE"
	dpkg-buildpackage --build=binary --no-sign --ignore-builtin-builddeps
	mv ../*.deb ../*.changes ../*.buildinfo "$DEB/"
}

main() {
	[ $# -eq 0 ] || die "usage: deb.sh"
	umask 022
	stage deb-tree "collected what the packages hold" make_tree
	stage deb "packed $DEB/*.deb, version $(debian_version)" pack
}

# Its functions are tested apart.
[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@"

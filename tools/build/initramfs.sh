#!/bin/bash
# SPDX-License-Identifier: MIT
# Pack the guest's root. Usage: initramfs.sh base OUTPUT
#                               initramfs.sh image|mpi BASE OUTPUT [PROGRAM...]
#                               initramfs.sh tests IMAGE OUTPUT [PROGRAM...]
# The base is what an edit of our sources does not change: busybox, the kernel's modules,
# accounts, /init, and libraries of the host. An image is the base, and behind it, as the kernel
# unpacks one archive after the other, an archive of what is ours: t3.ko, the programs with their
# libraries; mpi: and of Open MPI, with ssh, which is as large as all of that. tests: an image, and
# behind it an archive of the tests' programs, and udev. No archive repeats a file of those before it:
# OUTPUT.sums has the sums of the files as they are when all of them are unpacked.
# Nothing is compressed: that would cost boot time, and QEMU loads it at once.
set -euo pipefail
. "$(dirname "$0")/common.sh"

# Modules that the driver's code or its debug variants may load by name, that give a device to a
# program, that share buffers, that mount folders of the host, also as a root with a layer in memory,
# that connect nodes, and that drive an IOMMU of a bring-up machine.
EXTRA_MODULES="drm drm_buddy drm_exec gpu-sched drm_shmem_helper vfio-pci vfio_iommu_type1 vgem
9p 9pnet_virtio overlay virtio_net virtio_iommu"

# modules_needed DIR NAME...: print the files of the named modules and of all that they depend on. A
# module that is built into the kernel has none.
modules_needed() {
	local dep=$1/modules.dep builtin=$1/modules.builtin name

	shift
	printf '%s\n' "$@" | sed '/^$/d; s/[-_]/[-_]/g' | while read -r name; do
		grep -E "/$name\.ko(\.xz|\.zst)?:" "$dep" | tr -d ':' | tr ' ' '\n' ||
			grep -qE "/$name\.ko$" "$builtin" || die "the kernel has no module $name"
	done | sort -u
}

# add_modules ROOT NAME...: add the kernel's modules, except those that are there.
add_modules() {
	local root=$1 from=$T3_GUEST/kernel/lib/modules/$RELEASE to=$1/lib/modules/$RELEASE
	local file name

	shift
	mkdir -p "$to"
	modules_needed "$from" "$@" | while read -r file; do
		name=${file##*/}
		name=${name%%.ko*}.ko
		[ -n "$file" ] && [ ! -e "$to/$name" ] || continue
		case $file in
		*.xz) xz -dc "$from/$file" >"$to/$name" ;;
		*.zst) zstd -qdc "$from/$file" >"$to/$name" ;;
		*) cp "$from/$file" "$to/" ;;
		esac
	done
}

# In the base without t3.ko, and again in an image, where the base's modules are beside it.
index_modules() {
	cp "$T3_GUEST/kernel/lib/modules/$RELEASE"/modules.{order,builtin,builtin.modinfo} \
		"$1/lib/modules/$RELEASE/"
	depmod -b "$1" "$RELEASE"
}

add_driver() {
	local root=$1 base=$2 to=$1/lib/modules/$RELEASE module=$T3_GUEST/module/t3.ko file
	local needed=()

	[ -e "$module" ] || return 0
	mapfile -t needed < <(modinfo -F depends "$module" | tr ',' '\n')
	cp -r "$base/modules" "$root/usr/lib/"
	add_modules "$root" "${needed[@]}"
	"${CROSS}strip" --strip-debug -o "$to/t3.ko" "$module"
	index_modules "$root"
	for file in "$base/modules/$RELEASE"/*.ko; do
		rm "$to/${file##*/}"
	done
}

# libraries_of FILE...: our shared library from .build. ldd finds all others.
libraries_of() {
	LD_LIBRARY_PATH=$T3_BUILD ldd "$@" | grep -o '/[^ ]*\.so[^ ]*' | grep -v ':$' | sort -u
}

# Programs of another processor have theirs, and its loader, in a tree of its own.
if [ -n "$CROSS" ]; then
	SYSROOT=$T3_BUILD/sysroot
	libraries_of() {
		local seen=" " queue=("$@") name lib

		while [ ${#queue[@]} -gt 0 ]; do
			while read -r name; do
				case $seen in *" $name "*) continue ;; esac
				seen+="$name "
				lib=$(find_library "$name")
				echo "$lib"
				queue+=("$lib")
			done < <("${CROSS}readelf" -d "${queue[0]}" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
			queue=("${queue[@]:1}")
		done
	}
fi

find_library() {
	local dir

	for dir in "$T3_BUILD" "$SYSROOT"/usr/lib "$SYSROOT"/usr/lib/*-linux-gnu; do
		[ ! -e "$dir/$1" ] || { echo "$dir/$1" && return; }
	done
	die "there is no $1 for $T3_ARCH in $SYSROOT"
}

# A path in the guest is that of this machine, or of the other processor's tree.
add_libraries() {
	local root=$1 lib to

	libraries_of "${@:2}" | while read -r lib; do
		to=${lib#"${SYSROOT:-}"}
		case $lib in
		"${SYSROOT:-none}"/*) ;;
		"$T3_BUILD"/*) to=/usr/lib/${lib##*/} ;;
		esac
		mkdir -p "$root${to%/*}" && cp -L "$lib" "$root$to"
	done
}

# add_program ROOT DIR FILE: add it without its debug information.
add_program() {
	mkdir -p "$1$2"
	"${CROSS}strip" -g -o "$1$2/${3##*/}" "$3"
}

# Tests go to a folder of their own. Those of 32 bits are static, and need a kernel that runs them.
add_programs() {
	local root=$1 program linked=()

	shift
	for program; do
		case $program in
		"$T3_BUILD"/guest32/*)
			grep -q '^CONFIG_IA32_EMULATION=y' "$T3_GUEST"/kernel/boot/config-* ||
				die "the guest's kernel runs no 32-bit program (CONFIG_IA32_EMULATION)"
			add_program "$root" /usr/lib/t3/tests "$program"
			continue
			;;
		"$T3_BUILD"/guest/*) add_program "$root" /usr/lib/t3/tests "$program" ;;
		*) add_program "$root" /usr/bin "$program" ;;
		esac
		linked+=("$program")
	done
	[ ${#linked[@]} -eq 0 ] || add_libraries "$root" "${linked[@]}"
}

# The checker that libt3 loads for T3_DEBUG=check, beside libt3.
add_checker() {
	local root=$1 checker=$T3_BUILD/libt3-check.so.0

	[ -e "$checker" ] || return 0
	"${CROSS}strip" -g -o "$root/usr/lib/${checker##*/}" "$checker"
	add_libraries "$root" "$checker"
}

# What a compiler needs, for a root of the host, where it is below /run/t3.
add_development() {
	local own=$1/usr/lib/t3/own version file

	version=$(cat "$T3_ROOT/tools/packaging/VERSION")
	mkdir -p "$own/include/t3" "$own/lib/pkgconfig" "$own/lib/cmake/t3"
	cp "$T3_ROOT"/libt3/t3*.h "$T3_ROOT"/uapi/t3_*.h "$own/include/t3/"
	ln -s libt3.so.0 "$own/lib/libt3.so"
	sed -e 's|@PREFIX@|/run/t3|; s|@LIBDIR@|${prefix}/lib|; s|@INCLUDEDIR@|${prefix}/include|' \
		-e "s|@VERSION@|$version|" "$T3_ROOT/libt3/libt3.pc.in" \
		>"$own/lib/pkgconfig/libt3.pc"
	for file in t3-config t3-config-version; do
		sed -e 's|@INCLUDES@|../../../include/t3|' -e "s|@VERSION@|$version|" \
			"$T3_ROOT/libt3/$file.cmake.in" >"$own/lib/cmake/t3/$file.cmake"
	done
}

# udev with our rule alone, for the tests to start.
add_udev() {
	local root=$1 udevadm

	udevadm=$([ -z "$CROSS" ] && command -v udevadm || echo "$SYSROOT/usr/bin/udevadm")
	mkdir -p "$root"/usr/lib/{systemd,udev/rules.d}
	cp "$udevadm" "$root/usr/bin/udevadm"
	ln -s ../../bin/udevadm "$root/usr/lib/systemd/systemd-udevd"
	cp "$T3_ROOT/driver/60-t3.rules" "$root/usr/lib/udev/rules.d/"
	add_libraries "$root" "$udevadm"
}

# host_library NAME: its path, or nothing. NAME is a regular expression.
host_library() {
	local found

	if [ -n "$CROSS" ]; then
		find_library "$1"
	else
		found=$(PATH=$PATH:/sbin ldconfig -p | sed -n "s/.*\b$1 (libc6,x86-64) => //p")
		echo "${found%%$'\n'*}"
	fi
}

# The library that the checker loads by its name, for the lines of a program's stores.
add_libdw() {
	local root=$1 lib

	lib=$(host_library libdw.so.1)
	[ -n "$lib" ] || die "there is no libdw.so.1: install libdw-dev"
	mkdir -p "$root/usr/lib"
	cp -L "$lib" "$root/usr/lib/"
	add_libraries "$root" "$lib"
}

# What our programs are likely to need, so that it need not come behind the base. Others come there.
add_common_libraries() {
	local root=$1 name lib

	# libstdc++ is for C++ programs of the shared folder: 2 of the base's 20 MB.
	for name in libdrm.so.2 libpci.so.3 libncurses.so.6 libjansson.so.4 libcmocka.so.0 libgcc_s.so.1 libstdc++.so.6 \
		libkmod.so.2 libblkid.so.1 libselinux.so.1; do
		lib=$(host_library "$name")
		[ -n "$lib" ] || continue
		mkdir -p "$root${lib%/*}"
		cp -L "$lib" "$root$lib"
		add_libraries "$root" "$lib"
	done
}

# The terminals of a guest's shell, for t3 top.
add_terminals() {
	local root=$1 name from to=$1/lib/terminfo

	for name in ansi dumb linux screen screen-256color tmux-256color vt100 vt102 vt220 xterm \
		xterm-256color; do
		from=/lib/terminfo/${name:0:1}/$name
		[ -e "$from" ] || from=/usr/share/terminfo/${name:0:1}/$name
		[ -e "$from" ] || die "there is no terminfo of $name: install ncurses-base"
		mkdir -p "$to/${name:0:1}"
		cp -L "$from" "$to/${name:0:1}/"
	done
}

add_busybox() {
	local root=$1 applet busybox

	# The same release's, so it has the same applets.
	busybox=$(command -v busybox)
	mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,etc,proc,sys,dev,tmp,run,root}
	cp "$([ -z "$CROSS" ] && echo "$busybox" || echo "$SYSROOT/usr/bin/busybox")" "$root/bin/busybox"
	"$busybox" --list-full | while read -r applet; do
		[ -e "$root/$applet" ] || ln -s /bin/busybox "$root/$applet"
	done
}

add_accounts() {
	local etc=$1/etc

	cat >"$etc/passwd" <<-'PASSWD'
		root:x:0:0:root:/root:/bin/sh
		user:x:1000:1000:unprivileged, in group render:/tmp:/bin/sh
		nobody:x:65534:65534:unprivileged:/tmp:/bin/sh
	PASSWD
	cat >"$etc/group" <<-'GROUP'
		root:x:0:
		tty:x:5:
		render:x:105:user
		user:x:1000:
		nogroup:x:65534:
	GROUP
	echo t3-guest >"$etc/hostname"
	echo 'LD_LIBRARY_PATH is not needed: libraries are in /usr/lib' >"$etc/motd"
}

# What init mounts at once, in this order.
add_mounts() {
	cat >"$1/etc/fstab" <<-'FSTAB'
		proc /proc proc defaults 0 0
		sys /sys sysfs defaults 0 0
		tmp /dev/shm tmpfs mode=1777 0 0
		tmp /tmp tmpfs mode=1777 0 0
		run /run tmpfs defaults 0 0
		pts /dev/pts devpts gid=5,mode=620 0 0
	FSTAB
}

# The links of /dev that udev makes on a machine, for init to copy.
add_streams() {
	local to=$1/usr/lib/t3/dev

	mkdir -p "$to"
	ln -s /proc/self/fd "$to/fd"
	ln -s fd/0 "$to/stdin"
	ln -s fd/1 "$to/stdout"
	ln -s fd/2 "$to/stderr"
}

# Debian merges /usr, but the loader's path must still work.
new_root() {
	local root

	root=$(mktemp -d "$T3_BUILD/initramfs.XXXXXX")
	chmod 755 "$root"
	mkdir -p "$root"/usr/{bin,sbin,lib,lib64}
	ln -s usr/bin "$root/bin"
	ln -s usr/sbin "$root/sbin"
	ln -s usr/lib "$root/lib"
	ln -s usr/lib64 "$root/lib64"
	echo "$root"
}

archive() {
	(cd "$1" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0)
}

# Ours of Open MPI's components, where Open MPI looks for them.
add_component() {
	local root=$1 component=$T3_BUILD/mca_coll_t3.so place

	[ -e "$component" ] || return 0
	place=$(ompi_info --path pkglibdir --parsable | sed -n 's/^path:pkglibdir://p')
	[ -n "$place" ] || die "ompi_info does not say where Open MPI's components are"
	mkdir -p "$root$place"
	"${CROSS}strip" -g -o "$root$place/${component##*/}" "$component"
}

# Open MPI: all files of its packages that a running program needs, and their dependencies. Names
# and plugins differ by release, but the names of the packages begin alike.
add_mpi() {
	local root=$1 file files=() objects=()

	mapfile -t files < <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 'openmpi-*' 'libopenmpi*' \
		'libpmix*' 'prrte*' 'libprrte*' 2>/dev/null | sed -n 's/^ii *//p' |
		grep -v -e '-dev$' -e '-doc$' | xargs dpkg -L | sort -u |
		grep -e '^/usr/bin/\(mpirun\|orterun\|orted\|prte\)' -e '^/usr/lib/' -e '^/etc/' -e '^/usr/share/\(openmpi\|pmix\|prte\)' |
		grep -v -e '/include/' -e '\.a$' -e '\.la$')
	for file in "${files[@]}"; do
		[ -f "$file" ] || continue
		mkdir -p "$root${file%/*}"
		cp -L "$file" "$root$file"
		case $file in */mpirun* | *.so*) objects+=("$file") ;; esac
	done
	# Parts of libc that are empty now, but that older programs of the host name.
	mapfile -O ${#objects[@]} -t objects < <(dpkg -L libc6 | grep '/lib\(pthread\|dl\|rt\|util\)\.so\.[0-9]')
	for file in "${objects[@]}"; do
		[ -e "$root$file" ] || cp -L "$file" "$root$file"
	done
	add_component "$root"
	[ -x "$root/usr/bin/mpirun.openmpi" ] || die "there is no mpirun among the files of Open MPI"
	install -m 755 "$T3_ROOT/tools/vm/image/mpirun" "$root/usr/bin/mpirun"
	add_libraries "$root" "${objects[@]}"
	add_ssh "$root"
}

# ssh between the nodes of a cluster, by which mpirun starts processes there. The key of the hosts is
# root's, too, and each image has its own: who has root in one of the VMs has it in all.
add_ssh() {
	local root=$1 key=$1/etc/dropbear/key node programs=(/usr/sbin/dropbear /usr/bin/dbclient)

	mkdir -p "$root"/{etc/dropbear,root/.ssh,usr/sbin}
	dropbearkey -t ed25519 -f "$key" >/dev/null 2>&1
	ln -s /etc/dropbear/key "$root/root/.ssh/id_dropbear"
	dropbearkey -y -f "$key" | sed -n 's/^\(ssh-[^ ]* [^ ]*\).*/\1/p' >"$root/root/.ssh/authorized_keys"
	for node in $(seq 0 31); do
		echo "node$node $(cat "$root/root/.ssh/authorized_keys")"
	done >"$root/root/.ssh/known_hosts"
	chmod -R go= "$root/root" "$key"
	cp /usr/sbin/dropbear "$root/usr/sbin/"
	cp /usr/bin/dbclient "$root/usr/bin/"
	ln -s dbclient "$root/usr/bin/ssh"
	add_libraries "$root" "${programs[@]}"
}

# The modules stay, because depmod reads them when an image is packed.
pack_base() {
	local output=$1 root modules=$1.modules

	root=$(new_root)
	add_busybox "$root"
	# shellcheck disable=SC2086 # one word per module
	add_modules "$root" $EXTRA_MODULES
	index_modules "$root"
	add_libdw "$root"
	[ -n "$CROSS" ] || add_common_libraries "$root"
	add_terminals "$root"
	add_accounts "$root"
	add_mounts "$root"
	add_streams "$root"
	install -m 755 "$T3_ROOT/tools/vm/image/init" "$root/init"
	install -m 755 "$T3_ROOT/tools/vm/image/guest-batch" "$root/usr/bin/guest-batch"
	install -m 755 "$T3_ROOT/tools/vm/image/guest-root" "$root/usr/bin/guest-root"
	install -m 755 "$T3_ROOT/tools/vm/image/keep-core" "$root/usr/sbin/keep-core"
	mkdir -p "$root/mnt/keep"
	mkdir "$root/rest" # the sign that this init can wait for it
	rm -rf "$modules"
	mkdir -p "$modules"
	cp -r "$root/usr/lib/modules" "$modules/"
	pack_behind "" "$output" "$root"
}

# sums_of ROOT: the sum and path of each file.
sums_of() {
	(cd "$1" && find . -type f -exec sha256sum {} + | LC_ALL=C sort)
}

# pack_behind IMAGE OUTPUT ROOT: append the archive of ROOT to the IMAGE, if there is one, and remove
# ROOT.
pack_behind() {
	local image=$1 output=$2 root=$3 sums=${1:+$1.sums}

	sums=${sums:-/dev/null}
	sums_of "$root" | LC_ALL=C comm -12 - "$sums" | cut -c67- | (cd "$root" && xargs -r -d '\n' rm)
	{ sums_of "$root" && cat "$sums"; } | awk '!seen[substr($0, 67)]++' | LC_ALL=C sort >"$output.sums.new"
	archive "$root" | cat ${image:+"$image"} - >"$output.new"
	mv "$output.sums.new" "$output.sums"
	mv "$output.new" "$output"
	rm -rf "$root"
}

pack_image() {
	local more=$1 base=$2 output=$3 root

	shift 3
	root=$(new_root)
	add_driver "$root" "$base.modules"
	add_programs "$root" "$@"
	add_checker "$root"
	add_development "$root"
	"$more" "$root"
	pack_behind "$base" "$output" "$root"
}

pack_tests() {
	local image=$1 output=$2 root

	shift 2
	root=$(new_root)
	add_programs "$root" "$@"
	add_udev "$root"
	pack_behind "$image" "$output" "$root"
}

main() {
	[ $# -ge 2 ] ||
		die "usage: initramfs.sh base OUTPUT | image|mpi BASE OUTPUT [PROGRAM...] |" \
			"tests IMAGE OUTPUT [PROGRAM...]"
	RELEASE=$(cat "$T3_GUEST/kernel/release")
	case $1 in
	base) stage initramfs-base "packed ${2##*/}" pack_base "$2" ;;
	image) pack=${3##*/} && stage "${pack%.img}" "packed $pack" pack_image : "${@:2}" ;;
	tests) pack=${3##*/} && stage "${pack%.img}" "packed $pack" pack_tests "${@:2}" ;;
	mpi) pack=${3##*/} && stage "${pack%.img}" "packed $pack" pack_image add_mpi "${@:2}" ;;
	*) die "no '$1' to pack" ;;
	esac
}

main "$@"

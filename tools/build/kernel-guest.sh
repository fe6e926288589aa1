# SPDX-License-Identifier: MIT
# Build a guest's kernel from Debian's linux-source-6.12 (tinyconfig, kernel-guest.config and a
# fragment of its own) in the cache. Links the result as `kernel` in T3_GUEST, with the same members
# as kernel.sh's, and `append` and `memory` for t3-vm. Source it after kernel-source.sh and what that needs,
# set NAME, IMAGE, APPEND and MEMORY, and call build_kernel_entry.
# The callers have set -e.
# shellcheck shell=bash disable=SC2164

# fragments NAME: what is configured, common facts first.
fragments() {
	echo "$T3_ROOT/tools/build/kernel-guest.config" "$T3_ROOT/tools/build/$1.config"
}

fetch_source() {
	unpack_source linux-source-6.12 "$1/source"
}

# Kconfig silently drops a line whose dependencies are not met.
check_config() {
	local line name

	cat "$@" | grep '^CONFIG_' | while read -r line; do
		name=${line%%=*}
		case $line in
		*=n) ! grep -q "^$name=" .config ;;
		*) grep -qxF -- "$line" .config ;;
		esac || die "this kernel's configuration did not take $line"
	done
}

# configure_kernel FRAGMENT...
configure_kernel() {
	make -s "${KERNEL_MAKE[@]}" tinyconfig
	scripts/kconfig/merge_config.sh -m .config "$@"
	make -s "${KERNEL_MAKE[@]}" olddefconfig
	check_config "$@"
}

build_kernel() {
	local root=$1 release make=(make "${KERNEL_MAKE[@]}")

	cd "$root/source"
	# shellcheck disable=SC2046 # a word for each
	configure_kernel $(fragments "$NAME")
	"${make[@]}" -j "$T3_JOBS" "${IMAGE##*/}" modules
	"${make[@]}" -s modules_install INSTALL_MOD_PATH="$root"
	release=$("${make[@]}" -s kernelrelease)
	ln -sfn ../../../source "$root/lib/modules/$release/build"
	mkdir -p "$root/boot"
	cp .config "$root/boot/config-$release"
	"${CROSS}strip" -g -o "$root/vmlinux" vmlinux
	[ "$IMAGE" = vmlinux ] || cp "$IMAGE" "$root/"
	echo "$release" >"$root/release"
	[ -z "$APPEND" ] || echo "$APPEND" >"$root/append"
	[ -z "$MEMORY" ] || echo "$MEMORY" >"$root/memory"
}

# A build that was stopped continues: the source stays, and make knows the rest.
continue_entry() {
	local dir=$1 version=$2

	if [ ! -e "$dir/.fetched" ]; then
		rm -rf "$dir"
		mkdir -p "$dir"
		stage "$NAME-fetch" "fetched and unpacked linux-source-6.12 $version" fetch_source "$dir"
		touch "$dir/.fetched"
	fi
	stage "$NAME-build" "built ${NAME//-/ }'s Linux (once)" build_kernel "$dir"
	touch "$dir/.complete"
}

new_entry() {
	local version dir

	dir=$(begun_entry "$NAME" "$1")
	if [ -n "$dir" ]; then
		echo "[$NAME] goes on with a build that was stopped"
		continue_entry "$dir" ""
		return
	fi
	stage "$NAME-lists" "refreshed package lists" apt_setup
	version=$(source_candidate linux-source-6.12)
	[ -n "$version" ] || die "the mirror has no linux-source-6.12"
	continue_entry "$T3_CACHE/$NAME-$version-$1" "$version"
}

build_kernel_entry() {
	local key entry

	# shellcheck disable=SC2046 # a word for each
	key=$(cache_key "$(declare -f fetch_source unpack_source configure_kernel build_kernel)" \
		"${KERNEL_MAKE[*]} $IMAGE $APPEND $MEMORY" "$(cat $(fragments "$NAME"))")
	lock_cache "$NAME"
	entry=$(newest_entry "$NAME" "$key")
	if [ -z "$entry" ]; then
		new_entry "$key"
		entry=$(newest_entry "$NAME" "$key")
	fi
	link_if_changed "$entry" "$T3_GUEST/kernel" || true
	echo "${entry##*/}" | write_if_changed "$T3_GUEST/kernel.stamp"
}

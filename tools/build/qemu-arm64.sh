# SPDX-License-Identifier: MIT
# What is different in a QEMU that emulates an arm64 machine, `virt`: program, device list, and no
# firmware, as that machine starts a kernel without any. Source it after qemu.sh's own functions.
# Its names are used there, which has set -e.
# shellcheck shell=bash disable=SC2034,SC2164

PROGRAM=qemu-system-aarch64
CONFIGURE=(
	--target-list=aarch64-softmmu --without-default-features
	--without-default-devices --with-devices-aarch64=t3
	--enable-tcg --enable-membarrier --enable-fdt=system --enable-pixman
	--enable-attr --enable-virtfs --enable-trace-backends=log
	--disable-docs --disable-download --disable-install-blobs --disable-debug-info
	"--extra-cflags=-pthread -Wno-invalid-pch" # see precompile_header
)

qemu_devices() {
	cat >"$1/configs/devices/aarch64-softmmu/t3.mak" <<-'DEVICES'
		CONFIG_ARM_VIRT=y
		CONFIG_PCIE_PORT=y
		CONFIG_PCI_BRIDGE=y
		CONFIG_XIO3130=y
		CONFIG_SERIAL_PCI=y
		CONFIG_SERIAL_PCI_MULTI=y
		CONFIG_VIRTIO_PCI=y
		CONFIG_VIRTIO_9P=y
		CONFIG_IVSHMEM_DEVICE=y
		CONFIG_EDU=y
		CONFIG_PCI_TESTDEV=y
	DEVICES
}

configure_qemu() {
	local dir=$1

	rm -rf "$dir/meson" "$dir/venv"
	make_meson_venv "$dir"
	mkdir -p "$dir/build"
	cd "$dir/build"
	../source/configure --python="$dir/venv/bin/python3" "${CONFIGURE[@]}"
	precompile_header "$(listed_target lib{common,system}.a.p/hw_pci_pci.c.o)" \
		libqemu-aarch64-softmmu.a.p/target_arm_cpu64.c.o
}

add_firmware() {
	:
}

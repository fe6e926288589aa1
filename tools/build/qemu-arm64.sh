# SPDX-License-Identifier: MIT
# What is different in a QEMU that emulates an arm64 machine, `virt`: the device list, and no firmware,
# as that machine starts a kernel without any. Source it after qemu.sh's own functions.
# shellcheck shell=bash

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
		CONFIG_VIRTIO_NET=y
		CONFIG_IVSHMEM_DEVICE=y
		CONFIG_EDU=y
		CONFIG_PCI_TESTDEV=y
	DEVICES
}

add_firmware() {
	:
}

# SPDX-License-Identifier: MIT
# What an unpacked QEMU tree gets before it is built: mends of its own faults, the fabric's
# line in its schema, and two places for files of ours (qemu_places). The device is not
# built there: several clones share this tree. qemu-device.py compiles and links it, in
# each clone, as QEMU's build compiles and links what stands at those places.
# Source it after common.sh.
# shellcheck shell=bash

# insert_after FILE FIXED-LINE NEW-LINE
insert_after() {
	grep -qxF -- "$2" "$1" || die "$1 has no line '$2': this QEMU is not supported"
	L=$2 N=$3 awk '{ print } $0 == ENVIRON["L"] && !done { print ENVIRON["N"]; done = 1 }' \
		"$1" >"$1.new"
	mv "$1.new" "$1"
}

# replace_in FILE COUNT OLD NEW: OLD has to occur in exactly COUNT lines.
replace_in() {
	[ "$(grep -cF -- "$3" "$1")" = "$2" ] ||
		die "$1 has not $2 lines with '$3': this QEMU is not supported"
	O=$3 N=$4 awk '{ at = index($0, ENVIRON["O"]) }
		at { $0 = substr($0, 1, at - 1) ENVIRON["N"] substr($0, at + length(ENVIRON["O"])) }
		{ print }' "$1" >"$1.new"
	mv "$1.new" "$1"
}

# A TLB entry of QEMU 10.0 names its memory section by an index, which is looked up in
# the newest memory map although the entry was made from an older one: while one vCPU
# or the monitor moves a BAR, another vCPU's access aborts QEMU ("iotlb_to_section:
# Assertion") or goes to a wrong device. With the pointer in the entry, the access goes
# where the entry was made for. The section lives as long as the entry: RCU keeps the
# old map until the vCPU leaves cpu_exec(), and it flushes its TLB before it returns.
qemu_tlb_sections() {
	insert_after "$1/include/hw/core/cpu.h" "    hwaddr xlat_section;" \
		"    struct MemoryRegionSection *section;"
	insert_after "$1/accel/tcg/cputlb.c" "    full->xlat_section = iotlb - addr_page;" \
		"    full->section = section;"
	replace_in "$1/accel/tcg/cputlb.c" 1 "io_prepare(hwaddr *out_offset, CPUState *cpu, hwaddr xlat," \
		"io_prepare(hwaddr *out_offset, CPUState *cpu, const CPUTLBEntryFull *full,"
	replace_in "$1/accel/tcg/cputlb.c" 1 "section = iotlb_to_section(cpu, xlat, attrs);" \
		"section = full->section;"
	replace_in "$1/accel/tcg/cputlb.c" 1 "mr_offset = (xlat & TARGET_PAGE_MASK) + addr;" \
		"mr_offset = (full->xlat_section & TARGET_PAGE_MASK) + addr;"
	replace_in "$1/accel/tcg/cputlb.c" 4 "io_prepare(&mr_offset, cpu, full->xlat_section, attrs," \
		"io_prepare(&mr_offset, cpu, full, attrs,"
	replace_in "$1/accel/tcg/cputlb.c" 1 "iotlb_to_section(cpu, full->xlat_section & ~TARGET_PAGE_MASK," \
		"full->section;"
	replace_in "$1/accel/tcg/cputlb.c" 1 "                             full->attrs);" ""
}

# -object takes only what the QAPI schema lists; a property added to t3-fabric for
# the command line is added here too.
qapi_fabric() {
	cat <<-'QAPI'

		##
		# @T3FabricProperties:
		#
		# Properties for t3-fabric objects.
		#
		# @topology: ring or full
		#
		# @ranks: number of devices
		#
		# @timed: the guest may run the timed model, which takes memory and
		#     time of the host (default: off)
		#
		# @inject: faults to inject, see SPEC.md section 12
		#
		# @record: file that takes a record of what crosses the core's
		#     interface
		#
		# Since: 10.0
		##
		{ 'struct': 'T3FabricProperties',
		  'data': { '*topology': 'str', '*ranks': 'uint32',
		            '*timed': 'bool', '*inject': 'str', '*record': 'str' } }
	QAPI
}

# Like the device and its qtest program, but with nothing in them.
qemu_places() {
	mkdir -p "$1/hw/t3" "$1/tests/qtest/t3"
	echo 'int main(void) { return 0; }' >"$1/tests/qtest/t3/place.c"
	: >"$1/hw/t3/place.c"
	cat >"$1/hw/t3/meson.build" <<-'MESON'
		t3_place = static_library('t3place', files('place.c') + genh,
		  c_args: ['-Werror', '-g', '-ffp-contract=off'], dependencies: [glib, pixman],
		  build_by_default: false)
		system_ss.add(declare_dependency(objects: t3_place.extract_all_objects(recursive: false)))
	MESON
	cat >"$1/tests/qtest/t3/meson.build" <<-'MESON'
		executable('t3-qtest', files('place.c'), c_args: ['-Werror', '-g'],
		  dependencies: [qemuutil, qos], build_by_default: false)
	MESON
}

# Applied once, to a freshly unpacked source.
qemu_hooks() {
	insert_after "$1/qapi/qom.json" "    'can-bus'," "    't3-fabric',"
	insert_after "$1/qapi/qom.json" \
		"      'authz-simple':               'AuthZSimpleProperties'," \
		"      't3-fabric':                  'T3FabricProperties',"
	qapi_fabric >>"$1/qapi/qom.json"
	insert_after "$1/hw/meson.build" "subdir('9pfs')" "subdir('t3')"
	echo "subdir('t3')" >>"$1/tests/qtest/meson.build"
	qemu_places "$1"
	qemu_tlb_sections "$1"
}

# SPDX-License-Identifier: MIT
# What an unpacked QEMU tree gets before it is built: mends of its own faults, the fabric's
# line in its schema, and two places for files of ours (qemu_places). The device is not
# built there: several clones share this tree. qemu-device.py compiles and links it, in
# each clone, as QEMU's build compiles and links what stands at those places.
# QEMU_HOOKS says for which versions each hook is. One that differs between them says so, and looks at
# the source. Each refuses a source that has not the lines that it changes.
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

# remove_after FILE LINE NEXT: the one line NEXT that follows LINE.
remove_after() {
	[ "$(grep -xF -A 1 -- "$2" "$1" | grep -cxF -- "$3")" = 1 ] ||
		die "$1 has no line '$3' after '$2': this QEMU is not supported"
	L=$2 N=$3 awk '!(before == ENVIRON["L"] && $0 == ENVIRON["N"]) { print } { before = $0 }' \
		"$1" >"$1.new"
	mv "$1.new" "$1"
}

# A TLB entry of QEMU 10.0 to 10.2 names its memory section by an index, which is looked up in
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

# A vCPU of QEMU 10.0 to 10.2 can go on executing a translation of bytes that another vCPU has
# replaced: the guest's kernel then dies of an int3 that it has long removed ("int3: 0000",
# one boot in hundreds with several vCPUs on a busy host). There are three windows, and a
# host that takes the processor away in one of them makes it wide:
# 1. tb_gen_code() reads a page's code first and write-protects the page afterwards, in
#    tb_page_add(), if this is its first block. A store in between is not noticed. The page
#    is protected as soon as it is locked, before anything of it is read.
# 2. notdirty_write() drops the blocks of the bytes to be written and unlocks the page, and
#    only then the bytes are written. A vCPU that translates them again in between reads
#    the old ones. The blocks are dropped again after the store, if the page has any.
# 3. tlb_set_page_full() judges a page dirty before it takes the lock under which
#    tlb_reset_dirty() visits the entries. Protection in between misses the new entry. It
#    judges again under the lock.
# Left alone: the few host instructions between the check and the store of a fast-path
# access, and atomic operations on code.
qemu_code_protection() {
	local tlb=$1/accel/tcg/cputlb.c tb=$1/accel/tcg/tb-maint.c

	replace_in "$tb" 1 "void tb_lock_page0(tb_page_addr_t paddr)" "$(protect_before_reading)"
	replace_in "$tb" 1 "    page_lock(page_find_alloc(paddr >> TARGET_PAGE_BITS, true));" \
		"    PageDesc *pd = page_find_alloc(paddr >> TARGET_PAGE_BITS, true);

    page_lock(pd);
    page_protect_code(pd, paddr);"
	insert_after "$tb" "        page_lock(pd1);" "        page_protect_code(pd1, paddr1);"
	insert_after "$tb" "    if (!page_trylock(pd1)) {" "        page_protect_code(pd1, paddr1);"
	insert_after "$tb" "    page_lock(pd0);" "    page_protect_code(pd1, paddr1);
    page_protect_code(pd0, paddr0);"
	remove_after "$tlb" "        notdirty_write(cpu, addr, size, full, ra);" \
		"        flags &= ~TLB_NOTDIRTY;"
	replace_in "$tlb" 1 " * mmu_lookup: translate page(s)" "$(drop_after_store "$1")"
	replace_in "$tlb" 5 "mmu_lookup(cpu, addr, oi, ra, MMU_DATA_STORE, &l);" \
		"mmu_lookup(cpu, addr, oi, ra, MMU_DATA_STORE, &l);
    __attribute__((cleanup(mmu_stored))) MMULookupLocals *stored = &l;"
	insert_after "$tlb" "    tlb->c.dirty |= 1 << mmu_idx;" "$(judge_under_lock "$1")"
}

protect_before_reading() {
	cat <<-'C'
		/* Before its code is read: from here on each store to the page waits for the lock. */
		static void page_protect_code(PageDesc *pd, tb_page_addr_t paddr)
		{
		    if (!pd->first_tb) {
		        tlb_protect_code(paddr & TARGET_PAGE_MASK);
		    }
		}

		void tb_lock_page0(tb_page_addr_t paddr)
	C
}

# Names of QEMU's memory functions begin so: up to 10.1 with cpu_, from 10.2 on without.
memory_prefix() {
	if [ -e "$1/include/system/physmem.h" ]; then echo physical_memory; else echo cpu_physical_memory; fi
}

# From 10.2 on the function that drops blocks is told which vCPU asks.
asking_cpu() {
	! grep -qF "tb_invalidate_phys_range_fast(CPUState *" "$1/accel/tcg/tb-internal.h" ||
		echo "current_cpu, "
}

# It stands before a comment's second line.
drop_after_store() {
	local memory cpu

	memory=$(memory_prefix "$1")
	cpu=$(asking_cpu "$1")
	cat <<-C
		 * mmu_stored: the bytes are written
		 *
		 * Another vCPU may have translated the old ones since notdirty_write().
		 */
		static void mmu_stored(MMULookupLocals **l)
		{
		    for (int i = 0; i < 2; i++) {
		        MMULookupPageData *data = &(*l)->page[i];

		        if (data->size && (data->flags & TLB_NOTDIRTY)) {
		            ram_addr_t ram_addr = data->addr + data->full->xlat_section;

		            /* Pairs with the page's protection before its code is read. */
		            smp_mb();
		            if (!${memory}_get_dirty_flag(ram_addr, DIRTY_MEMORY_CODE)) {
		                tb_invalidate_phys_range_fast(${cpu}ram_addr, data->size, 0);
		            }
		        }
		    }
		}

		/**
		 * mmu_lookup: translate page(s)
	C
}

judge_under_lock() {
	cat <<-C

		    /* Again, under the lock of tlb_reset_dirty(): no page turns clean unseen. */
		    if (is_ram && (prot & PAGE_WRITE) && !section->readonly &&
		        $(memory_prefix "$1")_is_clean(iotlb)) {
		        write_flags |= TLB_NOTDIRTY;
		    }
	C
}

# A store to a device leaves the translated block, is looked up and runs again as the last
# instruction of a block of its own, and takes the big lock: nine tenths of what a tracked store
# costs. Only a clock that counts instructions needs the first, and our device neither. A memory
# region may have a function, direct_store, that a vCPU calls at once, without the lock. A store that
# is misaligned, or has more than 8 bytes, is cut into the aligned pieces that the device would get
# otherwise. So no store to such a region runs again, unless a later access of the same instruction
# does: to another device, or to a page that is not mapped.
qemu_direct_stores() {
	local header=$1/include/exec/memory.h tlb=$1/accel/tcg/cputlb.c counts=exec/icount.h

	[ -e "$header" ] || header=$1/include/system/memory.h
	insert_after "$header" "    const MemoryRegionOps *ops;" "$(direct_store_member)"
	# From 10.2 on icount_enabled() has a header of its own.
	[ -e "$1/include/exec/icount.h" ] || counts=system/cpu-timers.h
	insert_after "$tlb" '#include "exec/cputlb.h"' "#include \"$counts\""
	replace_in "$tlb" 1 "static uint64_t do_st_mmio_leN(CPUState *cpu, CPUTLBEntryFull *full," \
		"static uint64_t do_st_mmio_locked_leN(CPUState *cpu, CPUTLBEntryFull *full,"
	replace_in "$tlb" 1 "static uint64_t do_st16_mmio_leN(CPUState *cpu, CPUTLBEntryFull *full," \
		"$(direct_store_functions)"
}

direct_store_member() {
	cat <<-'C'
		    /* Takes a vCPU's aligned store in place of ops->write, without the big lock; or NULL. */
		    void (*direct_store)(void *opaque, hwaddr offset, uint64_t value, unsigned size);
	C
}

direct_store_functions() {
	cat <<-'C'
		static MemoryRegion *direct_region(CPUState *cpu, const CPUTLBEntryFull *full,
		                                   uintptr_t ra)
		{
		    MemoryRegion *mr = full->section->mr;

		    if (!mr->direct_store || icount_enabled()) {
		        return NULL;
		    }
		    cpu->mem_io_pc = ra;
		    return mr;
		}

		/* Bytes of a store that are left after a piece. */
		static inline uint64_t st_rest(uint64_t val_le, unsigned piece)
		{
		    return piece < 8 ? val_le >> (piece * 8) : 0;
		}

		static uint64_t st_pieces(MemoryRegion *mr, hwaddr offset, uint64_t val_le,
		                          unsigned size)
		{
		    unsigned piece;

		    do {
		        piece = 1u << ctz32(size | (unsigned)offset | 8);
		        mr->direct_store(mr->opaque, offset, extract64(val_le, 0, piece * 8), piece);
		        val_le = st_rest(val_le, piece);
		        offset += piece;
		        size -= piece;
		    } while (size);
		    return val_le;
		}

		/* At most 8 bytes. Returns those of @val_le that are left, as int_st_mmio_leN() does. */
		static inline QEMU_ALWAYS_INLINE
		uint64_t st_direct(MemoryRegion *mr, const CPUTLBEntryFull *full,
		                   uint64_t val_le, vaddr addr, unsigned size)
		{
		    hwaddr offset = (full->xlat_section & TARGET_PAGE_MASK) + addr;

		    if (unlikely((size | offset) & (size - 1))) {
		        return st_pieces(mr, offset, val_le, size);
		    }
		    mr->direct_store(mr->opaque, offset, extract64(val_le, 0, size * 8), size);
		    return st_rest(val_le, size);
		}

		static inline QEMU_ALWAYS_INLINE
		uint64_t do_st_mmio_leN(CPUState *cpu, CPUTLBEntryFull *full,
		                        uint64_t val_le, vaddr addr, int size,
		                        int mmu_idx, uintptr_t ra)
		{
		    MemoryRegion *mr = direct_region(cpu, full, ra);

		    if (mr) {
		        return st_direct(mr, full, val_le, addr, size);
		    }
		    return do_st_mmio_locked_leN(cpu, full, val_le, addr, size, mmu_idx, ra);
		}

		static uint64_t do_st16_mmio_locked_leN(CPUState *cpu, CPUTLBEntryFull *full,
		                                        Int128 val_le, vaddr addr, int size,
		                                        int mmu_idx, uintptr_t ra);

		/* More than 8 bytes. */
		static uint64_t do_st16_mmio_leN(CPUState *cpu, CPUTLBEntryFull *full,
		                                 Int128 val_le, vaddr addr, int size,
		                                 int mmu_idx, uintptr_t ra)
		{
		    MemoryRegion *mr = direct_region(cpu, full, ra);

		    if (mr) {
		        st_direct(mr, full, int128_getlo(val_le), addr, 8);
		        return st_direct(mr, full, int128_gethi(val_le), addr + 8, size - 8);
		    }
		    return do_st16_mmio_locked_leN(cpu, full, val_le, addr, size, mmu_idx, ra);
		}

		static uint64_t do_st16_mmio_locked_leN(CPUState *cpu, CPUTLBEntryFull *full,
	C
}

# -object takes only what the QAPI schema lists; a property added to t3-fabric for
# the command line is added here too.
qapi_fabric() {
	cat <<-'QAPI'

		##
		# @T3Node:
		#
		# One of the QEMUs that a fabric spans.
		#
		# @ranks: number of its ranks; they follow those of the node before
		#
		# @address: where it listens for the nodes after it; the last one
		#     needs none
		#
		# Since: 10.0
		##
		{ 'struct': 'T3Node',
		  'data': { 'ranks': 'uint32', '*address': 'SocketAddress' } }

		##
		# @T3FabricProperties:
		#
		# Properties for t3-fabric objects.
		#
		# @topology: ring, full or switch
		#
		# @ranks: number of devices
		#
		# @switch-entries: sums that each port of a switch holds (default:
		#     4096)
		#
		# @timed: the guest may run the timed model, which takes memory and
		#     time of the host (default: off)
		#
		# @inject: faults to inject, see SPEC.md section 12
		#
		# @record: file that takes a record of what crosses the core's
		#     interface
		#
		# @iothread: id of the iothread object that runs the fabric's
		#     events (default: the main loop)
		#
		# @node: number of this node among @nodes (default: 0)
		#
		# @nodes: the QEMUs that the fabric spans (default: this one
		#     alone)
		#
		# @uuid: identity of a fabric of several nodes
		#
		# @shared-memory: connections on a Unix socket carry their frames in
		#     memory that both nodes share, where the other node can
		#     (default: on)
		#
		# @tls-creds: id of a tls-creds-x509 object; connections on TCP are
		#     encrypted, and both nodes prove who they are (default: none)
		#
		# @node-timeout: how long another node may be silent before its
		#     devices are lost, in ms (default: 5000)
		#
		# @workers: number of further threads, for slices of GEMMs; needs
		#     an iothread (default: 0)
		#
		# Since: 10.0
		##
		{ 'struct': 'T3FabricProperties',
		  'data': { '*topology': 'str', '*ranks': 'uint32',
		            '*switch-entries': 'uint32',
		            '*timed': 'bool', '*inject': 'str', '*record': 'str',
		            '*iothread': 'str', '*workers': 'uint32',
		            '*node': 'uint32', '*nodes': ['T3Node'],
		            '*uuid': 'str', '*shared-memory': 'bool',
		            '*tls-creds': 'str', '*node-timeout': 'uint32' } }
	QAPI
}

# All that the VM, the tests and `make bench` have beside our device, and what bring-up puts
# a device behind: bridges, host bridges and IOMMUs. tools/vm/README.md lists them. Without
# QEMU's default list a third of it need not be compiled.
qemu_devices() {
	cat >"$1/configs/devices/x86_64-softmmu/t3.mak" <<-'DEVICES'
		CONFIG_Q35=y
		CONFIG_HPET=y
		CONFIG_PCIE_PORT=y
		CONFIG_PCI_BRIDGE=y
		CONFIG_PCIE_PCI_BRIDGE=y
		CONFIG_XIO3130=y
		CONFIG_PXB=y
		CONFIG_CXL=y
		CONFIG_CXL_MEM_DEVICE=y
		CONFIG_VTD=y
		CONFIG_AMD_IOMMU=y
		CONFIG_VIRTIO_IOMMU=y
		CONFIG_SERIAL_ISA=y
		CONFIG_VIRTIO_PCI=y
		CONFIG_VIRTIO_9P=y
		CONFIG_VIRTIO_BLK=y
		CONFIG_VIRTIO_NET=y
		CONFIG_VIRTIO_RNG=y
		CONFIG_IVSHMEM_DEVICE=y
		CONFIG_EDU=y
		CONFIG_ACPI_VMGENID=y
		CONFIG_PCI_TESTDEV=y
	DEVICES
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

# Each hook that needs another QEMU to be looked at, with the first and the last version that it is
# for. Beyond them its HOOK_unneeded looks whether the source does without it.
QEMU_HOOKS="
	qapi_fabric          10.0 10.2
	qemu_places          10.0 10.2
	qemu_devices         10.0 10.2
	qemu_tlb_sections    10.0 10.2
	qemu_code_protection 10.0 10.2
	qemu_direct_stores   10.0 10.2
"

# Upstream made the same change later: the entry has the pointer, and nothing looks it up.
qemu_tlb_sections_unneeded() {
	grep -qxF "    full->section = section;" "$1/accel/tcg/cputlb.c" &&
		! grep -qF "iotlb_to_section(" "$1/accel/tcg/cputlb.c"
}

# in_versions VERSION FIRST LAST: by their first two numbers.
in_versions() {
	[ "$(printf '%s\n' "$2" "$1" "$3" | sort -CV && echo yes)" = yes ]
}

# hook_is_needed HOOK FIRST LAST VERSION SOURCE. Where nobody has looked, it ends.
hook_is_needed() {
	! in_versions "$4" "$2" "$3" || return 0
	if ! declare -F "$1_unneeded" >/dev/null || ! "$1_unneeded" "$5"; then
		die "this QEMU is not supported: its version is $4, the hook $1 is for $2 to $3," \
			"and nothing shows that it is not needed"
	fi
	return 1
}

# All hooks whose versions fit; the others are shown to be unneeded, and then do nothing.
qemu_fitting_hooks() (
	series=$(sed -E 's/^([0-9]+\.[0-9]+).*/\1/' "$1/VERSION")
	while read -r hook first last; do
		[ -n "$hook" ] && ! hook_is_needed "$hook" "$first" "$last" "$series" "$1" || continue
		echo "QEMU $series does without the hook $hook"
		eval "$hook() { :; }"
	done <<<"$QEMU_HOOKS"
	qemu_hooks "$1"
)

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
	qemu_devices "$1"
	qemu_tlb_sections "$1"
	qemu_code_protection "$1"
	qemu_direct_stores "$1"
}

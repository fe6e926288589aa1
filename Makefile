# SPDX-License-Identifier: MIT
# T3's one entry point. `make help` lists what it can do.
#
# Ours is built below .build, everything else (QEMU, the kernel) once below
# T3_CACHE. All source lists are wildcards: a new file needs no change here.

MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash

T3_BUILD ?= .build
# The guest's processor, as Debian calls it. What is built for another one than this machine's is in
# a folder of its own. An environment's ARCH is a kernel developer's.
override export T3_ARCH := $(or $(if $(filter command,$(firstword $(origin ARCH))),$(ARCH)),$(T3_ARCH),amd64)
$(if $(filter 1,$(words $(T3_ARCH))),$(if $(filter amd64 arm64,$(T3_ARCH)),,$(eval BAD := 1)),$(eval BAD := 1))
$(if $(BAD),$(error t3: ARCH must be amd64, which is the default, or arm64; got '$(T3_ARCH)'))
CROSSED := $(filter-out amd64,$(T3_ARCH))
# One spelling for one folder: what depends on what is written down with it.
B := $(patsubst $(CURDIR)/%,%,$(abspath $(T3_BUILD:%/$(CROSSED)=%)$(CROSSED:%=/%)))
T3_CACHE ?= $(CURDIR)/.cache
comma := ,
T3_JOBS ?= 2
# The guest's kernel: kernel (this Debian release's), kernel-debug (make check-debug), or one
# that KERNEL selects.
T3_KERNEL ?= kernel
# The QEMU that the device is built in, by the start of its version; empty: the usual one. An
# environment may have a QEMU that is a program.
override export T3_QEMU := $(or $(if $(filter command,$(firstword $(origin QEMU))),$(QEMU),$(filter \
	0% 1% 2% 3% 4% 5% 6% 7% 8% 9%,$(QEMU))),$(T3_QEMU))
# How QEMU runs the guests. ACCEL=kvm ends at once where KVM has no chance; the last word has a
# boot (t3-vm).
ACCELS := tcg kvm auto
override export T3_ACCEL := $(or $(if $(filter command,$(firstword $(origin ACCEL))),$(ACCEL)),$(T3_ACCEL),tcg)
$(if $(filter-out $(ACCELS),$(T3_ACCEL))$(word 2,$(T3_ACCEL)),$(error t3: ACCEL must be tcg$(comma) kvm \
	or auto; got '$(T3_ACCEL)'))
KVM_LACKS := $(if $(filter kvm,$(T3_ACCEL)),$(if $(T3_LOCKED),,$(shell ! command -v python3 >/dev/null \
	|| T3_ARCH='$(T3_ARCH)' python3 tools/vm/vm_kvm.py 2>&1)))
$(if $(KVM_LACKS),$(error $(KVM_LACKS)))
export T3_CACHE T3_JOBS
override export T3_BUILD := $(abspath $B)

STAGE := tools/build/

# Neither make nor the shell takes such a name apart from several, or from a pattern.
$(if $(shell case '$(subst ','"'"',$(CURDIR)$(T3_BUILD)$(T3_CACHE))' in \
	(*[][:space:][\"\'\`\$$\#:%\&\;\|\<\>\(\)*?,\\]*) echo no;; esac),$(error t3: the path of \
	the tree, T3_BUILD or T3_CACHE has a blank or another character that make or a shell takes \
	for something else: '$(CURDIR)', '$(T3_BUILD)', '$(T3_CACHE)'. Allowed are letters, digits and \
	/ . _ - + = @ ~; move the tree, or set T3_BUILD and T3_CACHE))

# One make at a time builds in a folder (locked.sh): this one starts another, with the lock,
# for all goals but these, which build nothing themselves.
GOALS := $(or $(MAKECMDGOALS),help)
UNLOCKED := help kernels check-matrix machines try gdb check-debug check-host options dkms dist uninstall pictures spec-appendix
# Those that know another processor than this machine's.
CROSSED_GOALS := run shell try check build deps qemu kernel module lib tools initramfs tests-image unit \
	guest conformance check-matrix clean distclean help
# `make try` and `make gdb` have a KERNEL of their own (try.py).
SELECTED := $(if $(filter-out try gdb,$(GOALS)),$(if $(filter command,$(firstword $(origin \
	KERNEL))),$(filter-out debian,$(KERNEL))))
$(if $(CROSSED),$(if $(SELECTED),$(error t3: KERNEL selects one of Debian's kernels for amd64; \
	ARCH=$(CROSSED) has a kernel of its own: leave KERNEL out)))
$(foreach goal,$(if $(CROSSED),$(filter-out $(CROSSED_GOALS) $B/%,$(GOALS))),$(error t3: ARCH=$(CROSSED) \
	is for $(CROSSED_GOALS); got '$(goal)'))
$(if $(filter debug,$(SELECTED)),$(error t3: KERNEL=debug is for make try and make gdb; its suites \
	are make check-debug))
$(if $(SELECTED),$(if $(shell [[ '$(subst ','"'"',$(SELECTED))' =~ \
	^([0-9]+(\.[0-9]+){0$(comma)2}(\+[a-z0-9.]+)?|newest)$$ ]] || echo no),$(error t3: KERNEL must be \
	the beginning of a version, as in 7.3 or 6.12.117, or newest, debian or debug; got '$(SELECTED)')))
override export T3_KERNEL := $(or $(SELECTED),$(CROSSED:%=kernel-%),$(T3_KERNEL))
# What depends on the kernel: its link, the module, the images.
K := $(if $(filter kernel kernel-%,$(T3_KERNEL)),$B,$B/linux-$(T3_KERNEL))
override T3_GUEST := $(abspath $K)
$(if $(filter $B,$K),$(eval unexport T3_GUEST),$(eval export T3_GUEST))
# What runs for long what it has built: it gives the lock back before (by RUN).
RUNNING := run shell check check-deb check-series debug-suites host-suite lint package unit spec qtest guest conformance conformance-native conformance-qtest loop \
	examples cluster cluster-wide fuzz coverage mutants mutants-core mutants-libt3 soak soak-jobs soak-vcpus soak-nodes soak-driver boots paper bench
RUN = $(if $(T3_LOCKED),flock -u 7; unset T3_LOCKED MAKEFLAGS MFLAGS;)
# One goal's parts are built beside each other, unless the caller said -j; several goals
# follow each other.
JOBS = $(if $(filter -j% --jobserver-%,$(MAKEFLAGS)),,-j$(T3_JOBS))
locked = $(STAGE)locked.sh 'make $1' $(MAKE) $(if $(word 2,$1),,$(JOBS)) --no-print-directory $1
ifneq (,$(if $(filter $(T3_BUILD),$(T3_LOCKED)),,$(filter-out $(UNLOCKED),$(GOALS))))
.PHONY: $(GOALS) locked
$(GOALS): locked ; @:
# After one that runs, the next goal builds again, and so takes the lock again.
locked:
	+@$(if $(filter $(RUNNING),$(GOALS)),$(foreach goal,$(GOALS),$(call locked,$(goal)) &&) :,$(call \
		locked,$(GOALS)))
else

# Those of `make try` and `make gdb`, as they were typed: make expands none of them, and what
# the environment happens to call so is none of them. A test has RANKS of its own.
TRY_OPTIONS := TEST CMD RANKS VM_OPTIONS KERNEL SIDE GDB_COMMANDS GDB CORE
$(foreach name,$(TRY_OPTIONS),$(eval export T3_TRY_$(name) := \
	$$(if $$(filter command,$$(firstword $$(origin $(name)))),$$(value $(name)))))

# Options of `make run`, checked by check-options.sh before anything else.
RANKS ?= 4
NODES ?= 1
SHAPE ?= 256x256x256
TILE ?= 32x32
DTYPE ?= f32
WRITE ?= store
ITERS ?= 4
SEED ?= 1
SHARE ?= .
SOAK_SECONDS ?= 600
MUTANTS ?= 300
SOAK_SEED ?=
SOAK_MIGRATE ?= 60
SOAK_SCALE ?= 4
SOAK_ROUNDS ?= 1000
SOAK_CLIENTS ?= 10000
SOAK_HOGS ?= 600
COUNT ?= 2000
FUZZ_SECONDS ?= 900
export FUZZ FUZZ_SECONDS FUZZ_SEED FUZZ_INPUT
export RANKS NODES SHARE SHAPE TILE DTYPE WRITE ITERS SEED SOAK_SECONDS

# Where `make install` puts things, and what libt3 is called.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
# For the script that installs alone: the builds of QEMU and the kernel hear of none of them.
$(foreach name,DESTDIR PREFIX BINDIR LIBDIR INCLUDEDIR DATADIR MANDIR,$(eval \
	install uninstall: export $(name) := $($(name))))
# Of the release: packages, libt3 and t3. What was built with another one is built again.
VERSION_FILE := tools/packaging/VERSION
VERSION := $(strip $(file <$(VERSION_FILE)))
$(if $(shell echo '$(VERSION)' | grep -xE '[0-9]+\.[0-9]+\.[0-9]+'),,$(error t3: \
	$(VERSION_FILE) says '$(VERSION)'; it must be one line like 0.1.0))

VM := tools/vm/t3-vm

# Packages, by their sets in packages.txt: what a goal needs beyond those of `run`. Any other
# goal may be of the tests or a file of theirs: it needs all. try.py says its own.
SETS_GUEST := try gdb $(if $(filter kernel-debug,$(T3_KERNEL)),kernel-debug)
$(foreach goal,run shell build deps-run qemu kernel module lib tools initramfs bench boots soak-jobs \
	san-t3 dkms $B/t3 $B/t3-conformance $K/initramfs.img,$(eval SETS_$(goal) := run))
$(foreach goal,debug-suites tests-image cluster-wide guest conformance loop soak soak-vcpus soak-nodes soak-driver,$(eval \
	SETS_$(goal) := run $(SETS_GUEST)))
SETS_paper := run paper
SETS_python := run python
SETS_cluster := run cluster
SETS_mpi := run mpi
$(foreach room,core libt3,$(eval SETS_mutants-$(room) := run try mutants))
SETS_programs := run mpi programs
SETS_deb := run deb python
SETS_check-deb := run deb python
SETS_series := run series
SETS_check-series := run series check-series
T3_PACKAGES ?= $(sort $(CROSSED:%=run try %) $(if $(CROSSED),,$(foreach goal,$(GOALS),$(or $(SETS_$(goal)),check))))

# ------------------------------------------------------------------- sources
CORE_SRC := $(wildcard qemu-device/core/*/*.c)
# The checker is an object of its own, with copies of these: they have no state.
LIB_SRC := $(filter-out libt3/check/% libt3/mpi/%,$(wildcard libt3/*/*.c))
# A component of Open MPI: its own object, which uses libt3 as any program does.
MPI_SRC := $(wildcard libt3/mpi/*.c)
CHECK_SRC := $(wildcard libt3/check/*.c)
CHECK_TAKES := $(addprefix libt3/,device/host.c device/names.c device/node.c space/geometry.c space/move.c)
SIM_SRC := $(wildcard tools/t3/sim/*.c)
TOOL_SRC := $(filter-out $(SIM_SRC),$(shell find tools/t3 -name '*.c' 2>/dev/null | sort))
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_COMMON := $(wildcard tests/unit/common/*.c)
SPEC_SRC := $(wildcard tests/spec/test_*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_COMMON := $(wildcard tests/fuzz/common/*.c)
GUEST_SRC := $(wildcard tests/guest/test_*.c tests/guest/removal.c tests/guest/node_ranks.c)
GUEST_COMMON := $(wildcard tests/guest/common/*.c)
EXAMPLE_SRC := $(wildcard tests/examples/*.c)
GUEST32_SRC := $(wildcard tests/guest32/test_*.c)
CONFORMANCE_SRC := $(wildcard tests/conformance/*.c)
# The same, on the model in the process.
NATIVE_SRC := $(filter-out %/vfio.c %/irq.c %/pci.c,$(CONFORMANCE_SRC)) $(wildcard tests/conformance/native/*.c)
PYTHON_SRC := $(wildcard libt3/python/declare.py libt3/python/t3/*)
MODULE_SRC := $(wildcard Kbuild) $(shell find driver uapi -type f ! -name '*.md' 2>/dev/null)

# A room without sources has no products.
CORE := $(if $(CORE_SRC),$B/libt3core.a)
LIB := $(if $(LIB_SRC),$B/libt3.a $B/libt3.so $B/libt3-check.so.0 $B/libt3-uninstalled.pc)
PYTHON := $B/python/t3/_abi.py
SIM := $(if $(SIM_SRC),$B/libt3sim.a)
TOOL := $(if $(TOOL_SRC),$B/t3)
TOOL_RPATH := $(if $(filter-out /usr/lib /usr/lib/% /lib /lib/%,$(LIBDIR)),$(shell \
	realpath -ms --relative-to='$(BINDIR)' '$(LIBDIR)'))
INSTALLED_LIB := $B/install/libt3.a
INSTALLED_TOOL := $B/install/$(subst /,_,$(or $(TOOL_RPATH),plain))/t3
MODULE := $(if $(wildcard Kbuild),$K/module/t3.ko)
UNIT := $(UNIT_SRC:tests/unit/%.c=$B/unit/%)
UNIT_SAN := $(UNIT_SRC:tests/unit/%.c=$B/unit-sanitized/%)
UNIT_THREADS := $(patsubst tests/unit/%.c,$B/unit-threads/%,$(wildcard tests/unit/test_core_threads*.c))
TRACED := $(addprefix $B/traced/,t3 $(addprefix test_core_,property inject nak loss peer node_fault \
	hostile campaign chain fabric generations isolation node prepare queues_space routes))
SPEC := $(SPEC_SRC:tests/spec/%.c=$B/spec/%)
FUZZ_COVERED := $(FUZZ_SRC:tests/fuzz/%.c=$B/cov/fuzz/%)
FUZZERS := $(FUZZ_SRC:tests/fuzz/%.c=$B/fuzz/%)
# Threads lose counts, unless each is an atomic operation, which takes thrice the time.
COVERED := $(patsubst tests/%.c,$B/cov/bin/%,$(filter tests/unit/test_core_% tests/unit/test_sim_%, \
	$(filter-out tests/unit/test_core_threads%,$(UNIT_SRC))) $(SPEC_SRC)) $B/cov/bin/conformance-native
GUEST := $(GUEST_SRC:tests/guest/%.c=$B/guest/%)
MPI := $(if $(MPI_SRC),$B/mca_coll_t3.so)
MPI_TESTS := $(patsubst tests/mpi/%.c,$B/mpi/%,$(wildcard tests/mpi/*.c))
EXAMPLES := $(EXAMPLE_SRC:tests/examples/%.c=$B/examples/%)
# 32-bit clients are i386's.
GUEST32 := $(if $(CROSSED),,$(GUEST32_SRC:tests/guest32/%.c=$B/guest32/%))
CONFORMANCE := $(if $(CONFORMANCE_SRC),$B/t3-conformance)
NATIVE := $B/conformance-native $B/conformance-native-sanitized
GUEST_SCRIPTS := guest-init guest-root guest-batch keep-core

# One short line per product; V=1 shows the whole command.
Q := $(if $V,,@)
say = $(if $V,,@printf '  %-5s %s\n' $1 $(patsubst $B/%,%,$2))

objects = $(patsubst %.c,$B/$1/%.o,$2)

# --------------------------------------------------------------------- tools
# Those for another processor find its libraries in what sysroot.sh has unpacked.
CROSS := $(if $(CROSSED),aarch64-linux-gnu-)
ifneq (,$(CROSSED))
override CC := $(CROSS)gcc --sysroot=$(T3_BUILD)/sysroot
override AR := $(CROSS)ar
endif
PKG_CONFIG := $(if $(CROSSED),PKG_CONFIG_SYSROOT_DIR='$(T3_BUILD)/sysroot' \
	PKG_CONFIG_LIBDIR='$(T3_BUILD)/sysroot/usr/lib/aarch64-linux-gnu/pkgconfig' )pkg-config

# --------------------------------------------------------------------- flags
# pkg-config is asked when a recipe runs: before `deps` it may not exist.
WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
OPTIMIZE := -O2
CFLAGS_ALL = -std=gnu11 $(OPTIMIZE) -g $(WARN) -ffp-contract=off -fPIC $(CFLAGS)
# gcov and sanitizers name lines. -g1 has these, and compiles in three quarters of the time of -g.
COVERAGE := -g1 --coverage -fprofile-abs-path
THREADS := -g1 -fsanitize=thread -fno-omit-frame-pointer
SANITIZE := -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# Static, as no 32-bit library is installed but the C library. The kernel's asm/ headers
# are the same for both word sizes.
ABI32 := -m32 -msse2 -static -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 \
	-idirafter /usr/include/x86_64-linux-gnu
# Fuzz targets are clang's; `fuzzer` brings main(), `fuzzer-no-link` the counters.
FUZZ_CC ?= clang
# Without its watch on comparisons, which takes a third of the time: inputs are operations, whose
# right values the target finds out when it runs.
FUZZ_COUNTERS := -fsanitize-coverage=inline-8bit-counters,pc-table
# Large arrays are used again, and memory may run out: tests/unit/common/arena.h.
ARENA := -Wl,--wrap=malloc,--wrap=calloc,--wrap=free,--undefined=__wrap_calloc
FUZZ_SANITIZE := -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
LIB_PKGS := libdrm libpci
pkg = $(shell $(PKG_CONFIG) $1)

INC_qemu-device := -Iuapi -Iqemu-device/core
INC_libt3 = -DT3_VERSION=\"$(VERSION)\" -Iuapi -Ilibt3 -fvisibility=hidden $(call pkg,--cflags $(LIB_PKGS))
# Open MPI's headers are none that our warnings are for.
INC_mpi = -Iuapi -Ilibt3 -fvisibility=hidden $(call pkg,--cflags libdrm) $(strip $(file <$B/openmpi.flags))
INC_tools = -DT3_VERSION=\"$(VERSION)\" -Itools/t3 -Iuapi -Ilibt3 -Iqemu-device/core $(call pkg,--cflags $(LIB_PKGS) jansson)
INC_conformance = -Iuapi $(if $(filter tests/conformance/native/%,$<),-Iqemu-device/core)
INC_examples = -Iuapi -Ilibt3 $(call pkg,--cflags libdrm ompi-c)
# Their own folders first: a name there may also be one of the tools.
# Rooms of the core and of libt3 may have one name: a test sees those of what it tests.
OF_LIB := tests/unit/test_lib_% tests/unit/test_coll_% tests/guest/%
INC_tests = -I$(dir $<) -I$(dir $<)common -Itests/unit/common -I$B/spec \
	$(if $(filter $(OF_LIB),$<),,-Iqemu-device/core) $(INC_tools) $(call pkg,--cflags cmocka)
LIBS = $(call pkg,--libs $(LIB_PKGS)) -lm -pthread
# Its comparison of memories is a fast one: tests/unit/common/equal.c.
CMOCKA = -Wl,--wrap=_assert_memory_equal $(call pkg,--libs cmocka)
room = $(if $(filter tests/conformance/% tests/examples/% tests/mpi/% libt3/mpi/%,$1),$(word 2,$(subst /, ,$1)),$(firstword $(subst /, ,$1)))
includes = $(INC_$(call room,$<))

# ------------------------------------------------------------------- targets
.PHONY: help run shell check python kernels check-matrix machines check-debug debug-suites check-host host-suite options deps \
	install uninstall qemu kernel module lib tools initramfs tests-image checkpatch \
	unit spec spec-appendix model qtest guest conformance conformance-native conformance-qtest examples lint fuzz fuzz-build fuzz-report fuzz-corpus \
	coverage mutants mutants-core mutants-libt3 soak soak-jobs soak-vcpus soak-nodes soak-driver boots san-t3 series check-series format \
	pictures paper bench build always dkms dist deb check-deb package clean distclean

help:
	@sed -n 's/^#: \?//p' $(firstword $(MAKEFILE_LIST))

#: make run     build what is missing and run a GEMM with reduce-scatter in the guest
#:                RANKS=4             devices, 2 to 32
#:                NODES=1             VMs that the devices are on; RANKS is a multiple
#:                SHAPE=256x256x256   MxNxK; M and K divisible by RANKS
#:                TILE=32x32          tracked tile, rows x columns
#:                DTYPE=f32           i32, f32, f16, bf16
#:                WRITE=store         store, doorbell or gemm
#:                ITERS=4             iterations
#:                SEED=1              of the input data
#:                KERNEL=7.3          another kernel in the VM: see make kernels
#:                ARCH=arm64          an arm64 VM; also for shell, try, unit, guest, conformance, check
run: build
	@$(RUN) $(if $(filter 1,$(NODES)),$(VM) run --ranks "$$RANKS",$(VM) cluster --nodes "$$NODES" \
		--ranks $$((RANKS / NODES))) --initramfs $K/initramfs.img --name run -- t3 gemm-rs --timed \
		$(if $(filter 1,$(NODES)),,--nodes) --ranks "$$RANKS" --shape "$$SHAPE" \
		--dtype "$$DTYPE" --write "$$WRITE" --iters "$$ITERS" --seed "$$SEED" --tile "$$TILE"

#: make shell   an interactive root shell in a guest with RANKS devices
#:                SHARE=.             the folder of the host that is /mnt/host there, or none
#:                VM_OPTIONS='--iommu'  more options of t3-vm, as for make try
shell: build
	@$(RUN) eval "set -- $$T3_TRY_VM_OPTIONS"; \
		$(VM) shell --ranks "$$RANKS" --name shell $(if $(SHARE),--share "$$SHARE") "$$@"

#: make try     from an edit to a result: build what changed, boot, run one thing
#:                TEST=test_ring              a program of tests/guest, with its VM's options
#:                TEST=test_ring/test_stores  one of its tests; * and ? stand for others
#:                CMD='t3 list'               or any command
#:                RANKS=N, VM_OPTIONS='--iommu', KERNEL=debug or another: see make kernels
.PHONY: try gdb loop
try:
	@$(STAGE)try.py try

#: make gdb     the same in a debugger: SIDE=guest, the kernel with t3.ko's symbols, stopped
#:              before the devices are probed, or SIDE=device, QEMU with the device's
#:                TEST, CMD, RANKS, KERNEL, VM_OPTIONS   as of make try
#:                GDB_COMMANDS=FILE                      run these and end, GDB='more arguments'
#:                CORE=.build/run/NAME/guest/core...gz   a core that a run has left
gdb:
	@$(STAGE)try.py gdb

# The suites that a kernel, and those that KVM makes a difference to.
BOOTING := package conformance guest guest-iommu guest-ordinary guest-root guest-vcpus root hotplug migrate launch examples mpi cluster tool e2e
ACCELERATED := launcher patching loop newest $(filter-out package,$(BOOTING))
SUITES := $(if $(CROSSED),unit conformance guest guest-iommu e2e,$(if $(SELECTED),$(BOOTING),$(if \
	$(filter kvm,$(T3_ACCEL)),$(ACCELERATED))))

# What a suite runs besides the build and the guest's images.
NEEDS_lint := checkpatch
NEEDS_python := python
NEEDS_tutorial := python
NEEDS_recipes := $(NATIVE)
NEEDS_qtest := qtest-build
NEEDS_conformance-qtest := qtest-build
NEEDS_conformance-native := $(NATIVE)
NEEDS_unit := $(UNIT)
NEEDS_unit-uncounted := $(filter-out $(COVERED:$B/cov/bin/%=$B/%),$(UNIT))
NEEDS_unit-sanitized := $(UNIT_SAN)
NEEDS_unit-threads := $(UNIT_THREADS)
NEEDS_spec := $(SPEC)
NEEDS_coverage := $(COVERED)
NEEDS_fuzz := fuzz-build
NEEDS := $(foreach suite,lint python qtest conformance-native unit-uncounted unit-sanitized unit-threads \
	spec coverage fuzz,$(NEEDS_$(suite)))

#: make check   lint, unit and spec tests and their coverage, a short fuzz run, qtest,
#:              conformance, guest, hot-plug, migration and end-to-end runs
#:                KERNEL=7.3          what boots a VM, with that kernel: see make kernels
#:                ACCEL=kvm           what boots a VM, run by KVM; ACCEL=tcg (the default)
#:                                    translates. For each goal that boots a VM; auto is kvm
#:                                    where it works
#:                SUITES='unit-sanitized tool'  only these; check.py --help names them all
check: build tests-image $(if $(CROSSED),$(UNIT),$K/mpi.img $(TRACED)) \
		$(if $(SUITES),$(foreach suite,$(SUITES),$(NEEDS_$(suite))),$(NEEDS))
	@$(RUN) $(STAGE)check.py $(SUITES)

#:                QEMU=10.2           the device in another QEMU, for each goal that needs one
#: make kernels        the kernels that the mirror offers, and those in the cache. KERNEL=7.3, or
#:                any other beginning of a version, is the newest of these for run, shell, try,
#:                gdb, check and the suites that boot
#: make check-matrix   conformance and guest tests on the usual kernel and the newest of each
#:              version, and in each other QEMU on the newest kernel, for README's table:
#:                CELLS='7.3 7.3/10.2'  these kernels, with a QEMU or the usual one
#: make machines       README's table of these results, from tests/machines.json
kernels:
	@$(STAGE)kernel.sh list
check-matrix:
	@$(STAGE)matrix.py $(CELLS)
machines:
	@$(STAGE)machines.py render

#: make check-debug   guest and hot-plug suites, KUnit tests, faults injected into every
#:              allocation, removals and random calls under a debug kernel (KASAN,
#:              lockdep, kmemleak, panic_on_warn), built below .build/debug
check-debug:
	@$(MAKE) --no-print-directory T3_BUILD=$(T3_BUILD)/debug T3_KERNEL=kernel-debug debug-suites
debug-suites: build tests-image $(if $(CROSSED),,$B/traced/t3)
	@$(RUN) $(STAGE)check.py guest guest-iommu hotplug

#: make check-host   the device in a QEMU for an arm64 machine, built below .build/host-arm64, and
#:              what of it can run here (by qemu-user)
check-host:
	@$(MAKE) --no-print-directory T3_BUILD=$(T3_BUILD)/host-arm64 T3_HOST=arm64 \
		T3_PACKAGES='run arm64' host-suite
host-suite: qtest-build
	@$(RUN) $(STAGE)check.py host

#: make lint package unit spec qtest guest conformance loop model examples   those suites alone
lint: module checkpatch $(CORE) $(LIB) $(TOOL) $(MPI)
	@$(RUN) $(STAGE)check.py lint
package: kernel
	@$(RUN) $(STAGE)check.py package
unit: $(UNIT) $(if $(CROSSED),,$(UNIT_SAN) $(UNIT_THREADS))
	@$(RUN) $(STAGE)check.py unit $(if $(CROSSED),,unit-sanitized unit-threads)
spec: $(SPEC)
	@$(RUN) $(STAGE)check.py spec
#: make spec-appendix   what SPEC.md says of uapi/t3_hw.h's names and layouts, anew
spec-appendix:
	$Qpython3 tests/spec/appendix.py qemu-device/SPEC.md uapi/t3_hw.h
qtest: qtest-build $(TOOL)
	@$(RUN) $(STAGE)check.py qtest
guest: build tests-image
	@$(RUN) $(STAGE)check.py guest
#: make conformance-native   that suite on the device's model in a process: no VM, a second
conformance-native: $(NATIVE) $(CONFORMANCE)
	@$(RUN) $(STAGE)check.py conformance-native
#: make conformance-qtest   the same in a QEMU without a guest, with a thread of events
conformance-qtest: qtest-build
	@$(RUN) $(STAGE)check.py conformance-qtest
conformance: build tests-image
	@$(RUN) $(STAGE)check.py conformance
model: $(TRACED) | deps
	@$(RUN) $(STAGE)check.py model-all
loop: build tests-image
	@$(RUN) $(STAGE)check.py loop stuck
examples: build $K/mpi.img $(MPI_TESTS)
	@$(RUN) $(STAGE)check.py examples mpi

#: make programs  MPI programs of Debian with and without T3 (a part of it is in make check)
#:                MPI4PY=DIR          mpi4py's own tests, where the mirror has no source of it
programs: export T3_MPI4PY := $(or $(MPI4PY),$(T3_MPI4PY))
programs: build mpi
	@$(RUN) $(STAGE)check.py programs-all

#: make mpi     the component of Open MPI: .build/mca_coll_t3.so (libt3/mpi/README.md)
.PHONY: mpi programs
mpi: $(MPI)

#: make cluster  tests of several nodes (t3-vm cluster), also by mpirun and srun. Slurm, which is
#:              installed for it, does not run for make check
.PHONY: cluster
cluster: build $K/tests.img $K/mpi.img
	@$(RUN) $(STAGE)check.py cluster
#: make cluster-wide  the same for 4 nodes with 8 devices each: the GEMM, all collectives, faults of
#:              nodes. Half an hour on 2 cores; not in make check. T3_WIDE=2x4 takes other numbers
.PHONY: cluster-wide
cluster-wide: build $K/tests.img
	@$(RUN) $(STAGE)check.py cluster-wide

#: make fuzz    each target of tests/fuzz for FUZZ_SECONDS=900 with FUZZ_SEED (random):
#:                FUZZ=fuzz_regs      that target alone
#:                FUZZ_INPUT=FILE     run that input once, with FUZZ=target
fuzz: fuzz-build
	@$(RUN) tests/fuzz/run.py
fuzz-build: $(FUZZERS)

#: make fuzz-report  what the corpus, and what long runs have found, reach of each file of the core
fuzz-report: $(FUZZ_COVERED)
	@$(RUN) tests/coverage.py --fuzz --html $(FUZZ_COVERED)
	@$(RUN) tests/fuzz/run.py --total
#: make fuzz-corpus  write the seed corpus anew
fuzz-corpus: $B/fuzz-seeds
	@$B/fuzz-seeds tests/fuzz/corpus

#: make coverage   lines and branches of qemu-device/core that unit and spec tests reach; the page
#:              .build/cov/report.html shows them in the code
coverage: $(COVERED)
	@$(RUN) tests/coverage.py --html $(COVERED)

#: make mutants break the product in places on purpose: the tests must notice
mutants: build tests-image
	@$(RUN) tests/mutants.py
#: make mutants-core mutants-libt3  generated mutants of the core or of libt3: how many its native
#:              tests find
#:                MUTANTS=300         drawn by SEED=1
mutants-core mutants-libt3: mutants-%: | deps
	@$(RUN) tests/mutate.py --room $* -n "$(MUTANTS)" -s "$(SEED)" --json $(T3_BUILD)/mutants-$*.json

#: make soak    first end-to-end runs with changing seeds for SOAK_SECONDS=600, which the models
#:                follow; a failed one leaves the devices' record in .build/run/soak.t3r. Then 4
#:                vCPUs with faults and migrations for SOAK_SECONDS (alone: make soak-vcpus):
#:                SOAK_SEED=N         programs and faults as in an earlier run; default: new ones
#:                SOAK_MIGRATE=60     seconds between migrations
#:                SOAK_SCALE=4        work of a round; 1 on a busy host
#:              Then two VMs on one fabric with faults between them (alone: make soak-nodes)
#:                for SOAK_SECONDS, with SOAK_SEED.
#:              Then the driver:
#:                SOAK_ROUNDS=1000    passes over the removal matrix
#:                SOAK_CLIENTS=10000  killed clients
#:                SOAK_SECONDS=600    of random calls
#:                SOAK_HOGS=600       seconds of one honest client among hostile ones
#:                COUNT=2000          boots on a busy host (alone: make boots)
soak: soak-jobs soak-vcpus soak-nodes soak-driver boots
soak-vcpus: build tests-image
	@$(RUN) tests/soak_vcpus.py $(SOAK_SEED:%=--seed %) --migrate-every "$(SOAK_MIGRATE)" --scale "$(SOAK_SCALE)" \
		"$(SOAK_SECONDS)"
soak-nodes: build
	@$(RUN) tests/soak_nodes.py $(SOAK_SEED:%=--seed %) "$(SOAK_SECONDS)"
soak-driver: build tests-image
	@$(RUN) tests/soak.py "$(SOAK_ROUNDS)" "$(SOAK_CLIENTS)" "$(SOAK_SECONDS)" "$(SOAK_HOGS)"
boots: build
	@$(RUN) tests/boots.py "$(COUNT)"
soak-jobs: build $(if $(CROSSED),,$B/traced/t3)
	@$(RUN) mkdir -p $B/run && rm -f $B/run/soak.t3r
	@$(VM) run --ranks "$$RANKS" --name soak --fabric-opts record=$B/run/soak.t3r --timeout $$((SOAK_SECONDS + 120)) -- \
		sh -c 'end=$$(($$(date +%s) + $$1)) seed=1; shift; \
		while [ $$(date +%s) -lt $$end ]; do \
			"$$@" --seed $$seed || exit 1; seed=$$((seed + 1)); done' soak \
		"$$SOAK_SECONDS" t3 gemm-rs --ranks "$$RANKS" --shape "$$SHAPE" --dtype "$$DTYPE" \
		--write "$$WRITE" --iters "$$ITERS" --tile "$$TILE" || { code=$$?; \
		echo "The record of the device: t3 sim --replay $B/run/soak.t3r" >&2; exit $$code; }
	$(if $(CROSSED),@echo "[soak] not followed: the spies are built for this machine alone",@$(RUN) tests/follow.py --replay $B/run/soak.t3r)
	@rm -f $B/run/soak.t3r

#: make san-t3  .build/t3-sanitized: t3 with ASan and UBSan, to replay a record
san-t3: $B/t3-sanitized

#: make paper   T3's whole evaluation in virtual time: sub-layers, larger models, iterations and
#:                sweeps, with ranges from joint draws of all assumptions, some of them again by
#:                the devices of a VM; JSON, plots and one page, index.html, in .build/paper
paper: build
	@$(RUN) tools/paper/paper.py

#: make bench   how fast the timed model and the devices in a VM are on this host
bench: build qtest-build
	@$(RUN) tests/bench.py

#: make pictures   the SVG pictures of the documents from their .dot sources, by graphviz
pictures:
	@$(STAGE)pictures.py

#: make format  clang-format on what it judges (not driver/, not uapi/)
format: | deps
	@$(STAGE)lint.sh --format

#: make python  the Python package t3 in .build/python, for PYTHONPATH: libt3/python/README.md
python: lib $(PYTHON)

#: make deps qemu kernel module lib tools initramfs   the steps, one by one
#: make tests-image   initramfs, and behind it the programs of tests/guest, tests/guest32 and
#:              tests/conformance: t3-vm takes it while it is the newer one
build: qemu kernel module lib tools initramfs
lib: $(LIB)
tools: $(TOOL)
module: $(MODULE)
initramfs: $K/initramfs.img
tests-image: $K/tests.img

#: make dkms    the module's sources for DKMS, and its udev rule:
#:                DESTDIR=DIR         below DIR (default: the machine's own /usr)
dkms:
	@$(STAGE)dkms.sh "$(DESTDIR)"

#: make dist    the last commit as .build/dist/t3-VERSION.tar.gz; the same bytes each time
dist:
	@tools/packaging/dist.sh "$(T3_BUILD)/dist"

#: make deb     Debian packages for this release of Debian in .build/deb: libt3-0, libt3-dev,
#:              python3-t3, t3-tools, t3-dkms, qemu-system-t3 and t3-vm. They hold what is built here
#: make check-deb   lintian, installing, upgrading and removing them in a fresh Debian, a
#:              VM from them there; needs root and some minutes
deb: build python
	@tools/packaging/deb.sh
check-deb: deb
	@$(RUN) $(STAGE)check.py deb

#: make series  the driver for a kernel's own tree: a series of patches in .build/series/patches
#:                TREE=DIR            that kernel's source; default: the newest linux-source that
#:                                    Debian's suites offer, unpacked in the cache
#: make check-series  the same, applied to the tree, and each patch built: for x86 and arm64, by
#:              gcc and clang; checkpatch, sparse, kernel-doc and the pages. An hour, once
series: | deps
	@tools/series/series.sh "$(TREE)"
check-series: series qemu
	@$(RUN) $(STAGE)check.py series-tree

#: make install uninstall   t3, libt3 with its headers and manual. Builds what it installs
#:              and no more, installs no packages:
#:                PREFIX=/usr/local   LIBDIR, BINDIR, INCLUDEDIR, DATADIR, MANDIR lie in it
#:                DESTDIR=DIR         before all of them, for packages; needs no root
install: $(INSTALLED_TOOL) $(INSTALLED_LIB) $(LIB)
	@$(STAGE)install.sh install $< $(VERSION)
uninstall:
	@$(STAGE)install.sh uninstall t3 $(VERSION)

options:
	@$(STAGE)check-options.sh
# Wrong options end a run before anything is installed.
deps: | $(if $(filter run soak soak-jobs,$(MAKECMDGOALS)),options)
	@$(STAGE)$(if $(filter-out install,$(MAKECMDGOALS)),deps.sh $(T3_PACKAGES),install.sh needs)
	@$(if $(CROSSED)$(T3_HOST),$(STAGE)sysroot.sh)
# What is fetched by apt needs no package, so it is fetched while those are installed.
.PHONY: fetch-qemu fetch-kernel
fetch-qemu fetch-kernel: | $(if $(filter run soak soak-jobs,$(MAKECMDGOALS)),options)
fetch-qemu:
	@$(if $(T3_HOST),,$(STAGE)qemu.sh fetch)
fetch-kernel:
	@$(if $(filter kernel-%,$(T3_KERNEL)),,$(STAGE)kernel.sh fetch)
qemu: | deps fetch-qemu
	@$(STAGE)qemu.sh
qtest-build: | qemu
	@$(STAGE)qemu.sh qtest
kernel: $K/kernel.stamp
# Always asked, rewritten only when .build/kernel leads to another kernel.
$K/kernel.stamp: always | deps fetch-kernel
	@$(STAGE)$(if $(filter kernel-%,$(T3_KERNEL)),$(T3_KERNEL),kernel).sh
# Of Debian's kernel alone, as it is no part of what is built.
checkpatch: $K/kernel.stamp
	@$(if $(filter kernel,$(T3_KERNEL)),$(STAGE)kernel.sh checkpatch)

#: make clean   remove .build; `make distclean` also removes the cache
clean:
	rm -rf $B
distclean: clean
	rm -rf "$(T3_CACHE)"

# ------------------------------------------------------------------- recipes
# Files of the timed model call each other for each event: compiled as one, it is 6 % faster. The
# usual code is in the objects, too, for the many test programs, which link in no time with -fno-lto.
TIMED_LTO := -flto -ffat-lto-objects
# The core is counted, not what the compiler makes of it.
$B/cov/%.o: OPTIMIZE := -O0
# With sanitizers this takes half of the time of -O2.
$B/san/%.o $B/tsan/%.o: OPTIMIZE := -O1
# Tests themselves: half of the time of -O2 to compile, and no longer to run. gcc finds fewer
# variables without a value then; the core and the library, which it does look at, have -O2.
$B/obj/tests/unit/%.o $B/obj/tests/guest/%.o $B/obj/tests/conformance/%.o $B/san/tests/%.o: OPTIMIZE := -Og
$B/obj/qemu-device/core/timed/%.o: override CFLAGS_ALL += $(TIMED_LTO)
$B/obj/%.o: %.c | deps
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$Q$(CC) $(CFLAGS_ALL) $(includes) -MMD -MP -c -o $@ $<

$B/obj32/%.o: %.c | deps
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$Q$(CC) $(CFLAGS_ALL) -fno-pic $(ABI32) $(includes) -MMD -MP -c -o $@ $<

$B/san/%.o: %.c | deps
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$Q$(CC) $(CFLAGS_ALL) $(SANITIZE) $(includes) -MMD -MP -c -o $@ $<

$B/tsan/%.o: %.c | deps
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$Q$(CC) $(CFLAGS_ALL) $(THREADS) $(includes) -MMD -MP -c -o $@ $<

$B/cov/%.o: %.c | deps
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$Q$(CC) $(CFLAGS_ALL) $(COVERAGE) $(includes) -MMD -MP -c -o $@ $<

$B/fuzz/obj/%.o: %.c | deps
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$Q$(FUZZ_CC) $(CFLAGS_ALL) $(FUZZ_SANITIZE) $(if $(filter tests/%,$<),,$(FUZZ_COUNTERS)) $(includes) \
		-MMD -MP -c -o $@ $<

$(foreach tree,obj san,$(call objects,$(tree),$(shell grep -lrw T3_VERSION libt3 tools/t3 \
	--include=*.c))): $(VERSION_FILE)

# Archives are made anew: a source that has gone must leave them. `q`: rooms have files of one name.
$B/libt3core.a: $(call objects,obj,$(CORE_SRC))
$B/libt3.a: $(call objects,obj,$(LIB_SRC))
$B/libt3check.a: $(call objects,obj,$(CHECK_SRC))
$B/san/libt3check.a: $(call objects,san,$(CHECK_SRC))
$B/libt3sim.a: $(call objects,obj,$(SIM_SRC))
$B/san/libt3sim.a: $(call objects,san,$(SIM_SRC))
$B/san/libt3core.a: $(call objects,san,$(CORE_SRC))
$B/tsan/libt3core.a: $(call objects,tsan,$(CORE_SRC))
$B/cov/libt3core.a: $(call objects,cov,$(CORE_SRC))
$B/fuzz/obj/libt3core.a: $(call objects,fuzz/obj,$(CORE_SRC))
$B/fuzz/obj/libt3sim.a: $(call objects,fuzz/obj,$(SIM_SRC))
$B/san/libt3.a: $(call objects,san,$(LIB_SRC))
%.a:
	@mkdir -p $(@D); rm -f $@
	$Q$(AR) qcs $@ $^

# The installed one is one object, in which what is hidden is nobody else's name. Tests
# are linked with the other one, and reach it.
$(INSTALLED_LIB): $B/libt3.a
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$Q$(CC) -r -nostdlib -o $(@:.a=.o) -Wl,--whole-archive $<
	$Q$(CROSS)objcopy --localize-hidden $(@:.a=.o)
	$Qrm -f $@ && $(AR) rcs $@ $(@:.a=.o)

LIB_MAP := $(wildcard libt3/libt3.map)
$B/libt3.so.0: $(call objects,obj,$(LIB_SRC)) $(LIB_MAP)
	$(call say,LD,$@)
	$Q$(CC) -shared -Wl,-soname,libt3.so.0 -Wl,-z,defs $(LIB_MAP:%=-Wl,--version-script=%) \
		-o $@ $(filter %.o,$^) $(LIBS)
$B/libt3-check.so.0: $(call objects,obj,$(CHECK_SRC) $(CHECK_TAKES)) libt3/check/check.map
	$(call say,LD,$@)
	$Q$(link_check)
$B/san/libt3-check.so.0: $(call objects,san,$(CHECK_SRC) $(CHECK_TAKES)) libt3/check/check.map
	$(call say,LD,$@)
	$Q$(link_check) $(SANITIZE)
link_check = $(CC) -shared -Wl,-soname,$(@F) $(if $(findstring /san/,$@),,-Wl,-z,defs) -Wl,--version-script=libt3/check/check.map -o $@ \
	$(filter %.o,$^) $(LIBS)
$(call objects,obj,$(MPI_SRC) $(wildcard tests/mpi/*.c)): $B/openmpi.flags
$B/openmpi.flags: $(STAGE)openmpi.sh | deps
	@$(STAGE)openmpi.sh >$@.new && mv $@.new $@
# Open MPI has its own names by the time it loads this, so they are not looked for here.
$B/mca_coll_t3.so: $(call objects,obj,$(MPI_SRC)) $(LIB)
	$(call say,LD,$@)
	$Q$(CC) -shared -o $@ $(filter %.o,$^) -L$B -lt3 $(call pkg,--libs ompi-c) -Wl,-rpath,'$$ORIGIN'
$B/libt3.so: $B/libt3.so.0
	@ln -sf libt3.so.0 $@
# For PYTHONPATH. The modules of C declarations are made, the others copied.
$(PYTHON): $(PYTHON_SRC) $(wildcard libt3/*.h uapi/*.h) | deps
	@rm -rf $(@D) && mkdir -p $(@D)
	$(call say,PY,$(@D))
	$Qcp $(filter libt3/python/t3/%,$(PYTHON_SRC)) $(@D)
	$Q/usr/bin/python3 libt3/python/declare.py $(@D) libt3 uapi >/dev/null
	$Q/usr/bin/python3 -m compileall -q $(@D)
# Asked first by pkg-config where PKG_CONFIG_PATH names the build folder. It says where
# things are from where it is itself: a tree that is moved stays right.
$B/libt3-uninstalled.pc: libt3/libt3.pc.in Makefile $(VERSION_FILE)
	@sed -e 's|@PREFIX@|$${pcfiledir}/$(shell realpath -m --relative-to=$(T3_BUILD) $(CURDIR))|' \
		-e 's|@LIBDIR@|$${pcfiledir}|; s|@INCLUDEDIR@|$${prefix}/libt3|' \
		-e 's|^Cflags:.*|Cflags: -I$${includedir} -I$${prefix}/uapi|; s|@VERSION@|$(VERSION)|' $< >$@

$B/t3: $(call objects,obj,$(TOOL_SRC)) $(SIM) $(CORE) $(LIB)
	$(call say,LD,$@)
	$Q! comm -12 <($(CROSS)nm -D --defined-only $B/libt3.so | awk '{ sub(/@.*/, "", $$3); print $$3 }' | sort -u) \
		<($(CROSS)nm -g --defined-only $(CORE) $(SIM) | awk 'NF == 3 { print $$3 }' | sort -u) | \
		sed 's/$$/: a name of the core and of libt3, where the core would have both/' | grep .
	$Q$(link_tool) -Wl,-rpath,'$$ORIGIN'
# The installed one finds its library from where it is, or where the loader looks anyway.
$(INSTALLED_TOOL): $B/t3
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(link_tool) $(TOOL_RPATH:%=-Wl,-rpath,'$$ORIGIN/%')
link_tool = $(CC) -O2 -flto -o $@ $(call objects,obj,$(TOOL_SRC)) $(SIM) $(CORE) -L$B $(if $(LIB),-lt3) \
	$(call pkg,--libs jansson ncurses) $(LIBS)
# The same, sanitized, to replay a record; all of it is linked statically.
$B/t3-sanitized: $(call objects,san,$(TOOL_SRC)) $B/san/libt3sim.a $B/san/libt3core.a \
		$B/san/libt3.a
	$(call say,LD,$@)
	$Q$(CC) $(SANITIZE) -o $@ $^ $(call pkg,--libs jansson ncurses) $(LIBS)

# test_core_* is linked with the core, test_sim_* with the simulator and the core,
# test_lib_* with libt3, test_coll_* with libt3 and the core: all statically, so that a
# test can reach what is not exported. Common helpers are archives: only what is used comes in.
under_test = $(if $(findstring /test_lib_,$@),$1/libt3check.a $1/libt3.a,$(if $(findstring \
	/test_sim_,$@),$1/libt3sim.a) $(if $(findstring /test_coll_,$@),$1/libt3.a) $1/libt3core.a)
$B/obj/unit-common.a: $(call objects,obj,$(UNIT_COMMON))
$B/san/unit-common.a: $(call objects,san,$(UNIT_COMMON))
$B/tsan/unit-common.a: $(call objects,tsan,$(UNIT_COMMON))
$B/obj/fuzz-common.a: $(call objects,obj,$(UNIT_COMMON) $(FUZZ_COMMON))
$B/fuzz/obj/common.a: $(call objects,fuzz/obj,$(UNIT_COMMON) $(FUZZ_COMMON))
$B/obj/guest-common.a: $(call objects,obj,$(GUEST_COMMON))

# The path is for the checker that libt3 loads. ASan loads it in the place of libt3, which only an
# RPATH knows.
$B/unit/%: $B/obj/tests/unit/%.o $B/obj/unit-common.a $(CORE) $(SIM) $(filter %.a,$(LIB)) \
		$B/libt3check.a | $B/libt3-check.so.0
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(CC) -fno-lto $(if $(findstring _scarce,$@),$(ARENA)) -o $@ $(wordlist 1,2,$^) \
		$(call under_test,$B) $(CMOCKA) $(LIBS) -Wl,-rpath,'$$ORIGIN/..'
$B/unit-sanitized/%: $B/san/tests/unit/%.o $B/san/unit-common.a \
		$(if $(CORE),$B/san/libt3core.a) $(if $(SIM),$B/san/libt3sim.a) \
		$(if $(LIB),$B/san/libt3.a) $B/san/libt3check.a | $B/san/libt3-check.so.0
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(CC) $(SANITIZE) $(if $(findstring /test_core_,$@)$(findstring /test_sim_,$@),$(ARENA)) -o $@ \
		$(wordlist 1,2,$^) $(call under_test,$B/san) \
		$(CMOCKA) $(LIBS) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../san'

# What threads share: races are found.
$B/unit-threads/%: $B/tsan/tests/unit/%.o $B/tsan/unit-common.a $B/tsan/libt3core.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(CC) $(THREADS) -o $@ $^ $(CMOCKA) $(LIBS)

# They write what their links and spaces do, for the models: tests/follow.py.
SPIED := t3_fabric_free t3_link_init t3_link_clear t3_link_cut t3_link_set_far t3_wire_transmit \
	t3_receiver_take t3_spaces_fini t3_space_set_state t3_space_put_state t3_packet_receive \
	t3_pump_control t3_pump_response $(addprefix t3_epoch_,arm prepared release peer_state \
	poisoned peer_lost tell_import tell_peers_gone)
SPY := $(SPIED:%=-Wl,--wrap=%)
SPIES := $(call objects,obj,$(wildcard tests/unit/common/spy*.c))
$B/traced/%: $B/obj/tests/unit/%.o $(SPIES) $B/obj/unit-common.a $(CORE)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(CC) -fno-lto $(SPY) -o $@ $^ $(CMOCKA) $(LIBS)
$B/traced/t3: $(call objects,obj,$(TOOL_SRC)) $(SPIES) $(SIM) $(CORE) $(filter %.a,$(LIB))
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(CC) -fno-lto $(SPY) -o $@ $^ $(call pkg,--libs jansson ncurses) $(LIBS)

# SPEC.md's tables in C, and the tests that hold header and core to them.
SPEC_TABLES := $B/spec/spec_tables.h
$(SPEC_TABLES): tests/spec/tables.py $(wildcard tests/spec/*.py) qemu-device/SPEC.md $(wildcard uapi/*.h) libt3/t3.h
	@mkdir -p $(@D)
	$Qpython3 $< qemu-device/SPEC.md uapi/t3_hw.h $@
$(foreach tree,san obj,$(call objects,$(tree),$(SPEC_SRC))): $(SPEC_TABLES)
$B/spec/%: $B/san/tests/spec/%.o $B/san/unit-common.a $B/san/libt3core.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(CC) $(SANITIZE) -o $@ $^ $(CMOCKA) $(LIBS)

# Lines are counted in the core alone.
$B/cov/bin/%: $B/obj/tests/%.o $B/obj/unit-common.a $B/libt3sim.a $B/cov/libt3core.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(CC) $(COVERAGE) $(ARENA) -o $@ $^ $(CMOCKA) $(LIBS)

# It switches the short path of stores off.
WRAP_fuzz_lanes := -Wl,--wrap=t3_lane_store
$B/fuzz/%: $B/fuzz/obj/tests/fuzz/%.o $B/fuzz/obj/common.a $B/fuzz/obj/libt3sim.a $B/fuzz/obj/libt3core.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(FUZZ_CC) $(FUZZ_SANITIZE) -fsanitize=fuzzer $(ARENA) $(WRAP_$(@F)) -o $@ $^ \
		$(CMOCKA) $(LIBS)
$(FUZZ_COVERED): $B/cov/fuzz/%: $B/obj/tests/fuzz/%.o $B/obj/tests/fuzz/driver.o $B/obj/fuzz-common.a \
		$B/libt3sim.a $B/cov/libt3core.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(CC) $(COVERAGE) $(ARENA) $(WRAP_$(@F)) -o $@ $^ $(CMOCKA) $(LIBS)
$B/fuzz-seeds: $B/obj/tests/fuzz/seeds.o
	$(call say,LD,$@)
	$Q$(CC) -o $@ $<

$B/guest/%: $B/obj/tests/guest/%.o $B/obj/guest-common.a $(LIB)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(CC) -fno-lto -o $@ $(GUEST_LINK) $(filter-out $(LIB),$^) -L$B $(if $(LIB),-lt3) $(call pkg,--libs cmocka) $(LIBS)
# filter.c, and the library beside a program that runs from the shared folder.
GUEST_LINK := -Wl,--wrap=_cmocka_run_group_tests -Wl,-rpath,'$$ORIGIN/..'
# As a user would build it: with what is installed of libt3.
$B/examples/%: $B/obj/tests/examples/%.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(CC) -o $@ $< -L$B -lt3 $(call pkg,--libs ompi-c) -lm
# These know nothing of T3.
$B/mpi/%: $B/obj/tests/mpi/%.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(CC) -o $@ $< $(call pkg,--libs ompi-c) -lm
# These compare what devices say with the model itself.
$(filter $B/guest/test_timed%,$(GUEST)): $B/obj/unit-common.a $(SIM) $(CORE)
# And these results with the reference arithmetic.
$(filter $B/guest/test_coll% $B/guest/node_ranks,$(GUEST)): $B/obj/unit-common.a

# The ABI's layout is asserted for both word sizes: layout.c is in guest-common.a too.
$B/guest32/%: $B/obj32/tests/guest32/%.o $B/obj32/tests/guest/common/layout.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(CC) $(ABI32) -o $@ $^

# For any host with VFIO: the C library and the hardware header, nothing of ours.
$B/t3-conformance: $(call objects,obj,$(CONFORMANCE_SRC))
	$(call say,LD,$@)
	$Q$(CC) -o $@ $^ -lm
$B/conformance-native: $(call objects,obj,$(NATIVE_SRC)) $B/libt3core.a
	$(call say,LD,$@)
	$Q$(CC) -o $@ $^ -lm -pthread
$B/conformance-native-sanitized: $(call objects,san,$(NATIVE_SRC)) $B/san/libt3core.a
	$(call say,LD,$@)
	$Q$(CC) $(SANITIZE) -o $@ $^ -lm -pthread
$B/cov/bin/conformance-native: $(call objects,obj,$(NATIVE_SRC)) $B/cov/libt3core.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$Q$(CC) $(COVERAGE) -o $@ $^ -lm -pthread

$K/module/t3.ko: $(MODULE_SRC) $(STAGE)module.sh $K/kernel.stamp
	@$(STAGE)module.sh

$K/base.img: $(addprefix $(STAGE),initramfs.sh common.sh $(GUEST_SCRIPTS)) $K/kernel.stamp
	@$(STAGE)initramfs.sh base $@
packed = $(patsubst $B/%,$(T3_BUILD)/%,$(filter $(TOOL) $(CONFORMANCE) $(GUEST) $(GUEST32) $(EXAMPLES) $(MPI_TESTS),$^))
# For compilers in a root of the host.
DEVELOPMENT := $(wildcard libt3/t3*.h uapi/t3_*.h) libt3/libt3.pc.in \
	$(wildcard libt3/*.cmake.in) $(VERSION_FILE)
$K/initramfs.img: $K/base.img $(MODULE) $(LIB) $(TOOL) $(DEVELOPMENT)
	@$(STAGE)initramfs.sh image $< $@ $(packed)
$K/tests.img: $K/initramfs.img driver/60-t3.rules $(GUEST) $(GUEST32) $(CONFORMANCE)
	@$(STAGE)initramfs.sh tests $< $@ $(packed)
# For programs under Open MPI alone.
$K/mpi.img: $K/base.img $(STAGE)guest-mpirun $(MODULE) $(LIB) $(TOOL) $(EXAMPLES) $(MPI) $(MPI_TESTS) \
		$(DEVELOPMENT)
	@$(STAGE)initramfs.sh mpi $< $@ $(packed)
# What one `make try` needs. Always packed: the tests change from one to the next.
$K/try.img: $K/initramfs.img driver/60-t3.rules $(addprefix $B/,$(TRY_PROGRAMS)) always
	@$(STAGE)initramfs.sh tests $< $@ $(packed)

.SECONDARY:
-include $(shell find $B/obj $B/obj32 $B/san $B/tsan $B/cov $B/fuzz/obj -name '*.d' 2>/dev/null)

endif

# SPDX-License-Identifier: MIT
# T3's one entry point. `make help` lists what it can do.
#
# Ours is built below .build, everything else (QEMU, the kernel) once below
# T3_CACHE. What is written in C for processes is Meson's (meson.build): this file says when.

MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash

T3_BUILD ?= .build
# A variable's value from make's own command line. An environment may use the name otherwise.
typed = $(if $(filter command,$(firstword $(origin $1))),$($1))
# The guest's processor, as Debian calls it. What is built for another one than this machine's is in
# a folder of its own.
override export T3_ARCH := $(or $(call typed,ARCH),$(T3_ARCH),amd64)
$(if $(filter-out amd64 arm64,$(T3_ARCH))$(word 2,$(T3_ARCH)),$(error t3: ARCH must be amd64, \
	which is the default, or arm64; got '$(T3_ARCH)'))
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
override export T3_QEMU := $(or $(call typed,QEMU),$(filter \
	0% 1% 2% 3% 4% 5% 6% 7% 8% 9%,$(QEMU)),$(T3_QEMU))
# How QEMU runs the guests. ACCEL=kvm ends at once where KVM has no chance; the last word has a
# boot (t3-vm).
override export T3_ACCEL := $(or $(call typed,ACCEL),$(T3_ACCEL),tcg)
$(if $(filter-out tcg kvm auto,$(T3_ACCEL))$(word 2,$(T3_ACCEL)),$(error t3: ACCEL must be \
	tcg$(comma) kvm or auto; got '$(T3_ACCEL)'))
KVM_LACKS := $(if $(filter kvm,$(T3_ACCEL)),$(if $(T3_LOCKED),,$(shell \
	! command -v python3 >/dev/null || T3_ARCH='$(T3_ARCH)' python3 tools/vm/vm_kvm.py 2>&1)))
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

# A misspelt option is refused, not left out. An outer make may have variables of its own.
GIVEN := $(if $(filter 0,$(MAKELEVEL)),$(foreach name,$(.VARIABLES),$(if $(filter command, \
	$(firstword $(origin $(name)))),'$(subst ','"'"',$(name))')))
UNREAD := $(if $(GIVEN),$(shell ! command -v python3 >/dev/null || \
	python3 $(STAGE)variables.py $(GIVEN)))
$(if $(UNREAD),$(error $(UNREAD)))

# One make at a time builds in a folder (locked.sh): this one starts another, with the lock,
# for all goals but these, which build nothing themselves.
GOALS := $(or $(MAKECMDGOALS),help)
UNLOCKED := help kernels check-matrix machines try gdb check-debug check-host check-fresh options \
	dkms dist pictures spec-appendix
# Those that know another processor than this machine's.
CROSSED_GOALS := run shell try check check-all build deps qemu kernel module lib tools initramfs \
	tests-image unit guest conformance check-matrix clean distclean help
# `make try` and `make gdb` have a KERNEL of their own (try.py).
SELECTED := $(if $(filter-out try gdb,$(GOALS)),$(filter-out debian,$(call typed,KERNEL)))
$(if $(CROSSED),$(if $(SELECTED),$(error t3: KERNEL selects one of Debian's kernels for amd64; \
	ARCH=$(CROSSED) has a kernel of its own: leave KERNEL out)))
$(foreach goal,$(if $(CROSSED),$(filter-out $(CROSSED_GOALS) $B/%,$(GOALS))),$(error t3: \
	ARCH=$(CROSSED) is for $(CROSSED_GOALS); got '$(goal)'))
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
RUNNING := run shell check check-all check-deb check-series debug-suites host-suite lint \
	package unit spec qtest guest conformance conformance-native conformance-qtest loop \
	examples cluster cluster-wide fuzz coverage mutants mutants-core mutants-libt3 soak \
	soak-jobs soak-vcpus soak-nodes soak-driver boots paper bench
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
# The programs of tests/guest that try.img has: by try.py.
TRY_PROGRAMS ?=
TRY_OPTIONS := TEST CMD RANKS VM_OPTIONS KERNEL SIDE GDB_COMMANDS GDB CORE
$(foreach name,$(TRY_OPTIONS),$(eval export T3_TRY_$(name) := \
	$$(if $$(filter command,$$(firstword $$(origin $(name)))),$$(value $(name)))))

# Options of `make run`, checked by options.py before anything else.
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
# Its targets are clang's (native.sh).
FUZZ_CC ?= clang
export FUZZ FUZZ_SECONDS FUZZ_SEED FUZZ_INPUT FUZZ_CC
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
$(foreach goal,run shell build deps-run qemu kernel module lib tools initramfs bench boots \
	soak-jobs san-t3 dkms $B/t3 $B/t3-conformance $K/initramfs.img,$(eval SETS_$(goal) := run))
$(foreach goal,debug-suites tests-image cluster-wide guest conformance loop soak soak-vcpus \
	soak-nodes soak-driver,$(eval SETS_$(goal) := run $(SETS_GUEST)))
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
T3_PACKAGES ?= $(sort $(if $(CROSSED),run try $(CROSSED),$(foreach goal,$(GOALS),$(or \
	$(SETS_$(goal)),check))))

# ------------------------------------------------------------------- sources
PYTHON_SRC := $(wildcard libt3/python/declare.py libt3/python/t3/*)
MODULE_SRC := Kbuild $(shell find driver uapi -type f ! -name '*.md')

LIB := $B/libt3.so $B/libt3.so.0 $B/libt3-check.so.0
PC := $B/libt3-uninstalled.pc
PYTHON := $B/python/t3/_abi.py
TOOL := $B/t3
MODULE := $K/module/t3.ko
GUEST := $(patsubst tests/%.c,$B/%,$(wildcard \
	$(addprefix tests/guest/,test_*.c removal.c node_ranks.c)))
# 32-bit clients are i386's.
GUEST32 := $(if $(CROSSED),,$(patsubst tests/%.c,$B/%,$(wildcard tests/guest32/test_*.c)))
EXAMPLES := $(patsubst tests/%.c,$B/%,$(wildcard tests/examples/*.c))
MPI := $B/mca_coll_t3.so
MPI_TESTS := $(patsubst tests/%.c,$B/%,$(wildcard tests/mpi/*.c))
CONFORMANCE := $B/t3-conformance
NATIVE := $B/conformance-native $B/conformance-native-sanitized
GUEST_SCRIPTS := guest-init guest-root guest-batch keep-core

# ------------------------------------------------------------------- targets
.PHONY: help run shell try gdb check check-all python kernels check-matrix machines check-debug \
	debug-suites check-host host-suite check-fresh options deps fetch-qemu fetch-kernel \
	install uninstall qemu qtest-build kernel module lib tools products initramfs tests-image \
	checkpatch unit unit-tests uncounted-tests sanitized-tests thread-tests spec spec-tests \
	spec-appendix model traced qtest guest guest-tests conformance conformance-native \
	conformance-qtest loop examples programs mpi mpi-programs cluster cluster-wide lint fuzz \
	fuzz-build fuzz-report fuzz-corpus coverage counted-tests mutants mutants-core \
	mutants-libt3 soak soak-jobs soak-vcpus soak-nodes soak-driver boots san-t3 series \
	check-series format pictures paper bench build always dkms dist deb check-deb package \
	clean distclean

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
#:                ARCH=arm64          an arm64 VM; also for shell, try, unit, guest, conformance,
#:                                    check
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
#:                TEST='test_ring/*stores*' some of its tests: * and ? are wildcards
#:                CMD='t3 list'               or any command
#:                RANKS=N, VM_OPTIONS='--iommu', KERNEL=debug or another: see make kernels
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
BOOTING := package conformance guest guest-iommu guest-ordinary guest-root guest-vcpus root \
	hotplug migrate launch examples mpi cluster tool e2e
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
NEEDS_unit := unit-tests
NEEDS_unit-uncounted := uncounted-tests
NEEDS_unit-sanitized := sanitized-tests
NEEDS_unit-threads := thread-tests
NEEDS_spec := spec-tests
NEEDS_coverage := counted-tests
NEEDS_fuzz := fuzz-build
NEEDS := $(foreach suite,lint python qtest conformance-native unit-uncounted unit-sanitized \
	unit-threads spec coverage fuzz,$(NEEDS_$(suite)))

#: make check   lint, unit and spec tests and their coverage, a short fuzz run, qtest,
#:              conformance, guest and end-to-end runs, the tool and Python
#: make check-all  these, hot-plug, migration, several VMs, Open MPI, programs, packages, pages'
#:              commands and the rest of tests/suites.md, in one run
#:                KERNEL=7.3          what boots a VM, with that kernel: see make kernels
#:                ACCEL=kvm           what boots a VM, run by KVM; ACCEL=tcg (the default)
#:                                    translates. For each goal that boots a VM; auto is kvm
#:                                    where it works
#:                SUITES='unit-sanitized tool'  only these; check.py --help names them all
check check-all: build tests-image $(if $(CROSSED),unit-tests,$K/mpi.img traced) \
		$(if $(SUITES),$(foreach suite,$(SUITES),$(NEEDS_$(suite))),$(NEEDS))
	@$(RUN) $(STAGE)check.py $(or $(SUITES),$(if $(filter %-all,$@),--all))

#:                QEMU=10.2           the device in another QEMU, for each goal that needs one
#: make kernels        the kernels that the mirror offers, and those in the cache. KERNEL=7.3, or
#:                any other beginning of a version, is the newest of these for run, shell, try,
#:                gdb, check and the suites that boot
#: make check-matrix   conformance and guest tests on the usual kernel and the newest of each
#:              version, and in each other QEMU on the newest kernel, for README's table:
#:                CELLS='7.3 7.3/10.2'  these kernels, with a QEMU or the usual one
#: make machines       the table of these results in tests/machines.md, from tests/machines.json
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

#: make check-fresh   make run and make check-all on a Debian that is installed for it:
#:                RELEASE=trixie      or bookworm
check-fresh:
	@$(STAGE)check-fresh.sh

#: make lint package unit spec qtest guest conformance loop model examples   those suites alone
lint: module checkpatch qemu lib tools mpi
	@$(RUN) $(STAGE)check.py lint
package: kernel
	@$(RUN) $(STAGE)check.py package
unit: unit-tests $(if $(CROSSED),,sanitized-tests thread-tests)
	@$(RUN) $(STAGE)check.py unit $(if $(CROSSED),,unit-sanitized unit-threads)
spec: spec-tests
	@$(RUN) $(STAGE)check.py spec
#: make spec-appendix   what SPEC.md says of uapi/t3_hw.h's names and layouts, anew
spec-appendix:
	@python3 tests/spec/appendix.py qemu-device/SPEC.md uapi/t3_hw.h
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
model: traced
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
mpi: $B/openmpi.flags | deps
	@$(STAGE)native.sh native libt3/mca_coll_t3.so

#: make cluster  tests of several nodes (t3-vm cluster), also by mpirun and srun. Slurm, which is
#:              installed for it, does not run for make check
cluster: build $K/tests.img $K/mpi.img
	@$(RUN) $(STAGE)check.py cluster
#: make cluster-wide  the same for 4 nodes with 8 devices each: the GEMM, all collectives, faults of
#:              nodes. Half an hour on 2 cores; not in make check. T3_WIDE=2x4 takes other numbers
cluster-wide: build $K/tests.img
	@$(RUN) $(STAGE)check.py cluster-wide

#: make fuzz    each target of tests/fuzz for FUZZ_SECONDS=900 with FUZZ_SEED (random):
#:                FUZZ=fuzz_regs      that target alone
#:                FUZZ_INPUT=FILE     run that input once, with FUZZ=target
fuzz: fuzz-build
	@$(RUN) tests/fuzz/run.py
fuzz-build: | deps
	@$(STAGE)native.sh fuzzing fuzzers

#: make fuzz-report  what the corpus, and what long runs have found, reach of each file of the core
fuzz-report: | deps
	@$(STAGE)native.sh native counted-fuzzers
	@$(RUN) tests/coverage.py --fuzz --html
	@$(RUN) tests/fuzz/run.py --total
#: make fuzz-corpus  write the seed corpus anew
fuzz-corpus: $B/fuzz-seeds
	@$B/fuzz-seeds tests/fuzz/corpus

#: make coverage   lines and branches of qemu-device/core that unit and spec tests reach; the page
#:              .build/cov/report.html shows them in the code
coverage: counted-tests
	@$(RUN) tests/coverage.py --html

#: make mutants break the product in places on purpose: the tests must notice
#:                FAULTS=core         written faults instead, of rooms or by name: tests/faults.py
#:                MUTANTS=300         of these drawn by SEED=1
#:                SUITE=native        another suite than their usual ones
mutants: $(if $(filter-out core libt3 core/% libt3/%,$(or $(FAULTS),all)),build tests-image) | deps
	@$(RUN) $(if $(FAULTS),tests/faults.py $(SUITE:%=--suite %) -n "$(MUTANTS)" -s "$(SEED)" \
		--results $(T3_BUILD)/faults.txt $(FAULTS),tests/mutants.py)
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
	@$(RUN) tests/soak_vcpus.py $(SOAK_SEED:%=--seed %) --migrate-every "$(SOAK_MIGRATE)" \
		--scale "$(SOAK_SCALE)" "$(SOAK_SECONDS)"
soak-nodes: build
	@$(RUN) tests/soak_nodes.py $(SOAK_SEED:%=--seed %) "$(SOAK_SECONDS)"
soak-driver: build tests-image
	@$(RUN) tests/soak.py "$(SOAK_ROUNDS)" "$(SOAK_CLIENTS)" "$(SOAK_SECONDS)" "$(SOAK_HOGS)"
boots: build
	@$(RUN) tests/boots.py "$(COUNT)"
soak-jobs: build $(if $(CROSSED),,$B/traced/t3)
	@$(RUN) mkdir -p $B/run && rm -f $B/run/soak.t3r
	@$(VM) run --ranks "$$RANKS" --name soak --fabric-opts record=$B/run/soak.t3r \
		--timeout $$((SOAK_SECONDS + 120)) -- sh -c 'end=$$(($$(date +%s) + $$1)) seed=1; shift; \
		while [ $$(date +%s) -lt $$end ]; do \
			"$$@" --seed $$seed || exit 1; seed=$$((seed + 1)); done' soak \
		"$$SOAK_SECONDS" t3 gemm-rs --ranks "$$RANKS" --shape "$$SHAPE" --dtype "$$DTYPE" \
		--write "$$WRITE" --iters "$$ITERS" --tile "$$TILE" || { code=$$?; \
		echo "The record of the device: t3 sim --replay $B/run/soak.t3r" >&2; exit $$code; }
	@$(RUN) $(if $(CROSSED),echo "[soak] not followed: the spies are built for this machine alone", \
		tests/follow.py --replay $B/run/soak.t3r)
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
build: qemu kernel module products initramfs
lib: $(PC) | deps
	@$(STAGE)native.sh native lib
tools: | deps
	@$(STAGE)native.sh native tools/t3/t3
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
#:              python3-t3, t3-tools, t3-dkms, qemu-system-t3 and t3-vm, of what is built here
#: make check-deb   lintian, installing, upgrading and removing them in a fresh Debian, a
#:              VM from them there; needs root and some minutes; RELEASE=trixie: in Debian 13
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
install uninstall:
	@$(STAGE)install.py $@

# A bare machine has no Python yet: there the packages come first.
options:
	@[ ! -x /usr/bin/python3 ] || $(STAGE)options.py
# Wrong options end a run before anything is installed.
deps: | $(if $(filter run soak soak-jobs,$(MAKECMDGOALS)),options)
	@$(STAGE)deps.sh $(T3_PACKAGES)
	@$(if $(filter run soak soak-jobs,$(MAKECMDGOALS)),$(STAGE)options.py)
	@$(if $(CROSSED)$(T3_HOST),$(STAGE)sysroot.sh)
# What is fetched by apt needs no package, so it is fetched while those are installed.
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
# Programs in C are built by one call of ninja for each group, in the build folder that has its
# options (native.sh). ninja knows what has changed, and a file that it leaves stays as old as it
# was. Where a program is a goal, it is built alone. `products` is for images, with the programs of
# one `make try`.
products: $(PC) | deps
	@$(STAGE)native.sh native lib tools/t3/t3 $(TRY_PROGRAMS:%=tests/%)
unit-tests uncounted-tests counted-tests guest-tests mpi-programs traced: | deps
	@$(STAGE)native.sh native $@
sanitized-tests: | deps
	@$(STAGE)native.sh sanitized unit-tests
spec-tests: | deps
	@$(STAGE)native.sh sanitized $@
thread-tests: | deps
	@$(STAGE)native.sh threads $@
mpi-programs: $B/openmpi.flags

$(LIB) $(TOOL): products ; @:
$(MPI): mpi ; @:
$(filter-out $(GOALS),$(EXAMPLES) $(MPI_TESTS)): mpi-programs ; @:
$(filter-out $(GOALS),$(GUEST) $(GUEST32)): $(if $(TRY_PROGRAMS),products,guest-tests) ; @:
$B/%: always | deps
	@$(STAGE)native.sh $*

$B/openmpi.flags: $(STAGE)openmpi.sh | deps
	@$(STAGE)openmpi.sh >$@.new && mv $@.new $@
# For PYTHONPATH. The modules of C declarations are made, the others copied.
$(PYTHON): $(PYTHON_SRC) $(wildcard libt3/*.h uapi/*.h) | deps
	@rm -rf $(@D) && mkdir -p $(@D)
	@cp $(filter libt3/python/t3/%,$(PYTHON_SRC)) $(@D)
	@/usr/bin/python3 libt3/python/declare.py $(@D) libt3 uapi >/dev/null
	@/usr/bin/python3 -m compileall -q $(@D)
# Asked first by pkg-config where PKG_CONFIG_PATH names the build folder. It says where
# things are from where it is itself: a tree that is moved stays right.
$B/libt3-uninstalled.pc: libt3/libt3.pc.in Makefile $(VERSION_FILE)
	@sed -e 's|@PREFIX@|$${pcfiledir}/$(shell realpath -m --relative-to=$(T3_BUILD) $(CURDIR))|' \
		-e 's|@LIBDIR@|$${pcfiledir}|; s|@INCLUDEDIR@|$${prefix}/libt3|' \
		-e 's|^Cflags:.*|Cflags: -I$${includedir} -I$${prefix}/uapi|; s|@VERSION@|$(VERSION)|' $< >$@

$K/module/t3.ko: $(MODULE_SRC) $(STAGE)module.sh $K/kernel.stamp
	@$(STAGE)module.sh

$K/base.img: $(addprefix $(STAGE),initramfs.sh common.sh $(GUEST_SCRIPTS)) $K/kernel.stamp
	@$(STAGE)initramfs.sh base $@
packed = $(patsubst $B/%,$(T3_BUILD)/%,$(filter \
	$(TOOL) $(CONFORMANCE) $(GUEST) $(GUEST32) $(EXAMPLES) $(MPI_TESTS),$^))
# For compilers in a root of the host.
DEVELOPMENT := $(wildcard libt3/t3*.h uapi/t3_*.h) libt3/libt3.pc.in \
	$(wildcard libt3/*.cmake.in) $(VERSION_FILE)
$K/initramfs.img: $K/base.img $(MODULE) $(LIB) $(TOOL) $(DEVELOPMENT)
	@$(STAGE)initramfs.sh image $< $@ $(packed)
$K/tests.img: $K/initramfs.img driver/60-t3.rules $(GUEST) $(GUEST32) $(CONFORMANCE)
	@$(STAGE)initramfs.sh tests $< $@ $(packed)
# For programs under Open MPI alone.
$K/mpi.img: $K/base.img $(STAGE)guest-mpirun $(MODULE) $(LIB) $(TOOL) $(EXAMPLES) $(MPI) \
		$(MPI_TESTS) $(DEVELOPMENT)
	@$(STAGE)initramfs.sh mpi $< $@ $(packed)
# What one `make try` needs. Always packed: the tests change from one to the next.
$K/try.img: $K/initramfs.img driver/60-t3.rules $(addprefix $B/,$(TRY_PROGRAMS)) always
	@$(STAGE)initramfs.sh tests $< $@ $(packed)

endif

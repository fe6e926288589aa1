#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The targets of make: what each builds, and what it runs then. The Makefile calls this.

usage: make.py [GOAL...]     (make's variables come by MAKEFLAGS and the environment)

STEPS says how each part is built, and what it needs. A step is a script with a stamp of its own,
or Meson and ninja by native.sh, which know what has changed. TARGETS says what a goal builds, and
what it runs when that is there. Steps run beside each other as far as their needs allow; goals
follow each other. One make at a time builds in a folder: it holds the folder's lock for the steps,
and gives it back before it runs anything.
"""

import concurrent.futures
import fcntl
import glob
import graphlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import options
from options import ROOT

STAGE = "tools/build"
VM = "tools/vm/t3-vm"
WAIT_SECONDS = 3600
LOCK = 7  # the lock's descriptor; common.sh closes it where a process may outlive a step


class Run:
    """One call of make: its variables and goals, and what they lead to."""

    def __init__(self, environment, goals):
        letters, words, typed = options.read_flags(environment.get("MAKEFLAGS", ""))
        self.goals = goals or ["help"]
        self.is_dry = "n" in letters
        self.goes_on = "k" in letters
        if environment.get("MAKELEVEL", "1") == "1":
            options.refuse_unread(typed, help_text())
        self.typed = typed
        self.values = options.variables(environment, typed, self.goals)
        asked = [re.sub("^-j", "", word) for word in words if re.match("-j|--jobserver-", word)]
        self.jobs = int(asked[0]) if asked and asked[0].isdigit() else int(self.values["T3_JOBS"])
        self.build = pathlib.Path(self.values["T3_BUILD"])
        self.guest = pathlib.Path(self.values.get("T3_GUEST", self.build))
        self.kernel = self.values["T3_KERNEL"]
        self.is_crossed = self.values["T3_ARCH"] != "amd64"
        self.lock = None
        self.children = set()
        self.stopped = 0  # by a signal: the status to end with

    def __getitem__(self, name):
        return self.values.get(name, "")

    def is_own_kernel(self):
        """kernel-debug and kernel-arm64 are built here, by scripts of these names."""
        return self.kernel.startswith("kernel-")

    def execute(self, command, building=True, **more):
        """A step's command, or what a target runs. A failure ends this make with the same status."""
        if self.stopped:
            raise subprocess.CalledProcessError(self.stopped, command)
        if self.is_dry:
            print(shlex.join(map(str, command)), flush=True)
            return
        # QEMU's build and the kernel's would take the directories of an installation for their own.
        environment = {name: value for name, value in self.values.items() if name not in (
            "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "T3_LOCKED", *options.DIRECTORIES)}
        environment.update(more)
        if building:
            environment["T3_LOCKED"] = str(self.build)
        # A child that builds has the lock, too: nobody else builds before it has ended.
        with subprocess.Popen(command, cwd=ROOT, env=environment,
                              pass_fds=[self.lock] if self.lock and building else []) as child:
            self.children.add(child)
            if self.stopped:  # since it was asked above: stop() may not have seen this child
                child.terminate()
            status = child.wait()
            self.children.discard(child)
        if status:
            raise subprocess.CalledProcessError(status, command)


# --- one make at a time ------------------------------------------------------

def take_lock(run):
    """The lock is a file's. The file names the holder for those that wait. A `make clean` may remove
    it meanwhile: then the new one is locked."""
    if run.is_dry or run.lock or run["T3_LOCKED"] == str(run.build):
        return
    path, me = run.build / ".lock", f"make {' '.join(run.goals)}"
    # Where programs were compiled, for a debugger in a copy of the tree (vm_gdb.py).
    trees, here = run.build / "trees", f"{ROOT} {run.build}\n"
    try:
        run.build.mkdir(parents=True, exist_ok=True)
        while True:
            opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            run.lock = os.dup2(opened, LOCK)
            if opened != LOCK:
                os.close(opened)
            await_lock(run, path, me)
            if path.exists() and os.path.samestat(os.stat(path), os.fstat(run.lock)):
                break
            os.close(run.lock)
        os.truncate(path, 0)
        os.write(run.lock, f"{me} (process {os.getpid()})\n".encode())
        if not trees.exists() or here not in trees.read_text():
            with open(trees, "a", encoding="utf-8") as file:
                file.write(here)
    except OSError as error:
        # The scripts have a sentence for a folder in which nothing can be built.
        subprocess.run(["bash", "-c", f". {STAGE}/common.sh"], cwd=ROOT, env=run.values, check=True)
        raise error


def await_lock(run, path, me):
    end, holder = time.monotonic() + WAIT_SECONDS, ""
    while time.monotonic() < end and not run.stopped:
        try:
            fcntl.flock(run.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not holder:
                holder = path.read_text().strip()
                print(f"t3: {me} (process {os.getpid()}) waits for {holder}, which holds {path}", file=sys.stderr,
                      flush=True)
            time.sleep(0.1)
    sys.exit(run.stopped or f"t3: {me} has waited for an hour for {holder}, which holds {path}")


def release_lock(run):
    if run.lock:
        os.close(run.lock)
        run.lock = None


# --- the steps ---------------------------------------------------------------

# Packages, by their sets in packages.txt: what a goal needs beyond those of `run`. Any other goal may
# be of the tests or a file of theirs: it needs all.
PACKAGES = {"paper": "paper", "python": "python", "cluster": "cluster", "torch": "python torch",
            "torch-upstream": "python torch", "torch-speed": "python torch", "mpi": "mpi",
            "programs": "mpi programs", "mutants-core": "try mutants", "mutants-libt3": "try mutants",
            "deb": "deb python", "check-deb": "deb python", "series": "series",
            "check-series": "series check-series"}
FOR_RUN = ("run shell build deps qemu kernel module lib tools initramfs bench boots soak-jobs "
           "san-t3 .build/t3 .build/t3-conformance .build/initramfs.img").split()
FOR_GUEST = ("debug-suites tests-image cluster-wide guest conformance loop soak soak-vcpus "
             "soak-nodes soak-driver").split()


def package_sets(run):
    if run["T3_PACKAGES"]:
        return run["T3_PACKAGES"].split()
    if run.is_crossed:
        return sorted(["run", "try", run["T3_ARCH"]])
    sets = set()
    for goal in run.goals:
        if "/" in goal:
            goal = f".build/{product_of(run, goal)}"
        if goal in FOR_GUEST:
            sets |= {"run", "try", "gdb", *(["kernel-debug"] if run.kernel == "kernel-debug" else [])}
        elif goal in FOR_RUN or goal in PACKAGES:
            sets |= {"run", *PACKAGES.get(goal, "").split()}
        else:
            sets.add("check")
    return sorted(sets)


def install_packages(run):
    run.execute([f"{STAGE}/deps.sh", *package_sets(run)])
    if run.is_crossed or run["T3_HOST"]:
        run.execute([f"{STAGE}/sysroot.sh"])


def script(name, *words):
    return lambda run: run.execute([f"{STAGE}/{name}", *words])


def native(folder, *targets):
    return script("native.sh", folder, *targets)


def fetch_qemu(run):
    if not run["T3_HOST"]:
        run.execute([f"{STAGE}/qemu.sh", "fetch"])


def fetch_kernel(run):
    if not run.is_own_kernel():
        run.execute([f"{STAGE}/kernel.sh", "fetch"])


def build_kernel(run):
    run.execute([f"{STAGE}/{run.kernel if run.is_own_kernel() else 'kernel'}.sh"])


def patch_checker(run):
    """Of Debian's usual kernel alone, as it is no part of what is built."""
    if run.kernel == "kernel":
        run.execute([f"{STAGE}/kernel.sh", "checkpatch"])


def is_old(output, *inputs):
    """Whether an input, of which each is a pattern, is newer than the output, or there is none."""
    found = [path for pattern in inputs for path in glob.glob(str(ROOT / pattern), recursive=True)]
    return not output.exists() or any(os.stat(path).st_mtime_ns > output.stat().st_mtime_ns for path in found)


def build_module(run):
    if is_old(run.guest / "module/t3.ko", run.guest / "kernel.stamp", "Kbuild", "driver/**/*.[ch]", "driver/*.in",
              "driver/*.rules", "driver/*.sh", "uapi/*.h", f"{STAGE}/module.sh"):
        run.execute([f"{STAGE}/module.sh"])


def open_mpi_flags(run):
    output = run.build / "openmpi.flags"
    if is_old(output, f"{STAGE}/openmpi.sh"):
        run.execute(["bash", "-c", f"{STAGE}/openmpi.sh >{output}.new && mv {output}.new {output}"])


def uninstalled_pc(run):
    """pkg-config asks for this one first where PKG_CONFIG_PATH names the build folder. It says where
    things are from where it is itself: a tree that is moved stays right."""
    output = run.build / "libt3-uninstalled.pc"
    if run.is_dry or not is_old(output, "libt3/libt3.pc.in", "tools/packaging/VERSION", f"{STAGE}/make.py"):
        return
    text = (ROOT / "libt3/libt3.pc.in").read_text()
    root = f"${{pcfiledir}}/{os.path.relpath(ROOT, os.path.realpath(run.build))}"
    for name, value in (("PREFIX", root), ("LIBDIR", "${pcfiledir}"), ("INCLUDEDIR", "${prefix}/libt3"),
                        ("VERSION", version())):
        text = text.replace(f"@{name}@", value)
    output.write_text(re.sub("^Cflags:.*", "Cflags: -I${includedir} -I${prefix}/uapi", text, flags=re.M))


def build_products(run):
    """What images have, with the programs of one `make try`."""
    native("native", "lib", "tools/t3/t3", *(f"tests/{name}" for name in run["TRY_PROGRAMS"].split()))(run)


def python_package(run):
    """For PYTHONPATH. The modules of C declarations are made, the others copied."""
    place = run.build / "python/t3"
    if run.is_dry or not is_old(place / "_abi.py", "libt3/python/declare.py", "libt3/python/t3/*",
                                "libt3/python/t3/*/*.py", "libt3/*.h", "uapi/*.h"):
        return
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "libt3/python/t3", place, ignore=shutil.ignore_patterns("__pycache__"))
    run.execute(["bash", "-ec", '/usr/bin/python3 "$1" "$2" libt3 uapi >/dev/null; '
                 '/usr/bin/python3 -m compileall -q "$2"', "sh", "libt3/python/declare.py", place])


# --- images ------------------------------------------------------------------

# For compilers in a root of the host.
DEVELOPMENT = ("libt3/t3*.h", "uapi/t3_*.h", "libt3/*.in", "tools/packaging/VERSION")


def pack(run, kind, name, inputs, *programs):
    """An image of `initramfs.sh KIND`. Its first input is the image below it."""
    output = run.guest / name
    programs = [run.build / program for program in programs]
    if is_old(output, *inputs, *programs, *(run.build / library for library in (
            "libt3.so.0", "libt3-check.so.0") if kind != "base")):
        below = [run.guest / inputs[0]] if kind != "base" else []
        run.execute([f"{STAGE}/initramfs.sh", kind, *below, output, *programs])


def programs_of(*patterns):
    """The test programs of these sources: tests/guest/test_abi.c is guest/test_abi."""
    found = [path for pattern in patterns for path in glob.glob(f"{ROOT}/tests/{pattern}")]
    return sorted(path[len(f"{ROOT}/tests/"):-len(".c")] for path in found)


def base_image(run):
    pack(run, "base", "base.img", [run.guest / "kernel.stamp", f"{STAGE}/initramfs.sh", f"{STAGE}/common.sh",
                                   "tools/vm/image/*"])


def run_image(run):
    base = run.guest / "base.img"
    pack(run, "image", "initramfs.img", [base, run.guest / "module/t3.ko", *DEVELOPMENT], "t3")


def tests_image(run):
    guest32 = [] if run.is_crossed else programs_of("guest32/test_*.c")
    pack(run, "tests", "tests.img", [run.guest / "initramfs.img", "driver/60-t3.rules"],
         *programs_of("guest/test_*.c", "guest/removal.c", "guest/node_ranks.c"), *guest32, "t3-conformance")


def mpi_image(run):
    """For programs under Open MPI alone."""
    base = run.guest / "base.img"
    pack(run, "mpi", "mpi.img", [base, run.guest / "module/t3.ko", "tools/vm/image/mpirun", *DEVELOPMENT],
         "t3", *programs_of("examples/*.c"), "mca_coll_t3.so", *programs_of("mpi/*.c"))


def try_image(run):
    """What one `make try` needs. Always packed: the tests change from one to the next."""
    run.execute([f"{STAGE}/initramfs.sh", "tests", run.guest / "initramfs.img", run.guest / "try.img",
                 *(run.build / name for name in run["TRY_PROGRAMS"].split())])


# Name: the steps that must be there first, and what the step does. Packages are fetched by apt without
# any package, so `fetch` needs none.
STEPS = {
    "deps": ("", install_packages),
    "fetch-qemu": ("", fetch_qemu),
    "fetch-kernel": ("", fetch_kernel),
    "qemu": ("deps fetch-qemu", script("qemu.sh")),
    "qtest-build": ("qemu", script("qemu.sh", "qtest")),
    "kernel": ("deps fetch-kernel", build_kernel),
    "checkpatch": ("kernel", patch_checker),
    "module": ("kernel", build_module),
    "uninstalled-pc": ("deps", uninstalled_pc),
    "openmpi-flags": ("deps", open_mpi_flags),
    "products": ("uninstalled-pc", build_products),
    "lib": ("uninstalled-pc", native("native", "lib")),
    "tools": ("deps", native("native", "tools/t3/t3")),
    "mpi": ("openmpi-flags", native("native", "libt3/mca_coll_t3.so")),
    "mpi-programs": ("openmpi-flags", native("native", "mpi-programs")),
    "python": ("lib", python_package),
    "unit-tests": ("deps", native("native", "unit-tests")),
    "uncounted-tests": ("deps", native("native", "uncounted-tests")),
    "counted-tests": ("deps", native("native", "counted-tests")),
    "counted-fuzzers": ("deps", native("native", "counted-fuzzers")),
    "guest-tests": ("deps", native("native", "guest-tests")),
    "traced": ("deps", native("native", "traced")),
    "traced-t3": ("deps", script("native.sh", "traced/t3")),
    "conformance": ("deps", script("native.sh", "t3-conformance")),
    "conformance-native": ("deps", script("native.sh", "conformance-native")),
    "conformance-sanitized": ("deps", script("native.sh", "conformance-native-sanitized")),
    "fuzz-seeds": ("deps", script("native.sh", "fuzz-seeds")),
    "san-t3": ("deps", script("native.sh", "t3-sanitized")),
    "sanitized-tests": ("deps", native("sanitized", "unit-tests")),
    "spec-tests": ("deps", native("sanitized", "spec-tests")),
    "thread-tests": ("deps", native("threads", "thread-tests")),
    "fuzz-build": ("deps", native("fuzzing", "fuzzers")),
    "base.img": ("kernel", base_image),
    "initramfs": ("base.img module products", run_image),
    "tests-image": ("initramfs guest-tests", tests_image),
    "mpi.img": ("base.img module products mpi mpi-programs", mpi_image),
    "try.img": ("qemu initramfs", try_image),
    "build": ("qemu kernel module products initramfs", lambda run: None),
}


def product_of(run, goal):
    """A goal that is a file of the build folder, from there."""
    path = os.path.relpath(os.path.abspath(goal), run.build)
    return os.path.relpath(os.path.abspath(goal), run.guest) if path.startswith(f"{run.guest.name}/") else path


def needed(names):
    """Those steps and all that they need: {name: names}."""
    found, names = {}, list(names)
    while names:
        name = names.pop()
        found[name] = STEPS[name][0].split()
        names += [other for other in found[name] if other not in found]
    return found


def build(run, names):
    """Runs the steps, each when all that it needs is there."""
    order = graphlib.TopologicalSorter(needed(names))
    order.prepare()
    begun = {}
    with concurrent.futures.ThreadPoolExecutor(1 if run.is_dry else run.jobs) as pool:
        try:
            while order.is_active():
                begun.update({pool.submit(STEPS[name][1], run): name for name in order.get_ready()})
                for step in concurrent.futures.wait(begun, return_when="FIRST_COMPLETED").done:
                    step.result()
                    order.done(begun.pop(step))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


# --- the targets -------------------------------------------------------------

def version():
    text = (ROOT / "tools/packaging/VERSION").read_text().strip()
    if not re.fullmatch(r"\d+\.\d+\.\d+", text):
        options.refuse(f"tools/packaging/VERSION says '{text}'; it must be one line like 0.1.0")
    return text


def write(run, *words, **more):
    """Runs a command that writes in the build folder."""
    take_lock(run)
    run.execute(words, **more)


def start(run, *words):
    """Runs what is built, while others may build."""
    release_lock(run)
    run.execute(words, building=False)


def makes(*words):
    """An action of the table that writes; {NAME} is a variable's value."""
    return lambda run: write(run, *(word.format_map(run.values) for word in words))


def runs(*words):
    """An action of the table that starts what is built."""
    return lambda run: start(run, *(word.format_map(run.values) for word in words))


def installation(action):
    return lambda run: write(run, f"{STAGE}/install.py", action, **{name: run[name] for name in options.DIRECTORIES})


def suites(*names):
    return runs(f"{STAGE}/check.py", *names)


def for_this_machine(run, *names):
    """What is built for this machine alone."""
    return [] if run.is_crossed else list(names)


def job_options(run):
    return [word for name in ("ranks", "shape", "dtype", "write", "iters", "tile")
            for word in (f"--{name}", run[name.upper()])]


def run_job(run):
    nodes, ranks = int(run["NODES"]), int(run["RANKS"])
    machine = ["run", "--ranks", ranks] if nodes == 1 else ["cluster", "--nodes", nodes, "--ranks", ranks // nodes]
    start(run, VM, *map(str, machine), "--topology", run["TOPOLOGY"], "--initramfs", run.guest / "initramfs.img", "--name", "run", "--", "t3", "gemm-rs",
          "--timed", *(["--nodes"] if nodes > 1 else []), *job_options(run), "--seed", run["SEED"])


def run_shell(run):
    try:
        more = shlex.split(run["T3_TRY_VM_OPTIONS"])
    except ValueError as error:
        options.refuse(f"VM_OPTIONS: {error}")
    share = ["--share", run["SHARE"]] if run["SHARE"] else []
    start(run, VM, "shell", "--ranks", run["RANKS"], "--name", "shell", *share, *more)


# The suites that a kernel, and those that KVM makes a difference to.
BOOTING = ("package conformance guest guest-iommu guest-ordinary guest-root guest-vcpus root hotplug migrate launch "
           "examples mpi cluster tool e2e").split()
ACCELERATED = ["launcher", "patching", "loop", "newest", *BOOTING[1:]]
# What a suite runs besides the build and the guest's images.
NEEDS = {"lint": "checkpatch", "python": "python", "torch": "python", "torch-upstream": "python", "qtest": "qtest-build",
         "conformance-qtest": "qtest-build", "conformance-native": "conformance-native conformance-sanitized",
         "unit-uncounted": "uncounted-tests",
         "unit-sanitized": "sanitized-tests", "unit-threads": "thread-tests", "spec": "spec-tests",
         "coverage": "counted-tests", "fuzz": "fuzz-build"}
NEEDS_ALONE = {"tutorial": "python", "recipes": "conformance-native conformance-sanitized", "unit": "unit-tests"}


def chosen_suites(run):
    if run.typed.get("SUITES"):
        return run.typed["SUITES"].split()
    if run.is_crossed:
        return "unit conformance guest guest-iommu e2e".split()
    if not re.match("kernel(-|$)", run.kernel):
        return BOOTING
    return ACCELERATED if run["T3_ACCEL"] == "kvm" else []


def needs_of_suites(run):
    chosen = chosen_suites(run)
    more = " ".join({**NEEDS, **NEEDS_ALONE}.get(name, "") for name in chosen) if chosen else " ".join(NEEDS.values())
    return ["build", "tests-image", *(["unit-tests"] if run.is_crossed else ["mpi.img", "traced"]), *more.split()]


def run_suites(run):
    start(run, f"{STAGE}/check.py", *(chosen_suites(run) or (["--all"] if "check-all" in run.goals else [])))


def another(goal, **variables):
    """A goal with other variables, and so another build folder."""
    def act(run):
        values = {name: value.format_map(run.values) for name, value in variables.items()}
        run.execute([f"{STAGE}/make.py", goal], building=False, **values)
    return act


def run_mutants(run):
    """Written faults by FAULTS, else those in the list."""
    if not run["FAULTS"]:
        start(run, "tests/mutants.py")
        return
    suite = ["--suite", run["SUITE"]] if run["SUITE"] else []
    start(run, "tests/faults.py", *suite, "-n", run["MUTANTS"], "-s", run["SEED"], "--results", run.build / "faults.txt",
          *run["FAULTS"].split())


def needs_of_mutants(run):
    native_only = all(re.match("(core|libt3|tools)(/|$)", word) for word in (run["FAULTS"] or "all").split())
    return ["deps"] if native_only else ["build", "tests-image"]


def seeded(*words):
    """Tests with SOAK_SEED, if there is one."""
    return lambda run: runs(words[0], *(["--seed", run["SOAK_SEED"]] if run["SOAK_SEED"] else []), *words[1:])(run)


SOAK = """end=$(($(date +%s) + $1)) seed=1; shift
while [ $(date +%s) -lt $end ]; do "$@" --seed $seed || exit 1; seed=$((seed + 1)); done"""


def soak_jobs(run):
    """Jobs with changing seeds, which the models follow. The record of a failed one stays."""
    record = run.build / "run/soak.t3r"
    if not run.is_dry:
        record.parent.mkdir(exist_ok=True)
        record.unlink(missing_ok=True)
    try:
        start(run, VM, "run", "--ranks", run["RANKS"], "--name", "soak", "--fabric-opts", f"record={record}",
              "--timeout", str(int(run["SOAK_SECONDS"]) + 120), "--", "sh", "-c", SOAK, "soak", run["SOAK_SECONDS"],
              "t3", "gemm-rs", *job_options(run))
    except subprocess.CalledProcessError:
        print(f"The record of the device: t3 sim --replay {record}", file=sys.stderr)
        raise
    if run.is_crossed:
        print("[soak] not followed: the spies are built for this machine alone")
    else:
        start(run, "tests/follow.py", "--replay", record)
    record.unlink(missing_ok=True)


def remove(*names):
    def act(run):
        take_lock(run)
        run.execute(["rm", "-rf", *(run[name] for name in names)])
    return act


def write_series(run):
    write(run, "tools/series/series.sh", run["TREE"])


def show_help(_):
    print(help_text(), end="")


def all_of(*actions):
    def act(run):
        for action in actions:
            action(run)
    return act


def nothing(_):
    pass


# Goal: the steps that it builds, as a text or a function, and what it does then. `make help` shows the
# lines that begin with a number sign and a colon.
TARGETS = {
    "help": ("", show_help),
    #: make run     build what is missing and run a GEMM with reduce-scatter in the guest
    #:                RANKS=4             devices, 2 to 32
    #:                NODES=1             VMs that the devices are on; RANKS is a multiple
    #:                TOPOLOGY=ring       ring, full or switch, in which sums meet if NODES is 1
    #:                SHAPE=256x256x256   MxNxK; M and K divisible by RANKS
    #:                TILE=32x32          tracked tile, rows x columns
    #:                DTYPE=f32           i32, f32, f16, bf16
    #:                WRITE=store         store, doorbell or gemm
    #:                ITERS=4             iterations
    #:                SEED=1              of the input data
    #:                KERNEL=7.3          another kernel in the VM: see make kernels
    #:                ARCH=arm64          an arm64 VM; also for shell, try, unit, guest, conformance,
    #:                                    check
    "run": ("build", run_job),
    #: make shell   an interactive root shell in a guest with RANKS devices
    #:                SHARE=.             the folder of the host that is /mnt/host there, or none
    #:                VM_OPTIONS='--iommu'  more options of t3-vm, as for make try
    "shell": ("build", run_shell),
    #: make try     from an edit to a result: build what changed, boot, run one thing
    #:                TEST=test_ring              a program of tests/guest, with its VM's options
    #:                TEST='test_ring/*stores*' some of its tests: * and ? are wildcards
    #:                CMD='t3 list'               or any command
    #:                RANKS=N, VM_OPTIONS='--iommu', KERNEL=debug or another: see make kernels
    "try": ("", runs(f"{STAGE}/try.py", "try")),
    #: make gdb     the same in a debugger: SIDE=guest, the kernel with t3.ko's symbols, stopped
    #:              before the devices are probed, or SIDE=device, QEMU with the device's
    #:                TEST, CMD, RANKS, KERNEL, VM_OPTIONS   as of make try
    #:                GDB_COMMANDS=FILE                      run these and end, GDB='more arguments'
    #:                CORE=.build/run/NAME/guest/core...gz   a core that a run has left
    "gdb": ("", runs(f"{STAGE}/try.py", "gdb")),
    #: make check   lint, unit and spec tests and their coverage, a short fuzz run, qtest,
    #:              conformance, guest and end-to-end runs, the tool and Python
    #: make check-all  these, hot-plug, migration, several VMs, Open MPI, programs, packages, pages'
    #:              commands and the rest of tests/suites.md, in one run
    #:                KERNEL=7.3          what boots a VM, with that kernel: see make kernels
    #:                ACCEL=kvm           what boots a VM, run by KVM; ACCEL=tcg (the default)
    #:                                    translates. For each goal that boots a VM; auto is kvm
    #:                                    where it works
    #:                SUITES='unit-sanitized tool'  only these: tests/suites.md
    "known-suites": ("deps", lambda run: run.execute([f"{STAGE}/check.py", "--known", *chosen_suites(run)])),
    "check": (needs_of_suites, run_suites),
    "check-all": (needs_of_suites, run_suites),
    #:                QEMU=10.2           the device in another QEMU, for each goal that needs one
    #: make kernels        the kernels that the mirror offers, and those in the cache. KERNEL=7.3, or
    #:                any other beginning of a version, is the newest of these for run, shell, try,
    #:                gdb, check and the suites that boot
    #: make check-matrix   conformance and guest tests on the usual kernel and the newest of each
    #:              version, and in each other QEMU on the newest kernel, for README's table:
    #:                CELLS='7.3 7.3/10.2'  these kernels, with a QEMU or the usual one
    #: make machines       the table of these results in tests/machines.md, from tests/machines.json
    "kernels": ("", runs(f"{STAGE}/kernel.sh", "list")),
    "check-matrix": ("", lambda run: start(run, f"{STAGE}/matrix.py", *run["CELLS"].split())),
    "machines": ("", runs(f"{STAGE}/machines.py", "render")),
    #: make check-debug   guest and hot-plug suites, KUnit tests, faults injected into every
    #:              allocation, removals and random calls under a debug kernel (KASAN,
    #:              lockdep, kmemleak, panic_on_warn), built below .build/debug
    "check-debug": ("", another("debug-suites", T3_BUILD="{T3_BUILD}/debug", T3_KERNEL="kernel-debug")),
    "debug-suites": ("build tests-image traced-t3", suites("guest", "guest-iommu", "hotplug")),
    #: make check-host   the device in a QEMU for an arm64 machine, built below .build/host-arm64, and
    #:              what of it can run here (by qemu-user)
    "check-host": ("", another("host-suite", T3_BUILD="{T3_BUILD}/host-arm64", T3_HOST="arm64",
                              T3_PACKAGES="run arm64")),
    "host-suite": ("qtest-build", suites("host")),
    #: make check-fresh   make run and make check-all on a Debian that is installed for it:
    #:                RELEASE=trixie      or bookworm
    "check-fresh": ("", runs("tests/check-fresh.sh")),
    #: make lint package unit spec qtest guest conformance loop model examples   those suites alone
    "lint": ("module checkpatch qemu lib tools mpi", suites("lint")),
    "package": ("kernel", suites("package")),
    "unit": (lambda run: ["unit-tests", *for_this_machine(run, "sanitized-tests", "thread-tests")],
             lambda run: suites("unit", *for_this_machine(run, "unit-sanitized", "unit-threads"))(run)),
    "spec": ("spec-tests", suites("spec")),
    "qtest": ("qtest-build tools", suites("qtest")),
    "guest": ("build tests-image", suites("guest")),
    "loop": ("build tests-image", suites("loop", "stuck")),
    "conformance": ("build tests-image", suites("conformance")),
    "model": ("traced", suites("model-all")),
    "examples": ("build mpi.img mpi-programs", suites("examples", "mpi")),
    #: make spec-appendix   what SPEC.md says of uapi/t3_hw.h's names and layouts, anew
    "spec-appendix": ("", runs("python3", "tests/spec/appendix.py", "qemu-device/SPEC.md", "uapi/t3_hw.h")),
    #: make conformance-native   that suite on the device's model in a process: no VM, a second
    "conformance-native": ("conformance-native conformance-sanitized conformance", suites("conformance-native")),
    #: make conformance-qtest   the same in a QEMU without a guest, with a thread of events
    "conformance-qtest": ("qtest-build", suites("conformance-qtest")),
    #: make programs  MPI programs of Debian with and without T3 (a part of it is in make check)
    #:                MPI4PY=DIR          mpi4py's own tests, where the mirror has no source of it
    "programs": ("build mpi", suites("programs-all")),
    #: make mpi     the component of Open MPI: .build/mca_coll_t3.so (libt3/mpi/README.md)
    "mpi": ("mpi", nothing),
    #: make cluster  tests of several nodes (t3-vm cluster), also by mpirun and srun. Slurm, which is
    #:              installed for it, does not run for make check
    "cluster": ("build tests-image mpi.img", suites("cluster")),
    #: make torch    tests of the backend of PyTorch, here and in a VM. python3-torch, of 640 MB, is
    #:              installed for them; check-all skips them where it is missing
    "torch": ("build python", suites("torch")),
    #: make torch-upstream  torch's own tests of collectives on that backend, with 2 and 4 ranks
    "torch-upstream": ("build python", suites("torch-upstream")),
    #: make torch-speed  collectives of that backend beside gloo in a VM, from 1 KiB to 64 MiB
    "torch-speed": ("build python", runs("tests/torch/run.py", "speed")),
    #: make cluster-wide  the same for 4 nodes with 8 devices each: the GEMM, all collectives, faults of
    #:              nodes. Half an hour on 2 cores; not in make check. T3_WIDE=2x4 takes other numbers
    "cluster-wide": ("build tests-image", suites("cluster-wide")),
    #: make fuzz    each target of tests/fuzz for FUZZ_SECONDS=900 with FUZZ_SEED (random):
    #:                FUZZ=fuzz_regs      that target alone
    #:                FUZZ_INPUT=FILE     run that input once, with FUZZ=target
    "fuzz": ("fuzz-build", runs("tests/fuzz/run.py")),
    #: make fuzz-report  what the corpus, and what long runs have found, reach of each file of the core
    "fuzz-report": ("counted-fuzzers", all_of(runs("tests/coverage.py", "--fuzz", "--html"),
                                               runs("tests/fuzz/run.py", "--total"))),
    #: make fuzz-corpus  write the seed corpus anew
    "fuzz-corpus": ("fuzz-seeds", makes("{T3_BUILD}/fuzz-seeds", "tests/fuzz/corpus")),
    #: make coverage   lines and branches of qemu-device/core that unit and spec tests reach; the page
    #:              .build/cov/report.html shows them in the code
    "coverage": ("counted-tests", runs("tests/coverage.py", "--html")),
    #: make mutants break the product in places on purpose: the tests must notice
    #:                FAULTS=core         written faults instead, of rooms or by name: tests/faults.py
    #:                MUTANTS=300         of these drawn by SEED=1
    #:                SUITE=native        another suite than their usual ones
    "mutants": (needs_of_mutants, run_mutants),
    #: make mutants-core mutants-libt3  generated mutants of the core or of libt3: how many its native
    #:              tests find
    #:                MUTANTS=300         drawn by SEED=1
    "mutants-core": ("deps", runs("tests/mutate.py", "--room", "core", "-n", "{MUTANTS}", "-s", "{SEED}",
                                  "--json", "{T3_BUILD}/mutants-core.json")),
    "mutants-libt3": ("deps", runs("tests/mutate.py", "--room", "libt3", "-n", "{MUTANTS}", "-s", "{SEED}",
                                   "--json", "{T3_BUILD}/mutants-libt3.json")),
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
    "soak": ("", lambda run: perform(run, SOAKS)),
    "soak-jobs": (lambda run: ["build", *for_this_machine(run, "traced-t3")], soak_jobs),
    "soak-vcpus": ("build tests-image", seeded("tests/soak_vcpus.py", "--migrate-every", "{SOAK_MIGRATE}",
                                               "--scale", "{SOAK_SCALE}", "{SOAK_SECONDS}")),
    "soak-nodes": ("build", seeded("tests/soak_nodes.py", "{SOAK_SECONDS}")),
    "soak-driver": ("build tests-image", runs("tests/soak.py", "{SOAK_ROUNDS}", "{SOAK_CLIENTS}", "{SOAK_SECONDS}",
                                              "{SOAK_HOGS}")),
    "boots": ("build", runs("tests/boots.py", "{COUNT}")),
    #: make san-t3  .build/t3-sanitized: t3 with ASan and UBSan, to replay a record
    "san-t3": ("san-t3", nothing),
    #: make paper   T3's whole evaluation in virtual time: sub-layers, larger models, iterations and
    #:                sweeps, with ranges from joint draws of all assumptions, some of them again by
    #:                the devices of a VM; JSON, plots and one page, index.html, in .build/paper
    "paper": ("build", runs("tools/paper/paper.py")),
    #: make bench   how fast the timed model and the devices in a VM are on this host
    "bench": ("build qtest-build", runs("tests/bench.py")),
    #: make pictures   the SVG pictures of the documents from their .dot sources, by graphviz
    "pictures": ("", runs("tests/lint/pictures.py")),
    #: make format  clang-format on what it judges (not driver/, not uapi/)
    "format": ("deps", makes("tests/lint/lint.sh", "--format")),
    #: make python  the Python package t3 in .build/python, for PYTHONPATH: libt3/python/README.md
    "python": ("python", nothing),
    #: make deps qemu kernel module lib tools initramfs   the steps, one by one
    #: make tests-image   initramfs, and behind it the programs of tests/guest, tests/guest32 and
    #:              tests/conformance: t3-vm takes it while it is the newer one
    #: make dkms    the module's sources for DKMS, and its udev rule:
    #:                DESTDIR=DIR         below DIR (default: the machine's own /usr)
    "dkms": ("", lambda run: start(run, f"{STAGE}/dkms.sh", run["DESTDIR"])),
    #: make dist    the last commit as .build/dist/t3-VERSION.tar.gz; the same bytes each time
    "dist": ("", runs("tools/packaging/dist.sh", "{T3_BUILD}/dist")),
    #: make deb     Debian packages for this release of Debian in .build/deb: libt3-0, libt3-dev,
    #:              python3-t3, t3-tools, t3-dkms, qemu-system-t3 and t3-vm, of what is built here
    #: make check-deb   lintian, installing, upgrading and removing them in a fresh Debian, a
    #:              VM from them there; needs root and some minutes; RELEASE=trixie: in Debian 13
    "deb": ("build python", makes("tools/packaging/deb.sh")),
    "check-deb": ("build python", all_of(makes("tools/packaging/deb.sh"), suites("deb"))),
    #: make series  the driver for a kernel's own tree: a series of patches in .build/series/patches
    #:                TREE=DIR            that kernel's source; default: the newest linux-source that
    #:                                    Debian's suites offer, unpacked in the cache
    #: make check-series  the same, applied to the tree, and each patch built: for x86 and arm64, by
    #:              gcc and clang; checkpatch, sparse, kernel-doc and the pages. An hour, once
    "series": ("deps", write_series),
    "check-series": ("deps qemu", all_of(write_series, suites("series-tree"))),
    #: make install uninstall   t3, libt3 with its headers and manual. Builds what it installs
    #:              and no more, installs no packages:
    #:                PREFIX=/usr/local   LIBDIR, BINDIR, INCLUDEDIR, DATADIR, MANDIR lie in it
    #:                DESTDIR=DIR         before all of them, for packages; needs no root
    "install": ("", installation("install")),
    "uninstall": ("", installation("uninstall")),
    #: make clean   remove .build; `make distclean` also removes the cache
    "clean": ("", remove("T3_BUILD")),
    "distclean": ("", remove("T3_BUILD", "T3_CACHE")),
}
SOAKS = ["soak-jobs", "soak-vcpus", "soak-nodes", "soak-driver", "boots"]
# Files of the build folder that are steps; any other one is a product of native.sh.
FILES = {"initramfs.img": "initramfs", "tests.img": "tests-image", "t3": "products", "module/t3.ko": "module",
         "libt3.so": "products", "libt3.so.0": "products", "libt3-check.so.0": "products", "kernel.stamp": "kernel",
         "mca_coll_t3.so": "mpi", "python/t3/_abi.py": "python", "libt3-uninstalled.pc": "uninstalled-pc",
         "openmpi.flags": "openmpi-flags", "base.img": "base.img", "mpi.img": "mpi.img", "try.img": "try.img"}


def help_text():
    lines = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()
    return "".join(re.sub("^ *#: ?", "", line) + "\n" for line in lines if line.lstrip().startswith("#:"))


def target_of(run, goal):
    """(steps, action) of a target, of a step, or of a file in the build folder."""
    if goal in TARGETS:
        steps, action = TARGETS[goal]
        return steps(run) if callable(steps) else steps.split(), action
    if goal in STEPS:
        return [goal], nothing
    product = product_of(run, goal)
    if product.startswith("..") or "/" not in goal:
        options.refuse(f"there is no target '{goal}': `make help` lists them")
    if product in FILES:
        return [FILES[product]], nothing
    if product.startswith(("examples/", "mpi/")):
        return ["mpi-programs"], nothing
    return ["deps"], makes(f"{STAGE}/native.sh", product)


def perform(run, goals):
    """One after the other. With -k those after one that fails, too; then the first failure is raised."""
    failure = None
    for goal, (steps, action) in [(goal, target_of(run, goal)) for goal in goals]:
        try:
            if steps:
                take_lock(run)
                build(run, steps)
            action(run)
        except subprocess.CalledProcessError as error:
            failure = failure or error
            if run.stopped or not run.goes_on:
                break
            print(f"t3: make {goal} has failed, and -k goes on", file=sys.stderr, flush=True)
    if failure:
        raise failure


def stop(run, number):
    """A make that is ended waits for its children: they have a signal of a terminal, too."""
    run.stopped = 128 + number
    if number == signal.SIGTERM:
        for child in run.children.copy():
            child.terminate()


def main():
    run = Run(dict(os.environ), sys.argv[1:])
    version()
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: stop(run, number))
    if {"run", "soak", "soak-jobs"} & set(run.goals):
        options.check_run(run.values)
    if run["T3_ACCEL"] == "kvm" and not run["T3_LOCKED"] and \
            subprocess.run(["python3", "tools/vm/vm_kvm.py"], cwd=ROOT, env=run.values, check=False).returncode:
        return 2
    try:
        if run.typed.get("SUITES"):
            perform(run, ["known-suites"])  # before minutes of building
        perform(run, run.goals)
    except subprocess.CalledProcessError as error:
        return run.stopped or (error.returncode if error.returncode > 0 else 128 - error.returncode)
    return 0


if __name__ == "__main__":
    sys.exit(main())

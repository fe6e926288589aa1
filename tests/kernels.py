#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Kernels: what the driver finds in their headers, how one is selected, and how its packages are
unpacked; TAP on stdout.

usage: kernels.py [NAME...]     (default: all tests)
"""

import lzma
import pathlib
import re
import shutil
import subprocess
import sys

import loop
from build import folder
from guest.suite import NEWEST
from loop import ROOT, check, expect, run

PROBE = ROOT / "driver/probe.sh"


# --- the driver's probe ------------------------------------------------------

# (flag, header, the line of a newer kernel, the line of an older one)
FORMS = [
    ("SCHED_INIT_ARGS", "drm/gpu_scheduler.h", "struct drm_sched_init_args {",
     "\t\t   u32 num_rqs, u32 credit_limit, unsigned int hang_limit,"),
    ("SCHED_CLIENT_ID", "drm/gpu_scheduler.h", "\t\t       u64 drm_client_id);",
     "\t\t       u32 credits, void *owner);"),
    ("SCHED_STAT_RESET", "drm/gpu_scheduler.h", "\tDRM_GPU_SCHED_STAT_RESET,",
     "\tDRM_GPU_SCHED_STAT_NOMINAL,"),
    ("DRIVER_DATE", "drm/drm_drv.h", "\tchar *date;", "\tchar *desc;"),
    ("GEM_OBJECT_ACTIVE", "drm/drm_gem.h", "\tDRM_GEM_OBJECT_ACTIVE    = BIT(2),",
     "\tDRM_GEM_OBJECT_RESIDENT  = BIT(0),"),
    ("IMPORT_NS_STRING", "linux/module.h", "MODULE_INFO(import_ns, ns)",
     "MODULE_INFO(import_ns, __stringify(ns))"),
    ("DMA_BUF_INVALIDATE", "linux/dma-buf.h",
     "void dma_buf_invalidate_mappings(struct dma_buf *dma_buf);",
     "void dma_buf_move_notify(struct dma_buf *dma_buf);"),
    ("SYSTEM_DFL_WQ", "linux/workqueue.h", "extern struct workqueue_struct *system_dfl_wq;",
     "extern struct workqueue_struct *system_unbound_wq;"),
    ("ALLOC_OBJ", "linux/slab.h", "#define kzalloc_obj(P, ...) \\",
     "#define kzalloc(...)\t\t\t\talloc_hooks(kzalloc_noprof(__VA_ARGS__))"),
]


def headers(place, forms, without=""):
    """A kernel's headers, with these lines and with what the driver needs of all kernels."""
    shutil.rmtree(place / "include", ignore_errors=True)
    lines = {}
    for header, names in re.findall(r"^needs (\S+) ((?:.*\\\n)*.*)$", PROBE.read_text(), re.M):
        lines[header] = [name for name in names.replace("\\", "").split() if name != without]
    for header, line in forms:
        lines.setdefault(header, []).append(line)
    for header, text in lines.items():
        path = place / "include" / header
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(text) + "\n")
    return run("sh", PROBE, place)


def probe_tells_forms():
    """A flag for each interface that has its newer form, and no flag for an older one."""
    with folder() as place:
        for _, is_newer in (("older", False), ("newer", True)):
            result = headers(place, [(header, newer if is_newer else older)
                                     for _, header, newer, older in FORMS])
            expect(result, 0)
            wanted = [f"-DT3_HAVE_{flag}" for flag, *_ in FORMS] if is_newer else []
            check(result[1].split() == wanted, "flags", result[1])
        for changed, (flag, *_) in enumerate(FORMS):
            result = headers(place, [(header, newer if number == changed else older)
                                     for number, (_, header, newer, older) in enumerate(FORMS)])
            check(result[1].split() == [f"-DT3_HAVE_{flag}"], f"only {flag}", result[1])


def probe_names_what_changed():
    """An interface in a form that the driver does not know is named, with its header."""
    older = [(header, line) for _, header, _, line in FORMS]
    with folder() as place:
        for number, (_, header, _, _) in enumerate(FORMS):
            result = headers(place, older[:number] + older[number + 1:])
            expect(result, 0, rf"^changed: [\w() ]+ \(<{header}>\)$")
        expect(headers(place, older, without="drm_print_memory_stats"), 0,
               r"^changed: drm_print_memory_stats \(<drm/drm_file.h>\)$")


def each_flag_is_used():
    """The header decides by all flags of the probe, and by no others."""
    text = (ROOT / "driver/t3_compat.h").read_text()
    used = sorted(re.findall(r"^#ifn?def T3_HAVE_(\w+)$", text, re.M))
    check(used == sorted(flag for flag, *_ in FORMS), "flags of t3_compat.h", used)
    probed = re.findall(r"^differs (\w+)", PROBE.read_text(), re.M)
    check(sorted(probed) == used, "flags of probe.sh", probed)


# --- selectors ---------------------------------------------------------------

def kernel_script(place, script, kernel="7.3", **more):
    """Run a script with the functions of kernel.sh, in a cache of its own."""
    return run("bash", "-c", "set -euo pipefail; . tools/build/kernel.sh\n" + script,
               env={"T3_CACHE": str(place / "cache"), "T3_BUILD": str(place / "build"),
                    "T3_KERNEL": kernel, "T3_GUEST": str(place / "build"), **more})


# Package names as Debian has them. Those of 8.1 have no image, and those of 8.2 no headers.
NAMES = """linux-image-6.1.0-5-amd64 linux-headers-6.1.0-5-amd64
linux-image-6.12.95+deb12-amd64 linux-headers-6.12.95+deb12-amd64
linux-image-6.12.117+deb12-amd64 linux-headers-6.12.117+deb12-amd64
linux-image-6.12.117+deb13-amd64 linux-headers-6.12.117+deb13-amd64
linux-image-7.2.9+deb13-amd64 linux-headers-7.2.9+deb13-amd64
linux-image-7.2.12+deb14-amd64 linux-headers-7.2.12+deb14-amd64
linux-image-7.20.1-amd64 linux-headers-7.20.1-amd64
linux-image-7.2.13-cloud-amd64 linux-headers-7.2.13-cloud-amd64
linux-image-7.2.13-amd64-unsigned linux-image-amd64 linux-headers-amd64
linux-headers-8.1.1+deb13-amd64 linux-image-8.2.1-amd64"""

# (selector, what it means on a machine with Debian 12; None: nothing)
SELECTED = [("6.12", "6.12.117+deb12"), ("6.12.117", "6.12.117+deb12"),
            ("6.12.117+deb13", "6.12.117+deb13"), ("6.12.9", None), ("6.12.95", "6.12.95+deb12"),
            ("6.1", None), ("7.2", "7.2.12+deb14"), ("7.2.9", "7.2.9+deb13"), ("7", "7.20.1"),
            ("8", None), ("newest", "7.20.1")]


def selector_means_newest():
    """Versions are compared by their numbers. Of one version, this machine's own is taken."""
    script = f"""
        own_suffix() {{ echo +deb12; }}
        apt_private() {{ printf '%s\\n' {NAMES.replace(chr(10), " ")}; }}
        for selector in {" ".join(selector for selector, _ in SELECTED)}; do
            echo "$selector $(offered_kernel $selector)"
        done"""
    with folder() as place:
        result = kernel_script(place, script)
    expect(result, 0)
    wanted = [f"{selector} {release}-amd64" if release else f"{selector} "
              for selector, release in SELECTED]
    check(result[1].splitlines() == wanted, "selected", result[1])


REFUSED = ["7.", ".7", "7.3.4.5", "v7.3", "7.3/..", "7.3 6.12", "deb13", "oldest", "$(id)", "7.3'"]


def bad_selectors():
    """One sentence at once, from make and from make try, and nothing is built."""
    for word in REFUSED:
        for command in (["make", "-s", "run"], ["make", "-s", "check"], ["make", "-s", "try",
                                                                      "CMD=true"]):
            result = run(*command, f"KERNEL={word.replace('$', '$$')}")
            expect(result, 2, "KERNEL must be the beginning of a version, as in 7.3 or 6.12.117")
            said = [line for line in result[2].splitlines() if not line.startswith("make: ***")
                    or "KERNEL" in line]
            check(len(said) == 1, f"{word}: one sentence", result[2])
    expect(run("make", "-s", "run", "KERNEL=debug"), 2, "KERNEL=debug is for make try and make gdb")


def nothing_offered_is_told():
    """A status of its own, and what there is. The newest of all may be missing too."""
    for kernel in ("9.9", "newest"):
        for offered in ("7.3.4+deb13-amd64", ""):
            if kernel == "newest" and offered:
                continue
            with folder() as place:
                result = kernel_script(place, f"""
                    apt_setup() {{ :; }}
                    offered_kernels() {{ echo {offered}; }}
                    main fetch""", kernel)
            expect(result, 77, rf"^t3: the mirror has no Linux {kernel} for amd64; it has: "
                   + re.escape(offered.replace("-amd64", "")))


def entry(place, name, key, release, complete=True):
    path = place / "cache" / f"{name}-{release}-{key}"
    path.mkdir(parents=True)
    (path / "release").write_text(release + "\n")
    (path / ".fetched").write_text(release + "\n")
    if complete:
        (path / ".complete").touch()


# An entry is found before the last one is looked at: nothing may end by a pipe that closed early.
SLOW_CAT = 'cat() { sleep 0.05; command cat "$@"; }\n'


def cache_is_enough():
    """What a selector means is looked for in the cache first, in entries of whoever fetched them.
    The usual kernel stays the one of this release, whatever else is there."""
    with folder() as place:
        entry(place, "kernel", "key", "6.12.95+deb12-amd64")
        entry(place, "linux", "key", "7.3.4+deb13-amd64")
        entry(place, "linux", "key", "7.3.5+deb13-amd64", complete=False)
        entry(place, "linux", "other", "7.3.6+deb13-amd64")
        for kernel, wanted in (("7.3", "linux-7.3.4+deb13-amd64-key"), ("7.2", ""), ("7.3.6", ""),
                               ("6.12", "kernel-6.12.95+deb12-amd64-key"),
                               ("kernel", "kernel-6.12.95+deb12-amd64-key")):
            result = kernel_script(place, SLOW_CAT + "ready_entry key", kernel)
            expect(result, 0)
            check(pathlib.Path(result[1].strip()).name == wanted, f"{kernel}: {wanted}", result[1])
        entry(place, "linux", "key", "7.2.1-amd64", complete=False)
        for kernel, wanted in (("7.3", "linux-7.3.5+deb13-amd64-key"), ("7.3.4", ""), ("7.1", ""),
                               ("7.2", "linux-7.2.1-amd64-key"),
                               ("newest", "linux-7.3.5+deb13-amd64-key")):
            result = kernel_script(place, "begun_kernel key", kernel)
            check(pathlib.Path(result[1].strip()).name == wanted, f"begun {kernel}", result[1])


def suites_are_the_machines():
    """All places come from this machine's own apt. The usual build looks at no more than before."""
    script = """
        apt_sources_of() { [ "$2" = "$WITHOUT" ] || echo "place:/$2/"; }
        apt_write_config() { :; }
        mkdir -p "$T3_CACHE/apt" "$T3_CACHE/apt-all"
        apt_write_sources
        apt_all_suites
        apt_write_sources
        cat "$T3_CACHE/apt/sources.list"; echo; cat "$T3_CACHE/apt-all/sources.list" """
    for without, count in (("nothing", 7), ("Debian-Security", 5)):
        with folder() as place:
            result = kernel_script(place, script, WITHOUT=without)
        expect(result, 0)
        usual, more = (text.splitlines() for text in result[1].split("\n\n"))
        check(len(usual) == 2 and len(more) == count, f"{without}: lists", result[1])
        for line in usual + more:
            check(re.search(r"^deb(-src)? \[signed-by=/usr/share/keyrings/\S+\] "
                            r"place:/Debian(-Security)?/ [a-z]+(-[a-z]+)? main$", line), "a line", line)


def apt_is_asked_for_suites_once():
    """And again when the machine's own sources or lists have changed, or it is another machine."""
    script = """
        apt_sources_of() { echo asked >>"$T3_CACHE/calls"; echo place:/; }
        mkdir -p "$APT_DIR"
        apt_write_sources; apt_write_sources; wc -l <"$T3_CACHE/calls"
        echo other >"$APT_DIR/.asked"; apt_write_sources; wc -l <"$T3_CACHE/calls"
        rm "$APT_DIR/sources.list"; apt_write_sources; wc -l <"$T3_CACHE/calls" """
    with folder() as place:
        expect(kernel_script(place, script), 0, r"\A1\n2\n3\n\Z")


# --- packages ----------------------------------------------------------------

LAYOUTS = r"""
R=7.3.4+deb13-amd64
apt_private() { printf '%s\n' $MODULES; }
deb_fetch() {
	mkdir -p "$2"
	cd "$2"
	echo "$1" >>"$T3_CACHE/fetched"
	case $1 in
	linux-image-*) mkdir -p boot usr/lib/modules/$R && cp "$IMAGE" boot/vmlinuz-$R &&
		echo config >boot/config-$R ;;
	linux-binary-*) mkdir -p usr/lib/modules/$R && cp "$IMAGE" usr/lib/modules/$R/vmlinuz ;;
	linux-base-*) mkdir -p usr/lib/modules/$R && echo config >usr/lib/modules/$R/config ;;
	linux-modules-*) mkdir -p usr/lib/modules/$R/kernel/{drm,sound} &&
		touch usr/lib/modules/$R/kernel/{drm/drm.ko.xz,sound/sound.ko.xz} ;;
	*-common) mkdir -p usr/src/linux-headers-${R%-amd64}-common ;;
	linux-headers-*) mkdir -p usr/src/$1 && echo "kernelversion: ; @echo 7.3.4" >usr/src/$1/Makefile &&
		touch usr/src/$1/.kernelvariables ;;
	linux-kbuild-*) mkdir -p usr/lib/$1 ;;
	esac
	cd - >/dev/null
}
depmod() { :; }
mkdir -p "$T3_CACHE/root"
fetch_kernel "$T3_CACHE/root" $R
prepare_kernel "$T3_CACHE/root" $R
cat "$T3_CACHE/root/boot/config-$R" "$T3_CACHE/root/release"
"""


def image_of(payload):
    """A self-extracting kernel with this compressed payload, by Documentation/arch/x86/boot.rst."""
    image = bytearray(2048)
    image[497] = 1  # sectors of set-up code
    image[584:588] = (512).to_bytes(4, "little")
    image[588:592] = (len(payload) + 4).to_bytes(4, "little")
    return bytes(image[:1024 + 512]) + payload + bytes(4) + b"what follows"


def compressed(place):
    """{name: an image}, of an ELF file in the two compressions that Debian's kernels have."""
    program = pathlib.Path("/bin/true").read_bytes()
    zstd = subprocess.run(["zstd", "-qc"], input=program, capture_output=True, check=True).stdout
    for name, payload in (("xz", lzma.compress(program)), ("zstd", zstd)):
        (place / name).write_bytes(image_of(payload))
        yield place / name


def both_layouts_unpack():
    """One package with the image below boot, or three with all of it beside the modules."""
    release = "7.3.4+deb13-amd64"
    for modules, fetched in (("", ["linux-image"]),
                             (f"linux-modules-{release}",
                              ["linux-binary", "linux-modules", "linux-base"])):
        with folder() as place:
            for image in compressed(place):
                shutil.rmtree(place / "cache", ignore_errors=True)
                result = kernel_script(place, LAYOUTS, IMAGE=str(image), MODULES=modules)
                expect(result, 0, "^config$", f"^{re.escape(release)}$", r"^7\.3\.4$")
                root = place / "cache/root"
                said = (place / "cache/fetched").read_text().split()
                check(said[:len(fetched)] == [f"{name}-{release}" for name in fetched], "packages",
                      said)
                check((root / "vmlinux").read_bytes() == pathlib.Path("/bin/true").read_bytes(),
                      f"{image.name}: the kernel is not what was packed")
                check((root / f"lib/modules/{release}/build/Makefile").exists(), "headers")
                check(not list(root.rglob("sound.ko*")), "a module that no guest needs is there")


TOOL = r"""
kbuild=$T3_CACHE/root/usr/lib/linux-kbuild-7.3/scripts/mod
libraries=$T3_CACHE/root/libraries/usr
mkdir -p "$kbuild" "$libraries/lib64" "$libraries/lib/x86_64-linux-gnu"
cp /bin/echo "$kbuild/modpost.real-lsb-64"
cp /bin/echo "$kbuild/modpost"
cp -L /lib64/ld-linux-x86-64.so.2 "$libraries/lib64/"
cp -L /lib/x86_64-linux-gnu/libc.so.6 "$libraries/lib/x86_64-linux-gnu/"
ldd() { [ "${1##*/}" = modpost ] || ! grep -q ELF <(head -c 4 "$1") || echo "version \`GLIBC_2.99' not found (required by $1)"; }
deb_fetch() { echo "fetched $1"; }
fetch_libraries "$T3_CACHE/root"
adapt_tools "$T3_CACHE/root"
adapt_tools "$T3_CACHE/root"
mv "$T3_CACHE/root" "$T3_CACHE/moved"
cd "$T3_CACHE/moved/usr"
lib/linux-kbuild-7.3/scripts/mod/modpost.real-lsb-64 -a 'b  c'
head -c 4 lib/linux-kbuild-7.3/scripts/mod/modpost | grep -c ELF
"""


def foreign_tools_run():
    """A tool for a newer C library is started by that library's loader, also after a move. One that
    runs here stays as it is."""
    with folder() as place:
        expect(kernel_script(place, TOOL), 0, "^fetched libc6$", "^fetched libelf1t64$",
               "^-a b  c$", "^1$")


COMPILER = r"""
headers=$T3_CACHE/headers
mkdir -p "$headers"/include/{config,generated}
echo 'CC = $(if $(X),$(CCACHE)) $(CROSS_COMPILE)'$NAMED >"$headers/.kernelvariables"
printf '%s\n' CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=y CONFIG_OTHER=y >"$headers/include/config/auto.conf"
printf '#define CONFIG_%s 1\n' CC_HAS_MIN_FUNCTION_ALIGNMENT OTHER >"$headers/include/generated/autoconf.h"
compiler_can() { [ "$KNOWS" = yes ] || [ -z "$1" ]; }
gcc-77() { :; }
adapt_compiler "$headers"
cat "$headers/.kernelvariables" "$headers/include/config/auto.conf" "$headers/include/generated/autoconf.h"
"""


def compiler_is_the_machines():
    """Where the kernel's compiler is not here, the machine's is taken, without what it cannot do."""
    for named, knows, compiler, options in (("gcc-78", "no", "gcc", 0), ("gcc-78", "yes", "gcc", 2),
                                            ("gcc", "no", "gcc", 0), ("gcc-77", "no", "gcc-77", 2)):
        with folder() as place:
            result = kernel_script(place, COMPILER, NAMED=named, KNOWS=knows)
        expect(result, 0, rf"\$\(CROSS_COMPILE\){compiler}$", "^CONFIG_OTHER=y$",
               "^#define CONFIG_OTHER 1$")
        check(result[1].count("MIN_FUNCTION_ALIGNMENT") == options, "options", result[1])


def compiler_is_asked():
    """An option or a text that the machine's compiler warns of is one that it lacks."""
    with folder() as place:
        for option, text, can in (("", "int i;", 0), ("-O2", "int i;", 0),
                                  ("-fno-such-option", "int i;", 1),
                                  ("", "int i __attribute__((__no_such__));", 1)):
            said = kernel_script(place, f"compiler_can '{option}' '{text}' || echo no")[1]
            check(said == "no\n" * can, f"'{option}' '{text}'", said)


# --- suites ------------------------------------------------------------------

def newest_has_its_programs():
    """What make check runs on the newest kernel is there."""
    missing = [name for name in NEWEST if not (ROOT / f"tests/guest/{name}.c").exists()]
    check(NEWEST and not missing, "no such program", missing)


def newest_may_be_missing():
    """A mirror without it is a skip with the reason, and no failure. A broken build is a failure."""
    with folder() as place:
        tree = place / "tree"
        for name in ("tools/build/batch.py", "tests/tap.py", "tests/vm.py", "tests/guest/suite.py", "tests/guest/vm-options"):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
        for status, said in ((77, "ok 1 - newest/module # SKIP"), (100, "ok 1 - newest/module # SKIP"),
                             (1, "not ok 1 - newest/module")):
            script = tree / "tools/build/kernel.sh"
            script.write_text(f"#!/bin/sh\necho 't3: the mirror has no Linux'\nexit {status}\n")
            script.chmod(0o755)
            result = run(tree / "tests/guest/suite.py", "newest",
                         env={"T3_BUILD": str(place / "build"), "T3_GUEST": str(place / "build")})
            expect(result, 0, f"^{said}$", "^#.* the mirror has no Linux", r"^1\.\.1$")


TESTS = [probe_tells_forms, probe_names_what_changed, each_flag_is_used, selector_means_newest,
         bad_selectors, nothing_offered_is_told, cache_is_enough, suites_are_the_machines,
         apt_is_asked_for_suites_once, both_layouts_unpack, foreign_tools_run, compiler_is_the_machines,
         compiler_is_asked, newest_has_its_programs, newest_may_be_missing]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))

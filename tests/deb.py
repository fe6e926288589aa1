#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Debian packages that `make deb` has made, in a fresh Debian; TAP on stdout.

usage: deb.py [--release CODENAME] [NAME...]     (default: this machine's release, all tests)

Needs root, debootstrap and a mirror. All that is mounted is mounted in a namespace of its own,
which ends with the command in it: a fresh Debian can be removed like any folder. Its /dev is its own.
"""

import argparse
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "libt3"))

from api import BUILD, ROOT, require, run_tests, same  # noqa: E402

DEB = BUILD / "deb"
PLACE = BUILD / "deb-test"
BASE = PLACE / "base"
VERSION = (ROOT / "tools/packaging/VERSION").read_text(encoding="utf-8").strip()
HIGHER = "99.0-1"
SECONDS = 2400  # dkms builds the module for several kernels

NAMES = ("libt3-0", "libt3-dev", "python3-t3", "python3-t3-torch", "qemu-system-t3", "t3-dkms", "t3-tools", "t3-vm")
# PyTorch takes 640 MB: what needs it is looked at, and not installed.
TRIED = tuple(name for name in NAMES if name != "python3-t3-torch")
VM_PACKAGES = ("qemu-system-t3", "t3-vm")
COMPILERS = "cc gcc c99 tcc clang make"

ENTER = """
set -e
mount --make-rprivate /
mount -t proc proc "$1/proc"
mount -t tmpfs -o mode=755 dev "$1/dev"
mknod -m 666 "$1/dev/null" c 1 3
mknod -m 666 "$1/dev/zero" c 1 5
mknod -m 666 "$1/dev/full" c 1 7
mknod -m 666 "$1/dev/random" c 1 8
mknod -m 666 "$1/dev/urandom" c 1 9
mknod -m 666 "$1/dev/tty" c 5 0
mkdir "$1/dev/shm" "$1/dev/pts"
mount -t tmpfs -o mode=1777 shm "$1/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 pts "$1/dev/pts"
ln -s pts/ptmx "$1/dev/ptmx"
ln -s /proc/self/fd "$1/dev/fd"
ln -s fd/0 "$1/dev/stdin"
ln -s fd/1 "$1/dev/stdout"
ln -s fd/2 "$1/dev/stderr"
mount --rbind /sys "$1/sys"
mount --make-rslave "$1/sys"
exec chroot "$1" /usr/bin/env -i HOME=/root TERM=dumb DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -c "$2"
"""

# What belongs to no package, or changes with each call of apt, dpkg or ldconfig. DKMS makes a key of
# its own when it is to build its first module, and keeps it.
VOLATILE = re.compile(r"/(proc|sys|dev|run|tmp|root|var/(log|cache|tmp)|var/lib/(apt|dpkg)|"
                      r"etc/ld\.so\.cache|var/lib/dkms/mok\.(key|pub))(/|$)")


def execute(*command, status=0, **options):
    """Its output and errors as one text."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                          errors="replace", timeout=SECONDS, check=False, **options)
    require(done.returncode == status,
            f"{command[0]}: status {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def inside(place, script, status=0):
    """A shell's output, as root in a fresh Debian."""
    return execute("unshare", "--mount", "sh", "-c", ENTER, "enter", place, script, status=status)


def debs(*names, folder=DEB):
    found = [path for name in names for path in folder.glob(f"{name}_*.deb")]
    require(len(found) == len(names), f"{folder} has not one package each of {' '.join(names)}")
    return found


def field(path, name):
    return execute("dpkg-deb", "-f", path, name).strip()


# --- a fresh Debian ----------------------------------------------------------

def own_release():
    words = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    return re.search(r'^VERSION_CODENAME="?(\w+)', words, re.M)[1]


GIVEN = argparse.Namespace(release=os.environ.get("RELEASE") or own_release())  # or what the command line says


def mirror():
    """The one that this machine uses for its own release."""
    found = execute("apt-get", "indextargets", "--format", "$(REPO_URI)",
                    "Created-By: Packages", "Origin: Debian", f"Codename: {own_release()}")
    require(found.strip(), "apt lists no Debian mirror: run apt-get update first")
    return found.split()[0]


def make_base():
    execute("debootstrap", "--variant=minbase", "--include=ca-certificates", GIVEN.release,
            BASE, mirror())
    shutil.copy("/etc/resolv.conf", BASE / "etc/resolv.conf")
    # It is thrown away: dpkg need not wait for the disk.
    (BASE / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n", encoding="utf-8")
    # How this machine reaches its mirror.
    for path in pathlib.Path("/etc/apt/apt.conf.d").iterdir():
        if re.search(r"^\s*Acquire\b", path.read_text(encoding="utf-8", errors="replace"), re.M):
            shutil.copy(path, BASE / "etc/apt/apt.conf.d" / path.name)
    inside(BASE, "apt-get update")


def fresh(name, *names):
    """A fresh Debian with these packages, still as files, in /packages."""
    place = PLACE / name
    if not BASE.exists():
        make_base()
    execute("cp", "-a", BASE, place)
    (place / "packages").mkdir()
    for path in debs(*names):
        shutil.copy(path, place / "packages")
    return place


def files_of(place):
    """{path: what can be seen of it without reading it}"""
    found = {}
    for folder, folders, files in os.walk(place):
        here = folder[len(str(place)):]
        folders[:] = [name for name in folders if not VOLATILE.match(f"{here}/{name}")]
        for name in folders + files:
            if VOLATILE.match(f"{here}/{name}"):
                continue
            path = os.path.join(folder, name)
            state = os.lstat(path)
            target = os.readlink(path) if stat.S_ISLNK(state.st_mode) else ""
            size = 0 if stat.S_ISDIR(state.st_mode) else state.st_size
            found[f"{here}/{name}"] = (oct(state.st_mode), state.st_uid, state.st_gid, size, target)
    return found


def dpkg_names(place):
    """What dpkg knows of packages, also of those that are removed and not purged."""
    return inside(place, "dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n'; "
                  "ls /var/lib/dpkg/info; dpkg-divert --list; dpkg-statoverride --list || true"
                  ).splitlines()


def higher_packages(folder, *names):
    """The same packages with a higher version, as an upgrade finds them."""
    folder.mkdir()
    for path in debs(*names):
        tree, version = PLACE / "higher", field(path, "Version")
        execute("dpkg-deb", "-R", path, tree)
        control = tree / "DEBIAN/control"
        control.write_text(control.read_text(encoding="utf-8").replace(version, HIGHER),
                           encoding="utf-8")
        execute("dpkg-deb", "-Znone", "-b", tree, folder / f"{path.name.split('_')[0]}_{HIGHER}.deb")
        shutil.rmtree(tree)


# --- the tests ---------------------------------------------------------------

def packages_are_these_with_one_version():
    same([path.name.split("_")[0] for path in DEB.glob("*.deb")], NAMES, "packages")
    versions = {field(path, "Version") for path in DEB.glob("*.deb")}
    require(len(versions) == 1 and re.fullmatch(rf"{re.escape(VERSION)}-1~deb\d+", *versions),
            f"versions are {versions}")


def torchs_module_is_in_a_package_of_its_own():
    """python3-t3 is of use without PyTorch."""
    for name, has_it in (("python3-t3", False), ("python3-t3-torch", True)):
        path, = debs(name)
        files = execute("dpkg-deb", "-c", path)
        same("/t3/torch/__init__.py" in files, has_it, f"t3/torch in {name}")
        same("/t3/device.py" in files, not has_it, f"t3/device.py in {name}")
        same("python3-torch" in field(path, "Depends"), has_it, f"python3-torch of {name}")


def lintian_has_no_errors_and_no_warnings():
    execute("lintian", "--allow-root", "--fail-on=error,warning", *DEB.glob("*.changes"))


def vm_runs_a_gemm_where_no_compiler_is():
    """Two packages are enough. The times are for people: a busy machine takes longer."""
    place = fresh("vm", *VM_PACKAGES)
    start = time.monotonic()
    inside(place, "apt-get -q -y install /packages/*.deb")
    installed = time.monotonic()
    text = inside(place, "t3-vm run -- t3 gemm-rs")
    end = time.monotonic()
    print(f"# installed in {installed - start:.1f} s, ran in {end - installed:.1f} s", flush=True)
    require(re.search(r"^PASS\r?$", text, re.M), text)
    text = inside(place, f"for name in {COMPILERS}; do ! command -v $name || exit 1; done")
    require(not text, f"there is a compiler: {text}")
    logs = [path.name for path in (place / "root/.cache/t3-vm/run/vm").iterdir()]
    require("console.log" in logs, f"~/.cache/t3-vm/run/vm has {logs}")


def vm_runs_for_a_user_without_a_home():
    """It writes below /tmp, into a folder of this user alone, and refuses one of somebody else."""
    place = PLACE / "vm"
    nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent "
    inside(place, f"{nobody} t3-vm run --ranks 2 -- t3 list")
    folder = place / "tmp/t3-vm-65534"
    require(stat.S_IMODE(folder.stat().st_mode) == 0o700 and folder.stat().st_uid == 65534,
            f"{folder}: {folder.stat()}")
    os.chown(folder, 0, 0)
    text = inside(place, f"{nobody} t3-vm run -- true 2>&1", status=126)
    require("is not a folder of yours alone" in text, text)


def vm_says_what_it_lacks():
    place = PLACE / "vm"
    text = inside(place, "t3-vm gdb -- true 2>&1", status=126)
    require("source tree" in text, text)
    text = inside(place, "mv /usr/lib/t3-vm/guest/initramfs.img /tmp; t3-vm run -- true 2>&1; "
                  "s=$?; mv /tmp/initramfs.img /usr/lib/t3-vm/guest/; exit $s", status=126)
    require("install the package t3-vm again" in text, text)


def install_upgrade_remove_and_purge_leave_nothing():
    """All packages at once; what they depend on is there before."""
    place = fresh("cycle", *TRIED)
    higher_packages(place / "higher", *TRIED)
    planned = inside(place, "apt-get --simulate install /packages/*.deb")
    needed = set(re.findall(r"^Inst (\S+)", planned, re.M)) - set(TRIED)
    inside(place, f"apt-get -q -y --no-install-recommends install {' '.join(sorted(needed))}")
    files, known = files_of(place), dpkg_names(place)
    inside(place, "apt-get -q -y install /packages/*.deb")
    require(VERSION in inside(place, "t3 --version"), "t3 is not of this version")
    inside(place, "t3-vm run --help && qemu-system-t3 -device t3,help")
    inside(place, "apt-get -q -y install /higher/*.deb")
    text = inside(place, f"dpkg-query -W -f '${{Version}}\\n' {' '.join(TRIED)}")
    same(text.split(), [HIGHER], "versions after the upgrade")
    inside(place, "t3-vm run --help && t3 --version")
    inside(place, f"apt-get -q -y remove {' '.join(TRIED)}")
    # apt knows none of them any more where nothing of them was left.
    inside(place, f"dpkg --purge {' '.join(TRIED)}")
    same(files_of(place).items(), files.items(), "files after the purge")
    same(dpkg_names(place), known, "dpkg's names after the purge")


def headers_of(place, pattern):
    """The newest package of a kernel's headers in that Debian with such a name."""
    names = inside(place, f"apt-cache search --names-only '^linux-headers-{pattern}$' | cut -d' ' -f1 | sort -V")
    require(names.strip(), f"no package linux-headers-{pattern}")
    return names.split()[-1]


def dkms_builds_for_its_kernels_and_harms_no_other():
    """Beside headers of kernels that the driver is not for: too old ones, and those without DRM. Up to
    dkms 3.0.10 their packages stayed half configured, because it took a module left out for a failure."""
    place = fresh("dkms", "t3-dkms")
    if GIVEN.release == "bookworm":
        source = f"deb {mirror()} bookworm-backports main\n"
        (place / "etc/apt/sources.list.d/backports.list").write_text(source, encoding="utf-8")
        inside(place, "apt-get update")
    own = headers_of(place, r"6\.12\.[0-9]+\+deb1[23]-amd64")
    others = [headers_of(place, r"6\.12\.[0-9]+\+deb1[23]-cloud-amd64")]
    if GIVEN.release == "bookworm":
        others.append(headers_of(place, r"6\.1\.[0-9-]+-amd64"))
    install = "apt-get -q -y --no-install-recommends install"
    kernels = [name.replace("linux-headers-", "") for name in others]
    inside(place, f"{install} dkms {others[0]}")
    inside(place, f"{install} /packages/*.deb")
    require("installed" not in inside(place, "dkms status t3"), "it was built for another kernel")
    inside(place, f"{install} {' '.join(others)}")
    inside(place, f"{install} {own}")
    built = f"{own.replace('linux-headers-', '')}, x86_64: installed"
    same([line.split("/", 2)[1].split(", ", 1)[1] for line in inside(place, "dkms status t3 2>/dev/null").splitlines()],
         [built], "modules")
    # A later package of a kernel that it is not for, when it is built for another one.
    inside(place, f"{install} --reinstall {' '.join(others)}")
    for kernel in kernels:
        require("BUILD_EXCLUSIVE" in inside(place, f"dkms build $(ls -d /usr/src/t3-* | sed 's,.*/t3-,t3/,') "
                                            f"-k {kernel} 2>&1", status=77), f"dkms build for {kernel}")
    higher_packages(place / "higher", "t3-dkms")
    inside(place, f"{install} /higher/*.deb")
    require(built in inside(place, "dkms status t3"), "the upgrade built no module")
    inside(place, "apt-get -q -y purge t3-dkms")
    require(not inside(place, "dkms status 2>/dev/null; find /lib/modules -name 't3.ko*'"), "a module is left")
    inside(place, f"apt-get -q -y purge {' '.join(others)}")
    text = inside(place, "dpkg --audit")
    require(not text, text)


def autopkgtests_pass():
    """A GEMM in the VM, and a program that is compiled with libt3-dev."""
    place = fresh("autopkgtest")
    tree = next((DEB / "build").glob("t3-*"))
    # On a busy host apt alone takes longer than the 100 s that autopkgtest waits for it.
    script = ENTER.split("exec chroot", maxsplit=1)[0] + (
        'place=$1; shift; exec autopkgtest --timeout-factor=10 "$@" -- chroot "$place"')
    text = execute("unshare", "--mount", "sh", "-c", script, "enter", place, "--no-built-binaries",
                   *debs(*(name for name in TRIED if name != "t3-dkms")), f"{tree}/")
    for name in ("gemm-rs", "libt3-dev"):
        require(re.search(rf"^{name} +PASS", text, re.M), text[-4000:])


TESTS = [packages_are_these_with_one_version, torchs_module_is_in_a_package_of_its_own,
         lintian_has_no_errors_and_no_warnings,
         vm_runs_a_gemm_where_no_compiler_is, vm_runs_for_a_user_without_a_home,
         vm_says_what_it_lacks, install_upgrade_remove_and_purge_leave_nothing,
         dkms_builds_for_its_kernels_and_harms_no_other, autopkgtests_pass]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--release", choices=("bookworm", "trixie"))
    parser.add_argument("name", nargs="*", default=[test.__name__ for test in TESTS])
    parser.parse_args(namespace=GIVEN)
    if os.geteuid() or not shutil.which("debootstrap", path="/usr/sbin:/sbin:/usr/bin"):
        print("# deb.py needs root and debootstrap")
        return 77
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    status = run_tests([test for test in TESTS if test.__name__ in GIVEN.name])
    shutil.rmtree(PLACE, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())

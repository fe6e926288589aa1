#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""t3-vm as a package installs it, with the parts that are built here; TAP on stdout.

usage: installed.py [NAME...]     (default: all tests)
"""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "libt3"))

from api import BUILD, ROOT, require, run_tests, same  # noqa: E402

PLACE = BUILD / "installed-test"
LIB = PLACE / "usr/lib/t3-vm"
COMMAND = PLACE / "usr/bin/t3-vm"
PARTS = {"qemu": "qemu", "kernel": "kernel", "initramfs.img": "initramfs.img"}


def install():
    """As deb.sh does it. Links stand for the large files."""
    (LIB / "guest").mkdir(parents=True)
    shutil.copy(ROOT / "tools/vm/t3-vm", LIB)
    for path in (ROOT / "tools/vm").glob("vm_*.py"):
        shutil.copy(path, LIB)
    for name, target in PARTS.items():
        (LIB / "guest" / name).symlink_to(BUILD / target)
    COMMAND.parent.mkdir(parents=True)
    COMMAND.symlink_to("../lib/t3-vm/t3-vm")


def environment(**more):
    drop = ("T3_BUILD", "T3_CACHE", "XDG_CACHE_HOME", "TMPDIR")
    kept = {key: value for key, value in os.environ.items() if key not in drop}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **more}


def execute(*command, status=0, **env):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=200, check=False, cwd=PLACE,
                          env=environment(**env))
    require(done.returncode == status,
            f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def state_folder(status=0, **env):
    """Where the installed t3-vm would write."""
    return execute(sys.executable, "-c", f"import sys; sys.path.insert(0, '{LIB}'); import vm_base; "
                   "print(vm_base.BUILD)", status=status, **env).strip()


def names_below(folder):
    return sorted(str(path) for path in folder.rglob("*"))


# --- the tests ---------------------------------------------------------------

def vm_boots_and_writes_to_the_users_cache_alone():
    """By the link in bin, and whatever the variables of the source tree say."""
    before = names_below(PLACE / "usr")
    cache = PLACE / "cache"
    text = execute(COMMAND, "run", "--ranks", "2", "--", "t3", "list", XDG_CACHE_HOME=str(cache),
                   T3_BUILD="/nonexistent", T3_CACHE="/nonexistent")
    require("accel1" in text, text)
    same(names_below(PLACE / "usr"), before, "below usr")
    logs = names_below(cache / "t3-vm/run/vm")
    require(str(cache / "t3-vm/run/vm/console.log") in logs, f"logs are {logs}")


def cluster_boots_by_the_link():
    """It starts itself again for each node, here with programs and the library of a root of the host."""
    text = execute(COMMAND, "cluster", "--no-devices", "--no-driver", "--root", "host", "--", "sh", "-c",
                   "hostname; pkg-config --modversion libt3", XDG_CACHE_HOME=str(PLACE / "cache"))
    version = (ROOT / "tools/packaging/VERSION").read_text().strip()
    same(sorted(text.splitlines()), sorted(f"node{node}: {word}" for node in (0, 1)
                                           for word in (f"node{node}", version)), "what the nodes say")


def folder_for_logs_is_the_cache_or_else_temporary():
    home, temporary = PLACE / "home", PLACE / "tmp"
    home.mkdir()
    temporary.mkdir()
    of_user = str(temporary / f"t3-vm-{os.getuid()}")
    (PLACE / "file").write_text("")
    for env, wanted in (
            ({"HOME": str(home)}, f"{home}/.cache/t3-vm"),
            ({"HOME": str(home), "XDG_CACHE_HOME": f"{PLACE}/x/y"}, f"{PLACE}/x/y/t3-vm"),
            ({"HOME": str(home), "XDG_CACHE_HOME": "relative"}, f"{home}/.cache/t3-vm"),
            ({"HOME": str(home), "XDG_CACHE_HOME": ""}, f"{home}/.cache/t3-vm"),
            ({"HOME": f"{PLACE}/file/home"}, of_user),
            ({"HOME": "relative"}, of_user)):
        found = state_folder(TMPDIR=str(temporary), **env)
        require(found == wanted, f"{env}: {found}, expected {wanted}")
    require(pathlib.Path(of_user).stat().st_mode & 0o777 == 0o700, "others may read it")


def temporary_folder_of_somebody_else_is_refused():
    """A link, and a folder in which others may write. deb.py has one of another user."""
    temporary = PLACE / "tmp-of-all"
    temporary.mkdir()
    folder = temporary / f"t3-vm-{os.getuid()}"
    env = {"HOME": "relative", "TMPDIR": str(temporary)}
    folder.symlink_to(PLACE)
    require("not a folder of yours alone" in state_folder(126, **env), "a link is accepted")
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o777)
    require("not a folder of yours alone" in state_folder(126, **env), "others may write to it")
    env["TMPDIR"] = str(temporary / "gone")
    require("cannot be made: No such file" in state_folder(126, **env), "it is made nowhere")


def it_says_what_is_for_the_source_tree_and_what_is_missing():
    cache = str(PLACE / "cache")
    text = execute(COMMAND, "gdb", "--", "true", status=126, XDG_CACHE_HOME=cache)
    require("run it in T3's source tree" in text, text)
    require(f"{cache}/t3-vm/run/NAME" in execute(COMMAND, "run", "--help", XDG_CACHE_HOME=cache),
            "run --help names other folders")
    (LIB / "guest/kernel").unlink()
    text = execute(COMMAND, "run", "--", "true", status=126, XDG_CACHE_HOME=cache)
    require("install the package t3-vm again" in text, text)


TESTS = [vm_boots_and_writes_to_the_users_cache_alone, cluster_boots_by_the_link,
         folder_for_logs_is_the_cache_or_else_temporary,
         temporary_folder_of_somebody_else_is_refused,
         it_says_what_is_for_the_source_tree_and_what_is_missing]


def main():
    shutil.rmtree(PLACE, ignore_errors=True)
    install()
    return run_tests([test for test in TESTS if test.__name__ in (sys.argv[1:] or test.__name__)])


if __name__ == "__main__":
    sys.exit(main())

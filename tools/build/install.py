#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Build and install the library, its headers and manual, and the tool by Meson, or take them away.

usage: install.py install|uninstall

The directories come from the environment: PREFIX, BINDIR, LIBDIR, INCLUDEDIR, DATADIR and MANDIR,
all of them below DESTDIR. Nothing else on the machine changes: packages are asked for, not
installed.
"""

import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import options

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build")) / "installed"
LIBRARIES = ("libdrm", "libpci", "jansson", "ncurses")
PACKAGES = "gcc make meson pkg-config libdrm-dev libpci-dev libjansson-dev libncurses-dev"


def die(sentence):
    sys.exit(f"t3: {sentence}")


def check_directories(given):
    """These values are written into pkg-config's file and into the tool."""
    for name in options.INSTALLED:
        if not re.fullmatch(r"/[A-Za-z0-9/._+~:@-]*", given.get(name, "")):
            die(f"{name} must be an absolute path without blanks, and is '{given.get(name, '')}'")
    if given.get("DESTDIR") and not given["DESTDIR"].startswith("/"):
        die(f"DESTDIR must be absolute, and is '{given['DESTDIR']}'")


def check_tools():
    tools = [shlex.split(os.environ.get("CC") or "cc")[0], "meson", "ninja", "pkg-config"]
    if not all(map(shutil.which, tools)) or \
            subprocess.run(["pkg-config", "--exists", *LIBRARIES], check=False).returncode:
        die(f"make install needs a C compiler, Meson, pkg-config, {' '.join(LIBRARIES)}: "
            f"apt-get install {PACKAGES}")


def build(given, target):
    """Configured for these directories, in a folder of its own: the tool that others run stays as it is."""
    directories = " ".join(f"-D{name.lower()}={given[name]}" for name in options.INSTALLED)
    done = subprocess.run([ROOT / "tools/build/native.sh", FOLDER.name, target], check=False,
                          env={**os.environ, "T3_DIRECTORIES": directories})
    if done.returncode:
        sys.exit(done.returncode)


def install(given):
    build(given, "installation")
    # Meson must not ask for root's rights where a directory is not the caller's.
    done = subprocess.run(["meson", "install", "-C", FOLDER, "--quiet", "--no-rebuild",
                           "--destdir", given.get("DESTDIR", "")], check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, "PKEXEC_UID": ""})
    sys.exit(done.returncode)


def uninstall(given):
    build(given, "build.ninja")
    listed = subprocess.run(["meson", "introspect", "--installed", FOLDER], check=True,
                            capture_output=True, text=True)
    for path in json.loads(listed.stdout).values():
        pathlib.Path(given.get("DESTDIR", "") + path).unlink(missing_ok=True)
    for path in (f"{given['INCLUDEDIR']}/t3", f"{given['LIBDIR']}/cmake/t3"):
        with contextlib.suppress(OSError):  # files of others are in it
            os.rmdir(given.get("DESTDIR", "") + path)


def main():
    actions = {"install": install, "uninstall": uninstall}
    if len(sys.argv) != 2 or sys.argv[1] not in actions:
        die("usage: install.py install|uninstall")
    check_directories(os.environ)
    check_tools()
    actions[sys.argv[1]](os.environ)


if __name__ == "__main__":
    main()

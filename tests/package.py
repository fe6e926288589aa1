#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The module's sources for DKMS: what it builds, and kernels that it refuses; TAP on stdout.

usage: package.py
"""

import os
import shutil
import subprocess

from tap import FAIL, GUEST, PASS, ROOT, Result, execute, report, run_suite

REFUSALS = [("an older kernel", ["VERSION=6", "PATCHLEVEL=11"],
             "t3 is a module for Linux 6.12 and later, and these are the headers of 6.11"),
            ("a much older kernel", ["VERSION=5", "PATCHLEVEL=15"],
             "t3 is a module for Linux 6.12 and later, and these are the headers of 5.15"),
            ("no DRM_ACCEL", ["CONFIG_DRM_ACCEL="],
             "t3 needs a kernel with CONFIG_DRM_ACCEL, and this one has none"),
            ("no DRM_EXEC", ["CONFIG_DRM_EXEC="],
             "t3 needs a kernel with CONFIG_DRM_SCHED and CONFIG_DRM_EXEC")]


def package_changed(sources):
    """A kernel whose scheduler has no form that the driver knows, as its probe would say."""
    copy = sources.parent / "changed"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(sources, copy)
    (copy / "driver/probe.sh").write_text("echo 'changed: drm_sched_init() (<drm/gpu_scheduler.h>)'\n")
    return ("a kernel with another interface", [f"M={copy}"],
            "t3 does not know the form that this kernel has given to drm_sched_init() "
            "(<drm/gpu_scheduler.h>). Add it to driver/probe.sh")


def package_refusals(kernel, sources):
    """Kbuild says in a sentence what it is not for; cleaning works all the same."""
    make = ["make", "-C", kernel, f"M={sources}"]
    results = []
    for name, options, sentence in REFUSALS + [package_changed(sources)]:
        status, log = execute(f"package/{name}", [*make, *options, "modules"])
        good = status != 0 and sentence in log.read_text(errors="replace")
        results.append(Result(f"package/refuses {name}", PASS if good else FAIL, log))
        status, log = execute(f"package/clean, {name}", [*make, *options, "clean"])
        results.append(Result(f"package/clean, {name}", PASS if status == 0 else FAIL, log))
    return results


def package_dkms(kernel, release, place):
    """DKMS builds it, strictly, for the kernel it is for, and for no other."""
    version = next(place.glob("usr/src/t3-*")).name.replace("t3-", "t3/")
    (place / "tree").mkdir()
    dkms = ["dkms", "--dkmstree", place / "tree", "--sourcetree", place / "usr/src"]
    # Debian's headers without pahole, which a machine that has them installed has too.
    strict = {"MAKEFLAGS": "-- W=1 KCFLAGS=-Werror CONFIG_DEBUG_INFO_BTF_MODULES="}
    added, log = execute("package/dkms add", [*dkms, "add", version])
    results = [Result("package/dkms add", PASS if added == 0 else FAIL, log)]
    build = [*dkms, "build", version, "--kernelsourcedir", kernel, "-k"]
    built, log = execute("package/dkms build", [*build, release], env=strict)
    modules = list((place / "tree").glob("t3/*/*/*/module/t3.ko*"))
    good = built == 0 and len(modules) == 1
    if good:
        shown = subprocess.run(["modinfo", "-F", "version", modules[0]], capture_output=True,
                               text=True, check=True,
                               env={**os.environ, "PATH": os.environ["PATH"] + ":/sbin"})
        good = "t3/" + shown.stdout.strip() == version
    results.append(Result("package/dkms build", PASS if good else FAIL, log))
    refused, log = execute("package/dkms build, another kernel", [*build, "6.1.0-1-amd64"])
    good = refused != 0 and "BUILD_EXCLUSIVE" in log.read_text(errors="replace")
    return results + [Result("package/dkms refuses another kernel", PASS if good else FAIL, log)]


def package_suite():
    place = GUEST / "package"
    shutil.rmtree(place, ignore_errors=True)
    status, log = execute("package/install", [ROOT / "tools/build/dkms.sh", place])
    rule = place / "usr/lib/udev/rules.d/60-t3.rules"
    good = status == 0 and rule.exists()
    results = [Result("package/install", PASS if good else FAIL, log)]
    if good:
        release = (GUEST / "kernel/release").read_text().strip()
        kernel = GUEST / "kernel/lib/modules" / release / "build"
        results += package_refusals(kernel, next(place.glob("usr/src/t3-*")))
        results += package_dkms(kernel, release, place)
    report(results)


if __name__ == "__main__":
    run_suite("package", package_suite)

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The release's number, change log, source tarball and debian/; TAP on stdout.

usage: dist.py [NAME...]     (default: all tests)

The tests pack clones of this tree, whose last commit has all that is here now.
"""

import functools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "libt3"))

from api import BUILD, ROOT, require, run_tests, same  # noqa: E402

PLACE = BUILD / "dist-test"
PACKAGING = ROOT / "tools/packaging"
VERSION = (PACKAGING / "VERSION").read_text(encoding="utf-8").strip()
COMMIT_TIME = "2026-01-02T03:04:05+00:00"

# What may change a tarball's bytes and must not.
PLAIN = {"TZ": "UTC", "LC_ALL": "C", "umask": 0o022, "config": ""}
STRANGE = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C.UTF-8", "umask": 0o077, "GZIP": "-9",
           "config": "[tar]\n\tumask = 0007\n[core]\n\tautocrlf = true\n\teol = crlf\n"}


def execute(*command, env=None, status=0, **options):
    """Its output and errors as one text."""
    keep = {key: value for key, value in os.environ.items()
            if not key.startswith(("GIT_", "T3_", "MAKE", "MFLAGS"))}
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=120, check=False, env={**keep, **(env or {})}, **options)
    require(done.returncode == status,
            f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def in_git(folder, *words):
    return execute("git", "-C", folder, "-c", f"safe.directory={folder}", "-c", "core.fsync=none", *words,
                   env={"GIT_AUTHOR_DATE": COMMIT_TIME, "GIT_COMMITTER_DATE": COMMIT_TIME,
                        "GIT_AUTHOR_NAME": "test", "GIT_AUTHOR_EMAIL": "test",
                        "GIT_COMMITTER_NAME": "test", "GIT_COMMITTER_EMAIL": "test",
                        "GIT_CONFIG_GLOBAL": "/dev/null"})


def our_files():
    names = in_git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return [name for name in names.split("\0") if name and (ROOT / name).is_file()]


@functools.cache
def clone(name):
    """A repository with one commit: what the tree has now. Several tests may use one."""
    folder = PLACE / name / "tree"
    for file in our_files():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, folder / file)
    in_git(folder, "init", "-q")
    in_git(folder, "add", "-A")
    in_git(folder, "commit", "-q", "-m", "all")
    return folder


@functools.cache
def packed_as(name):
    """The tarball of the clone, made in the manner that its name says."""
    return packed(clone(name), {"plain": PLAIN, "strange": STRANGE}[name])


def packed(folder, manner):
    """The tarball that `make dist` makes there."""
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text(manner["config"], encoding="utf-8")
    more = {key: value for key, value in manner.items() if key.isupper()}
    execute("make", "dist", cwd=folder, umask=manner["umask"], env={"HOME": str(home), **more})
    return folder / f".build/dist/t3-{VERSION}.tar.gz"


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- the tests ---------------------------------------------------------------

def two_tarballs_of_a_commit_have_the_same_bytes():
    """The second one in another folder, time zone, umask and locale, with other git settings."""
    first, second = packed_as("plain"), packed_as("strange")
    require(digest(first) == digest(second), f"{first} and {second} differ")


def another_commit_has_other_bytes():
    """Otherwise the test above would show nothing."""
    folder = clone("changed")
    before = digest(packed(folder, PLAIN))
    (folder / "README.md").write_text("changed\n", encoding="utf-8")
    require(digest(packed(folder, PLAIN)) == before, "a change that is not committed is in it")
    in_git(folder, "commit", "-q", "-a", "-m", "changed")
    require(digest(packed(folder, PLAIN)) != before, "a committed change is not in it")


def tarball_has_the_tree_and_nothing_else():
    with tarfile.open(packed_as("strange")) as tar:
        members = tar.getmembers()
    same([member.name for member in members if not member.isdir()],
         [f"t3-{VERSION}/{name}" for name in our_files()], "in the tarball")
    same({(member.uid, member.gid, member.uname, member.gname) for member in members},
         [(0, 0, "root", "root")], "owners")
    for member in members:
        is_script = member.isdir() or os.access(ROOT / member.name.partition("/")[2], os.X_OK)
        require(member.mode == (0o755 if is_script else 0o644), f"{member.name}: {member.mode:o}")


def unpacked_tarball_builds_without_git():
    """Its make knows its targets, and what an installation is made of. It packs no tarball."""
    with tarfile.open(packed_as("plain")) as tar:
        tar.extractall(PLACE / "unpacked")
    tree = PLACE / "unpacked" / f"t3-{VERSION}"
    require("make dist" in execute("make", "help", cwd=tree), "make help has no make dist")
    text = execute("make", "-n", "install", f"DESTDIR={PLACE}/nowhere", cwd=tree)
    require("install.py install\n" in text, "it would not install")
    require("no clone with git's history" in execute("make", "dist", cwd=tree, status=2),
            "make dist does not say what it lacks")


def version_is_in_one_place():
    """No other file has the number of the release, but lists of what came with which release."""
    knows = {"tools/packaging/VERSION", "tools/packaging/CHANGELOG.md",
             "tests/libt3/libt3.symbols", "tests/libt3/libt3.abi"}
    require(re.fullmatch(r"\d+\.\d+\.\d+", VERSION), f"VERSION is '{VERSION}'")
    number = re.compile(rf"(?<![\d.]){re.escape(VERSION)}(?![\d.]*\d)")
    for name in our_files():
        if name in knows or not name.endswith((".py", ".sh", ".c", ".h", ".in", ".md", "Makefile",
                                               "Kbuild", "control", "rules")):
            continue
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        # The pattern of a version in the Makefile's message is an example of its form.
        text = text.replace("one line like 0.1.0", "")
        # The table of machines says which release ran there.
        text = re.sub(r"<!-- machines: .*?<!-- end of machines -->", "", text, flags=re.S)
        require(not number.search(text), f"{name} has the number {VERSION}: read it from VERSION")


def wrong_version_is_refused():
    folder = clone("changed")
    for wrong in ("", "1.0", "1.0.0-rc1", "1.0.0\n2.0.0"):
        (folder / "tools/packaging/VERSION").write_text(wrong + "\n", encoding="utf-8")
        text = execute("make", "help", cwd=folder, status=2)
        require("tools/packaging/VERSION says" in text, f"{wrong!r}: {text}")


def change_log_begins_with_this_version():
    text = (PACKAGING / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = re.findall(r"^## (.*)$", text, re.M)
    require(heads and all(re.fullmatch(r"\d+\.\d+\.\d+, \d{4}-\d\d-\d\d", head) for head in heads),
            f"heads must be like '1.2.3, 2026-01-31', and are {heads}")
    require(heads[0].split(",")[0] == VERSION, f"it begins with {heads[0]}, and VERSION is {VERSION}")
    for part in re.split(r"^## .*$", text, flags=re.M)[1:]:
        require(re.search(r"^- ", part, re.M), "a release without a change")


# --- debian/ -----------------------------------------------------------------

DEBIAN = PACKAGING / "debian"


def paragraphs(name):
    """Of a control file: a list of {field: value}."""
    text = re.sub(r"^#.*\n", "", (DEBIAN / name).read_text(encoding="utf-8"), flags=re.M)
    return [dict(re.findall(r"^(\S+): *(.*(?:\n .*)*)", part, re.M))
            for part in text.strip().split("\n\n")]


def packages():
    return [part for part in paragraphs("control") if "Package" in part]


def debian_files_are_those_of_its_packages():
    names = [part["Package"] for part in packages()]
    same([path.stem for path in DEBIAN.glob("*.install")], names, "lists of files")
    for path in DEBIAN.glob("*.*"):
        require(path.stem in names, f"{path.name} belongs to no package")
    shown = re.findall(r"^\| `([\w-]+)` \|", (PACKAGING / "README.md").read_text(), re.M)
    same(shown, names, "packages in README.md")


def debian_packages_depend_on_those_of_their_version():
    names = [part["Package"] for part in packages()]
    for part in packages():
        for item in part["Depends"].split(","):
            name = item.split()[0].split("(")[0]
            version = "= ${binary:Version}" if part["Architecture"] != "all" else ">= ${source:Version}"
            require(name not in names or item.strip() == f"{name} ({version})",
                    f"{part['Package']} depends on {item}, of any version")
        lines = part["Description"].split("\n")
        require(all(len(line) <= 80 for line in lines) and len(lines) > 1,
                f"{part['Package']}: description")


def debian_overrides_have_reasons():
    for path in DEBIAN.glob("*.lintian-overrides"):
        text = path.read_text(encoding="utf-8")
        reasons = re.sub(r"^# SPDX.*\n", "", text)
        require(reasons.startswith("# "), f"{path.name}: no comment before the first override")


def debian_tests_exist():
    names = [name for part in paragraphs("tests/control") for name in part["Tests"].split()]
    scripts = [path.name for path in (DEBIAN / "tests").iterdir() if path.name != "control"]
    same(names, scripts, "tests")
    for name in scripts:
        require(os.access(DEBIAN / "tests" / name, os.X_OK), f"{name} is not executable")
        execute("sh", "-n", DEBIAN / "tests" / name)


def generated(function, script=PACKAGING / "deb.sh"):
    return execute("bash", "-c", f". {script} && {function}", env={"T3_BUILD": str(BUILD)})


def packages_for_packing_are_installed_by_make_deb_alone():
    of_set = {name: set(generated(f"wanted_packages {name}", ROOT / "tools/build/deps.sh").split())
              for name in ("run", "check", "deb")}
    for name in ("run", "check"):
        same(of_set["deb"] & of_set[name], [], f"packages of deb in {name}")
    require({"debhelper", "lintian", "debootstrap"} <= of_set["deb"], f"deb: {of_set['deb']}")
    folder = clone("plain")
    for goal, sets in (("run", "run"), ("check", "check"), ("deb", "deb python run")):
        text = execute("make", "-n", goal, cwd=folder)
        require(f"deps.sh {sets}\n" in text, f"make {goal} installs other packages than {sets}")


def debian_change_log_is_the_projects():
    text = generated("debian_changelog")
    (PLACE / "changelog").write_text(text, encoding="utf-8")
    parsed = execute("dpkg-parsechangelog", "--all", "-l", PLACE / "changelog")
    require("warning" not in parsed, parsed)
    require(re.search(rf"^Version: {re.escape(VERSION)}-1~deb\d+$", parsed, re.M), parsed)
    require(max(map(len, text.splitlines())) <= 80, "a line is longer than 80 columns")
    entries = re.findall(r"^- ", (PACKAGING / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    require(text.count("\n  * ") == len(entries), f"{text.count('  * ')} entries")


def debian_symbols_are_those_of_the_library():
    lines = generated("debian_symbols").splitlines()
    listed = (ROOT / "tests/libt3/libt3.symbols").read_text(encoding="utf-8").splitlines()
    released = [line for line in listed if line and line[0] != "#"]
    same([line[1:] for line in lines if line.startswith(" t3_") and "@Base" not in line], released,
         "symbols")
    for node in {line.split("@")[1].split()[0] for line in released}:
        require(any(line.startswith(f" {node}@{node} ") for line in lines), f"no line of {node}")


TESTS = [two_tarballs_of_a_commit_have_the_same_bytes, another_commit_has_other_bytes,
         tarball_has_the_tree_and_nothing_else, unpacked_tarball_builds_without_git,
         version_is_in_one_place, wrong_version_is_refused, change_log_begins_with_this_version,
         debian_files_are_those_of_its_packages, debian_packages_depend_on_those_of_their_version,
         packages_for_packing_are_installed_by_make_deb_alone,
         debian_overrides_have_reasons, debian_tests_exist, debian_change_log_is_the_projects,
         debian_symbols_are_those_of_the_library]


def main():
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    return run_tests([test for test in TESTS if test.__name__ in (sys.argv[1:] or test.__name__)])


if __name__ == "__main__":
    sys.exit(main())

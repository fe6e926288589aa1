#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Write the driver as a series of patches for a kernel's tree.

usage: series.py TREE FOLDER

FOLDER gets 0000-cover-letter.patch and a patch for each step of steps.toml. TREE is only read.
The same driver, tree and commit give the same bytes: author and date are those of the last commit.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from render import ROOT, Problem, place_of, render, replaced  # noqa: E402
from tree import MAINTAINERS, PARENTS, Tree, maintained, with_driver, with_pages  # noqa: E402

STEPS = ROOT / "tools/series/steps.toml"
DRIVER = "drivers/accel/t3"
# What MAINTAINERS names with `F:` instead of each file.
FOLDERS = (f"{DRIVER}/", "Documentation/accel/t3/")
TRACE_FLAGS = """
# define_trace.h includes t3_trace.h again, by its name alone.
CFLAGS_t3_trace.o := -I$(src)
"""


def read_table():
    with open(STEPS, "rb") as file:
        return tomllib.load(file)


# --- the files after a step --------------------------------------------------

def step_names(table):
    return [step["name"] for step in table["step"]]


def present(table, name):
    """Our files that are there after this step."""
    count = step_names(table).index(name) + 1
    return [file for step in table["step"][:count] for file in step["files"]]


def makefile(table, name):
    """The driver's own Makefile after this step, with a group of objects for each step."""
    # REUSE-IgnoreStart
    text = "# SPDX-License-Identifier: GPL-2.0-only\n\nobj-$(CONFIG_DRM_ACCEL_T3) += t3.o\n"
    # REUSE-IgnoreEnd
    for step in table["step"][:step_names(table).index(name) + 1]:
        objects = [pathlib.Path(file).with_suffix(".o").name for file in step["files"]
                   if re.fullmatch(r"driver/\w+\.c", file)]
        if objects:
            text += "\nt3-y += \\\n\t" + " \\\n\t".join(sorted(objects)) + "\n"
        if "t3_trace.o" in objects:
            text += TRACE_FLAGS
    return text


def after(table, tree, name, author):
    """path: text of all that the series has made or changed in the tree after this step."""
    names = step_names(table)
    passed = names[:names.index(name) + 1]
    files = {}
    for file in present(table, name):
        text = render(file, tree, "kunit" in passed)
        for rule in table["withheld"]:
            if rule["file"] == file and rule["until"] not in passed:
                text = replaced(file, text, rule["text"], "")
        files[place_of(file)] = text
    if f"{DRIVER}/Kconfig" in files:
        files[f"{DRIVER}/Makefile"] = makefile(table, name)
    return {**files, **parents(tree, passed, files, author)}


def parents(tree, passed, files, author):
    """What the tree itself has, after these steps."""
    changed = dict(tree.files)
    patterns = {next((folder for folder in FOLDERS if path.startswith(folder)), path)
                for path in files}
    changed[MAINTAINERS] = maintained(changed[MAINTAINERS], author, patterns)
    if "driver" in passed:
        changed = with_driver(changed)
    if "pages" in passed:
        changed = with_pages(changed)
    return changed


# --- patches -----------------------------------------------------------------

def last_commit():
    """(author, date) of this project's last commit."""
    done = subprocess.run(["git", "log", "-1", "--format=%an <%ae>%n%aI"], cwd=ROOT, check=False,
                          capture_output=True, text=True)
    if done.returncode:
        raise Problem(f"a series has author and date of the last commit of {ROOT}, which is no "
                      f"git tree: {done.stderr.strip()}")
    return done.stdout.splitlines()


class Repository:
    """The files that the series touches, under git of its own, without the user's settings."""

    def __init__(self, path, author, date):
        name, mail = re.fullmatch(r"(.*) <(.*)>", author).groups()
        self.path = path
        self.env = {"PATH": os.environ["PATH"], "HOME": str(path), "GIT_CONFIG_NOSYSTEM": "1",
                    "TZ": "UTC", "LC_ALL": "C.UTF-8",
                    **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
                       for what, value in (("NAME", name), ("EMAIL", mail), ("DATE", date))}}
        self.git("init", "-q", "-b", "t3")

    def git(self, *words):
        subprocess.run(["git", *words], cwd=self.path, env=self.env, check=True,
                       stdout=subprocess.DEVNULL)

    def commit(self, files, message):
        for path, text in files.items():
            (self.path / path).parent.mkdir(parents=True, exist_ok=True)
            (self.path / path).write_text(text)
        self.git("add", "-f", *files)
        self.git("commit", "-q", "-m", message)

    def patches(self, count, folder):
        self.git("-c", "core.abbrev=12", "format-patch", "-q", "--no-signature", "--cover-letter",
                 "--no-renames", "--stat=72", f"-{count}", "-o", str(folder))


def write_cover(folder, cover, tree):
    path = folder / "0000-cover-letter.patch"
    text = replaced(path.name, path.read_text(), "*** SUBJECT HERE ***", cover["subject"])
    blurb = f"{cover['body'].strip()}\n\nThe series is for Linux {tree.version}."
    path.write_text(replaced(path.name, text, "*** BLURB HERE ***", blurb))


def write_series(path, folder):
    """The patches' number, and the tree."""
    table, tree, (author, date) = read_table(), Tree(path), last_commit()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        repository = Repository(pathlib.Path(place), author, date)
        repository.commit({name: tree.files[name] for name in PARENTS}, "base")
        for step in table["step"]:
            repository.commit(after(table, tree, step["name"], author),
                              f"{step['subject']}\n\n{step['body'].strip()}\n")
        repository.patches(len(table["step"]), folder.resolve())
    write_cover(folder, table["cover"], tree)
    return len(table["step"]), tree


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: series.py TREE FOLDER")
    try:
        count, tree = write_series(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    except Problem as problem:
        sys.exit(f"t3: {problem}")
    print(f"{count} patches for Linux {tree.version} and a cover letter in {sys.argv[2]}")


if __name__ == "__main__":
    main()

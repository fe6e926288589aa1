#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""README's tutorial, as a reader does it: its program, its commands, what they say; TAP on stdout.

A command is a line that begins with "$ " in a console block, and what it prints follows
it. /tmp/sum and .build stand for folders of this run; numbers of processes and of events in
a timeline may differ.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
PLACE = BUILD / "tutorial"
TITLE = "Your own fused producer"
LINES = 60  # the program has fewer
SECONDS = 120

# What a reader does first, and the suite has done.
DONE_BEFORE = {"make build"}


def section():
    text = (ROOT / "README.md").read_text()
    found = re.search(rf"^## {TITLE}\n(.*?)^## ", text, re.M | re.S)
    if not found:
        sys.exit(f"tutorial.py: README.md has no section '{TITLE}'")
    return found[1]


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", section(), re.M | re.S)


def commands():
    """(command, what it prints), in order."""
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def localize(command):
    return re.sub(r"(?<![\w/.])\.build\b", str(BUILD), command.replace("/tmp/sum", str(PLACE)))


def plain(output):
    """Without the numbers that differ from run to run."""
    output = re.sub(r"\(pid \d+ ", "(pid N ", output.replace("\r", ""))
    return re.sub(r"\b[1-9]\d* events of", "N events of", output)


def complaint(command, output, env):
    """Why it did not do what README says, or nothing."""
    export = re.fullmatch(r"export (\w+)=(\S+)", command)
    if export:
        env[export[1]] = localize(export[2])
        return ""
    try:
        done = subprocess.run(["bash", "-c", localize(command)], cwd=ROOT, env=env, text=True,
                              capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL,
                              check=False)
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS} s"
    if done.returncode:
        return f"status {done.returncode}\n{done.stdout}{done.stderr}"
    if plain(done.stdout) != plain(output):
        return f"README says\n{output}and it says\n{done.stdout}{done.stderr}"
    return ""


def check_program(programs):
    """One program, short, of which no compiler complains."""
    if len(programs) != 1:
        return f"{len(programs)} programs"
    if len(programs[0].splitlines()) >= LINES:
        return f"{len(programs[0].splitlines())} lines"
    (PLACE / "sum.c").write_text(programs[0])
    command = ("gcc -std=gnu11 -O2 -Wall -Wextra -Werror -o /dev/null /tmp/sum/sum.c "
               "$(pkg-config --cflags --libs libt3)")
    return complaint(command, "", {**os.environ, "PKG_CONFIG_PATH": str(BUILD)})


def results():
    yield "program is short and compiles without a warning", check_program(blocks("c"))
    env = dict(os.environ)
    for command, output in commands():
        if command not in DONE_BEFORE:
            yield command, complaint(command, output, env)


def main():
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    failed = number = 0
    for number, (name, why) in enumerate(results(), 1):
        failed += bool(why)
        for line in why.splitlines():
            print(f"# {line}")
        # A name is one word to who reads this.
        print(f"{'not ok' if why else 'ok'} {number} - {name.replace(' ', '_').replace('#', '')}",
              flush=True)
    print(f"1..{number}")
    return 1 if failed or number < 5 else 0


if __name__ == "__main__":
    sys.exit(main())

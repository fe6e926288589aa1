#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The READMEs' tutorials, as a reader does them; TAP on stdout.

usage: tutorial.py [torch]     (torch: those of libt3/python/torch.md alone, which needs PyTorch)

Each is a section with one program and console blocks. A command is a line that begins with "$ ",
goes on in lines that begin with ">", and what it prints follows it. Blanks and ends of lines in
that may differ, as READMEs wrap long lines, and so may numbers of processes and of events in a
timeline. Folders below /tmp and .build stand for folders of this run.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
PLACE = BUILD / "tutorial"
# (file, section, the file name of the reader's program or "", what pkg-config calls its library)
TUTORIALS = [("README.md", "Your first program", "/tmp/first/first.c", "libt3"),
             ("libt3/README.md", "Your own fused producer", "/tmp/sum/sum.c", "libt3"),
             ("libt3/mpi/README.md", "Your own MPI program", "/tmp/own/own.c", "ompi-c"),
             ("libt3/python/README.md", "A fused producer", "/tmp/pysum/sum.py", ""),
             ("tests/examples/README.md", "A tensor-parallel layer", "", "")]
TORCH = [("libt3/python/torch.md", "First steps", "/tmp/steps/train.py", ""),
         ("libt3/python/torch.md", "A GPT", "", ""),
         ("libt3/python/profile.md", "Record a step", "/tmp/layer/layer.py", ""),
         ("libt3/python/traces.md", "Convert a trace", "/tmp/traced/traced.py", "")]
LINES = {"c": 60, "python": 26}  # a program has fewer
SECONDS = 400  # PyTorch in a VM takes 75 on an idle host

# The reader's first commands, which the suite has done.
DONE_BEFORE = {"make build", "make build python", "make examples"}


def section(name, title):
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", (ROOT / name).read_text(), re.M | re.S)
    if not found:
        sys.exit(f"tutorial.py: {name} has no section '{title}'")
    return found[1]


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def commands(text):
    """(command, its output), in order."""
    for block in blocks(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = re.sub(r"\\?\n> +", " ", part).partition("\n")
            yield command, output


def localize(command):
    command = re.sub(r"/tmp/(?=\w+)", f"{PLACE}/", command)
    return re.sub(r"(?<![\w/.])\.build\b", str(BUILD), command)


def plain(output):
    """Its words, without the numbers that differ from run to run."""
    output = re.sub(r"\(pid \d+ ", "(pid N ", " ".join(output.split()))
    return re.sub(r"\b[1-9]\d* events of", "N events of", output)


def complaint(command, output, env):
    """Why its output differs from the README, or nothing."""
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


def language_of(path):
    return "python" if path.endswith(".py") else "c"


def check_program(programs, path, library):
    """One short program, which compiles without warnings."""
    if len(programs) != 1:
        return f"{len(programs)} programs"
    language = language_of(path)
    if len(programs[0].splitlines()) >= LINES[language]:
        return f"{len(programs[0].splitlines())} lines"
    place = pathlib.Path(localize(path))
    place.parent.mkdir(parents=True)
    place.write_text(programs[0])
    if language == "python":
        return complaint(f"/usr/bin/python3 -W error -m py_compile {path}", "", dict(os.environ))
    command = (f"gcc -std=gnu11 -O2 -Wall -Wextra -Werror -o /dev/null {path} "
               f"$(pkg-config --cflags --libs {library})")
    return complaint(command, "", {**os.environ, "PKG_CONFIG_PATH": str(BUILD)})


def check_alone(path):
    """Without what it needs, the program says in a sentence what to do."""
    command = (f"cc -o {path}.alone {path} $(pkg-config --cflags --libs libt3) && "
               f"exec env -i LD_LIBRARY_PATH=.build {path}.alone")
    done = subprocess.run(["bash", "-c", localize(command)], cwd=ROOT, text=True, capture_output=True,
                          env={**os.environ, "PKG_CONFIG_PATH": str(BUILD)}, timeout=SECONDS, check=False)
    if done.returncode == 1 and re.fullmatch(r"first.c.alone: start it as .*: t3 launch -n 4 -- first\n", done.stderr):
        return ""
    return f"alone: status {done.returncode}\n{done.stdout}{done.stderr}"


def check_leaks(path):
    """The program ends with nothing left, as the address sanitizer sees it."""
    command = (f"cc -g -fsanitize=address -static-libasan -o {path}.asan {path} "
               f"$(pkg-config --cflags --libs libt3) && tools/vm/t3-vm run --name tutorial-asan --ranks 4 "
               f"--share {pathlib.Path(path).parent} -- t3 launch -n 4 -- /mnt/host/first.c.asan >/dev/null")
    return complaint(command, "", {**os.environ, "PKG_CONFIG_PATH": str(BUILD)})


def check_guest_test():
    """The README's program is a test of the guest suite: it is built as those are, and passes."""
    programs = blocks(section("tests/guest/README.md", "Write a test"), "c")
    if len(programs) != 1:
        return f"{len(programs)} programs"
    place = PLACE / "mine"
    place.mkdir()
    (place / "test_mine.c").write_text(programs[0])
    tests = ".build/native/tests"
    command = (f"cc -std=gnu11 -Og -g -Wall -Wextra -Werror -Iuapi -Ilibt3 -Itests/guest/common -Itests/common "
               f"-o {place}/test_mine {place}/test_mine.c {tests}/guest/libguest-common.a {tests}/libtest-common.a "
               f"-L.build -lt3 "
               f"$(pkg-config --cflags --libs libdrm cmocka) -lm -pthread && tools/vm/t3-vm run --name tutorial-mine "
               f"--ranks 4 --share {place} -- /mnt/host/test_mine 2>&1 | grep -c ' OK '")
    return complaint(command, "2\n", dict(os.environ))


def results(name, title, path, library):
    text = section(name, title)
    if path:
        yield (f"{name}: the program is short and compiles without a warning",
               check_program(blocks(text, language_of(path)), path, library))
    env = dict(os.environ)
    for command, output in commands(text):
        if command not in DONE_BEFORE:
            yield command, complaint(command, output, env)
    if name == "README.md":
        yield f"{name}: the program alone says how to start it", check_alone(path)
        yield f"{name}: the program leaks nothing", check_leaks(path)


def every_result(only_torch):
    for tutorial in TORCH if only_torch else TUTORIALS:
        yield from results(*tutorial)
    if only_torch:
        return
    yield "tests/guest/README.md: the test passes", check_guest_test()


def main():
    global PLACE  # beside that of the other tutorials
    only_torch = sys.argv[1:] == ["torch"]
    if only_torch:
        PLACE = BUILD / "tutorial-torch"
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    failed = number = 0
    start = time.monotonic()
    for number, (name, why) in enumerate(every_result(only_torch), 1):
        failed += bool(why)
        for line in why.splitlines():
            print(f"# {line}")
        # A test's name is one word.
        print(f"{'not ok' if why else 'ok'} {number} - {name.replace(' ', '_').replace('#', '')}",
              flush=True)
        print(f"# {time.monotonic() - start:.1f} s", flush=True)
        start = time.monotonic()
    print(f"1..{number}")
    return 1 if failed or number < (3 if only_torch else 10) else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""t3 launch, which needs no device; TAP on stdout. Exits 1 when a test failed.

Each test is a function whose name says what must be true; it gets a directory of its own in
which nothing may be left.
"""

import fcntl
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from unittest import mock
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
T3 = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build")) / "t3"
SECONDS = 50  # of a launch. What must not be waited for takes 60
FULL = 45056  # bytes of a pipe of 65536: lines of up to 3000 bytes may leave a part of each page


class Launch:
    """One run of t3 launch; its ranks run a shell script."""

    def __init__(self, place, *options, script=None, stdin=subprocess.DEVNULL):
        command = ["--", "sh", "-c", script] if script is not None else []
        self.process = subprocess.Popen(
            [T3, "launch", *options, *command], stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(place)},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # also in the background

    def end(self, status, out=None, err=None):
        """Check the end of a run: stdout's lines in any order, stderr as a pattern or as lines."""
        stdout, stderr = self.process.communicate(timeout=SECONDS)
        got = f"status {self.process.returncode}\n{stdout}\n{stderr}"
        assert self.process.returncode == status, got
        assert out is None or sorted(stdout.splitlines()) == sorted(out), got
        if isinstance(err, str):
            assert re.fullmatch(err, stderr.strip(), re.S), got
        else:
            assert err is None or sorted(stderr.splitlines()) == sorted(err), got

    def wait_for(self, path, count=1):
        end = time.monotonic() + SECONDS
        while len(list(path.parent.glob(path.name))) < count:
            assert time.monotonic() < end and self.process.poll() is None, f"no {path}"
            time.sleep(0.01)


def run(place, status, *options, script, out=None, err=""):
    Launch(place, *options, script=script).end(status, out, err)


def each_rank_knows_who_it_is(place):
    run(place, 0, "-n", "3", script="echo $T3_RANK of $T3_RANKS",
        out=["0 of 3", "1 of 3", "2 of 3"])


def nodes_share_the_ranks(place):
    """By what t3-vm puts into the environment of a node."""
    node = {"T3_NODE": "2", "T3_NODES": "3", "MASTER_ADDR": "node0", "T3_COMM_DIR": "/old"}
    with mock.patch.dict(os.environ, node):
        run(place, 0, "-n", "2", "--nodes", "--label", out=["[4] 4 of 6 at node0", "[5] 5 of 6 at node0"],
            script="echo $T3_RANK of $T3_RANKS at $MASTER_ADDR$T3_COMM_DIR")
        run(place, 3, "-n", "2", "--nodes", script="exit $((T3_RANK == 5 ? 3 : 0))",
            err=r".*rank 5 ended with status 3(\nt3: rank 4 ended with status 0)?")  # whoever is first
        run(place, 125, "-n", "11", "--nodes", script="true",
            err=".*3 nodes with 11 ranks each are too many: a communicator has at most 32")
    for wrong in ({"T3_NODE": "3"}, {"T3_NODE": ""}, {"T3_NODES": "0"}, {"T3_NODES": "-1"}, {"T3_NODE": "1x"}):
        with mock.patch.dict(os.environ, {**node, **wrong}):
            run(place, 125, "-n", "2", "--nodes", script="true", err=".*is for a node of a cluster.*")


def at_most_thirty_two_ranks(place):
    run(place, 0, "--ranks=32", script="echo $T3_RANK", out=[str(i) for i in range(32)])
    for wrong in ("0", "33", "-1", "x", ""):
        run(place, 2, "-n", wrong, script="true", out=[],
            err=".*-n must be a whole number from 1 to 32.*")


def usage_is_told(place):
    Launch(place, "--help").end(0, None, "")
    Launch(place, "-n", "2").end(2, [], ".*a command must follow.*")
    Launch(place, "--", "true").end(2, [], ".*-n must say how many ranks there are.*")
    Launch(place, "-n", "2", "--timeout", "0", "--", "true").end(2, [], ".*--timeout.*")
    Launch(place, "-n", "2", "--grace", "x", "--", "true").end(2, [], ".*--grace.*")
    Launch(place, "-n", "2", "--no-such", "--", "true").end(2, [], ".*no-such.*")
    # Arguments after the command belong to the command.
    Launch(place, "-n", "2", "echo", "-n", "9").end(0, ["99"], "")


def the_directory_has_mode_0700(place):
    run(place, 0, "-n", "2", script='stat -c %a "$T3_COMM_DIR"; case $T3_COMM_DIR in '
        f'{place}/*) echo here; esac', out=["700", "700", "here", "here"])


def the_directory_is_removed_with_its_contents(place):
    run(place, 0, "-n", "2", script='touch "$T3_COMM_DIR/rank-$T3_RANK"', out=[])


def a_long_path_is_taken(place):
    deep = place / ("x" * 120)
    deep.mkdir()
    run(deep, 0, "-n", "1", script=f'case $T3_COMM_DIR in {deep}/*) echo here; esac', out=["here"])
    deep.rmdir()


def an_exchanged_directory_is_left_alone(place):
    (place / "other").mkdir()
    (place / "other/file").touch()
    Launch(place, "-n", "1", script=f'mv "$T3_COMM_DIR" {place}/moved && '
           f'ln -s {place}/other "$T3_COMM_DIR" && touch {place}/moved/rank-0'
           ).end(0, [], ".*could not be removed: Not a directory")
    (place / "other/file").unlink()
    (place / "other").rmdir()
    (place / "moved").rmdir()
    for link in place.iterdir():
        link.unlink()


def standard_input_is_empty(place):
    launch = Launch(place, "-n", "2", script="cat; echo end", stdin=subprocess.PIPE)
    launch.end(0, ["end", "end"], "")


def a_missing_command_is_reported(place):
    Launch(place, "-n", "4", "--", "/no/such").end(127, [], r"t3: there is no command '/no/such'")
    Launch(place, "-n", "4", "--", "/etc/passwd").end(
        126, [], r"t3: '/etc/passwd' could not be run: Permission denied")


def the_status_is_of_the_first_that_failed(place):
    run(place, 7, "-n", "3", "--grace", "60",
        script='case $T3_RANK in 1) exit 7;; *) sleep 0.5; exit $((T3_RANK + 40));; esac',
        out=[], err=["t3: rank 1 ended with status 7", "t3: rank 0 ended with status 40",
                     "t3: rank 2 ended with status 42"])


def a_rank_that_failed_counts_before_the_timeout(place):
    run(place, 3, "-n", "2", "--timeout", "0.5", "--grace", "20", script="[ $T3_RANK = 1 ] || exit 3; exec sleep 60",
        out=[], err="t3: rank 0 ended with status 3\nt3: the timeout of 0.5 s has passed\n.*rank 1 was ended.*")


def cause(of, how, rank="$T3_RANK"):
    """As libt3 leaves it before the rank gives up."""
    return f'ln -s "{of} {how}" "$T3_LAUNCH_DIR/cause-{rank}"'


def the_first_cause_is_first(place):
    """Ranks that give up end before the rank that they blame; one blames another one that does."""
    done = subprocess.run(
        [T3, "launch", "-n", "4", "--grace", "20", "--", "sh", "-c",
         f'case $T3_RANK in 0) {cause(1, "gone")}; exit 1;; 1) {cause(3, "gone")}; exit 2;; '
         f'2) {cause(3, "gone")}; exit 3;; '
         f'3) while [ "$(ls {place}/*/cause-* 2>/dev/null | wc -l)" != 3 ]; do sleep 0.02; done; sleep 0.5; exit 4;; esac'],
        capture_output=True, text=True, check=False, timeout=SECONDS, env={**os.environ, "TMPDIR": str(place)})
    lines = done.stderr.splitlines()
    assert done.returncode == 4 and lines[0] == "t3: rank 3 ended with status 4", done
    assert sorted(lines[1:3]) == ["t3: rank 1 ended with status 2, because of rank 3",
                                  "t3: rank 2 ended with status 3, because of rank 3"], done
    assert lines[3:] == ["t3: rank 0 ended with status 1, because of rank 1"], done


def a_late_rank_is_named(place):
    run(place, 5, "-n", "2", "--grace", "0.3", out=[],
        script=f'[ $T3_RANK = 0 ] || exec sleep 60; {cause(1, "late")}; exit 5',
        err="t3: rank 1 is late: rank 0 gave up because of it\n"
            "t3: rank 0 ended with status 5, because rank 1 was late\n"
            "t3: rank 1 still runs: it gets SIGTERM\nt3: rank 1 was ended by signal 15 .Terminated.")
    with mock.patch.dict(os.environ, {"T3_NODE": "1", "T3_NODES": "2", "MASTER_ADDR": "node0"}):
        run(place, 5, "-n", "1", "--nodes", script=f'{cause(0, "late")}; exit 5',
            err="t3: rank 1 ended with status 5, because rank 0 was late")


def a_rank_that_left_does_not_hold_the_news_for_ever(place):
    run(place, 5, "-n", "2", "--grace", "0.3", out=[],
        script=f'[ $T3_RANK = 0 ] || exec sleep 60; {cause(1, "gone")}; exit 5',
        err="t3: rank 1 has left the others and still runs: rank 0 gave up because of it\n"
            "t3: rank 0 ended with status 5, because of rank 1\n"
            "t3: rank 1 still runs: it gets SIGTERM\nt3: rank 1 was ended by signal 15 .Terminated.")


def false_causes_are_no_causes(place):
    """A rank may leave any link: its own number, none of the ranks, no number, a ring of two."""
    for wrong in ("0 gone", "2 gone", "-1 late", " 1 late", "1 lat", "x", "1", "99999999999999999999 late"):
        run(place, 5, "-n", "2", script=f'[ $T3_RANK = 0 ] || exec sleep 0.1; '
            f'ln -s -- "{wrong}" "$T3_LAUNCH_DIR/cause-0"; exit 5',
            err="t3: rank 0 ended with status 5(\nt3: rank 1 ended with status 0)?")
    run(place, 5, "-n", "2", script=cause("$((1 - T3_RANK))", "gone") + "; exit 5",
        err="(t3: rank . ended with status 5, because of rank .\n?){2}")


def a_rank_on_its_way_out_is_waited_for(place):
    """Rank 0 fails when the pipe of rank 1 closes, and rank 1 takes its time to end after that."""
    crash = "import os, signal; held = os.memfd_create('held'); os.posix_fallocate(held, 0, 1 << 27); " \
            "assert held < 9; os.kill(os.getpid(), signal.SIGKILL)"  # files close from the last one on
    (place / "crash.py").write_text(crash)
    for _ in range(5):
        os.mkfifo(place / "pipe")
        run(place, 128 + 9, "-n", "2", out=[], script=f'if [ $T3_RANK = 0 ]; then cat {place}/pipe >/dev/null; exit 1; '
            f'fi; exec 9>{place}/pipe; exec {sys.executable} {place}/crash.py',
            err=r"t3: rank 1 was ended by signal 9 \(Killed\)\nt3: rank 0 ended with status 1")
        (place / "pipe").unlink()
    (place / "crash.py").unlink()


def a_signal_ends_a_rank(place):
    run(place, 128 + 9, "-n", "3", script="[ $T3_RANK != 2 ] || kill -9 $$; sleep 0.4",
        out=[], err=["t3: rank 2 was ended by signal 9 (Killed)",
                     "t3: rank 0 ended with status 0", "t3: rank 1 ended with status 0"])


def ranks_that_go_on_get_sigterm(place):
    start = time.monotonic()
    run(place, 3, "-n", "3", "--grace", "0.3", script="[ $T3_RANK != 0 ] || exit 3; exec sleep 60",
        out=[], err=["t3: rank 0 ended with status 3",
                     "t3: rank 1 still runs: it gets SIGTERM", "t3: rank 2 still runs: it gets SIGTERM",
                     "t3: rank 1 was ended by signal 15 (Terminated)",
                     "t3: rank 2 was ended by signal 15 (Terminated)"])
    assert time.monotonic() - start >= 0.3


def ranks_that_ignore_sigterm_are_killed(place):
    run(place, 124, "-n", "2", "--timeout", "0.3",
        script="trap '' TERM; while :; do sleep 0.1; done",
        out=[], err=["t3: the timeout of 0.3 s has passed", "t3: rank 0 still runs: it gets SIGTERM",
                     "t3: rank 1 still runs: it gets SIGTERM",
                     "t3: rank 0 was ended by signal 9 (Killed)",
                     "t3: rank 1 was ended by signal 9 (Killed)"])


def a_timeout_after_sigterm_leaves_the_two_seconds(place):
    run(place, 3, "-n", "2", "--grace", "0.3", "--timeout", "1", out=["cleaned"], err=".*",
        script="up=$T3_COMM_DIR/up; if [ $T3_RANK = 0 ]; then while [ ! -e $up ]; do sleep 0.02; done; exit 3; "
               "fi; trap 'sleep 1; echo cleaned; exit 0' TERM; touch $up; while :; do sleep 0.05; done")


def a_timeout_that_does_not_pass_has_no_effect(place):
    run(place, 0, "-n", "2", "--timeout", "20", script="sleep 0.1", out=[])


def children_of_a_rank_end_with_it(place):
    run(place, 124, "-n", "1", "--timeout", "0.5", script=f"sleep 61 & echo $! >{place}/pid; wait",
        out=[], err=".*")
    pid = int((place / "pid").read_text())
    (place / "pid").unlink()
    end = time.monotonic() + SECONDS
    while os.path.exists(f"/proc/{pid}/cmdline") and \
            pathlib.Path(f"/proc/{pid}/cmdline").read_text().startswith("sleep"):
        assert time.monotonic() < end, "it still runs"
        time.sleep(0.01)


def signals_are_passed_on(place):
    script = f"trap 'echo usr1' USR1; trap 'echo term; exit 5' TERM; touch {place}/up-$T3_RANK; " \
             "while :; do sleep 0.05; done"
    launch = Launch(place, "-n", "2", script=script)
    launch.wait_for(place / "up-*", 2)
    launch.process.send_signal(signal.SIGUSR1)
    time.sleep(0.5)
    launch.process.send_signal(signal.SIGTERM)
    launch.end(5, ["usr1", "usr1", "term", "term"],
               "(?=.*rank 0 ended with status 5)(?=.*rank 1 ended with status 5).*")
    for path in place.glob("up-*"):
        path.unlink()


def an_ignored_signal_ends_in_sigkill(place):
    launch = Launch(place, "-n", "2", "--grace", "0.2",
                    script=f"trap '' TERM INT; touch {place}/up-$T3_RANK; "
                           "while :; do sleep 0.05; done")
    launch.wait_for(place / "up-*", 2)
    launch.process.send_signal(signal.SIGINT)
    launch.end(128 + 9, [], ".*still runs.*signal 9.*")
    for path in place.glob("up-*"):
        path.unlink()


def ranks_do_not_outlive_the_launcher(place):
    launch = Launch(place, "-n", "2", script=f"echo $$ >{place}/pid-$T3_RANK; exec sleep 62")
    launch.wait_for(place / "pid-*", 2)
    time.sleep(0.2)
    launch.process.kill()
    launch.end(-9, [], "")
    for path in place.glob("pid-*"):
        pid = int(path.read_text())
        path.unlink()
        end = time.monotonic() + SECONDS
        while os.path.exists(f"/proc/{pid}/cmdline") and \
                pathlib.Path(f"/proc/{pid}/cmdline").read_text().startswith("sleep"):
            assert time.monotonic() < end, "a rank still runs"
            time.sleep(0.01)
    for path in place.glob("t3-launch-*"):  # t3 was killed and could not remove it
        path.rmdir()


def lines_are_labelled(place):
    run(place, 0, "-n", "2", "--label",
        script="echo a; echo >&2 b; echo; printf c; sleep 0.1; printf d",
        out=["[0] a", "[0] ", "[0] cd", "[1] a", "[1] ", "[1] cd"], err=["[0] b", "[1] b"])


def long_lines_are_cut(place):
    run(place, 0, "-n", "1", "--label", script="head -c 10000 /dev/zero | tr '\\0' x; echo y",
        out=["[0] " + "x" * 4080] * 2 + ["[0] " + "x" * 1840 + "y"])


def much_output_is_all_there(place):
    launch = Launch(place, "-n", "4", "--label", script="seq 1 20000")
    launch.end(0, [f"[{rank}] {i}" for rank in range(4) for i in range(1, 20001)], "")


def leftover_processes_do_not_block_the_end(place):
    run(place, 0, "-n", "1", "--label", script="sleep 60 & echo x", out=["[0] x"])


def endless_output_does_not_stop_the_clock(place):
    """The pipe is never empty: it has a megabyte, and four that write."""
    write = "import fcntl, os; fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20); os.fork(); os.fork()\n" \
            "while True: os.write(1, b'\\n' * 65536)"
    done = subprocess.run([T3, "launch", "-n", "1", "--label", "--timeout", "0.5", "--", sys.executable,
                           "-c", write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                          timeout=SECONDS, env={**os.environ, "TMPDIR": str(place)})
    assert done.returncode == 124, done.returncode


def pipe_bytes(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def stalled(folder, *options, script):
    """A run whose reader reads nothing: its pipe is full when the ranks are up."""
    launch = subprocess.Popen([T3, "launch", "-n", "2", "--label", *options, "--", "sh", "-c",
                               f"echo $$ >{folder}/pid-$T3_RANK; {script}"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "TMPDIR": str(folder)})
    end = time.monotonic() + SECONDS
    while len(list(folder.glob("pid-*"))) < 2 or pipe_bytes(launch.stdout) < FULL:
        assert time.monotonic() < end, "the pipe does not fill"
        time.sleep(0.01)
    return launch


def ranks_end(folder):
    end = time.monotonic() + SECONDS
    for path in folder.glob("pid-*"):
        while os.path.exists(f"/proc/{path.read_text().strip()}"):
            assert time.monotonic() < end, "a rank still runs"
            time.sleep(0.01)
        path.unlink()


def rest_of(launch):
    out = launch.communicate(timeout=SECONDS)[0].decode().splitlines()
    return launch.returncode, [line for line in out if not re.fullmatch(r"\[[01]\] y+", line)]


def a_reader_who_stops_does_not_stop_the_clock(place):
    launch = stalled(place, "--timeout", "0.5", script=f"trap '' TERM; exec yes {'y' * 1000}")
    ranks_end(place)
    status, rest = rest_of(launch)
    assert status == 124 and rest[0] == "t3: the timeout of 0.5 s has passed", (status, rest)
    assert sorted(rest[1:]) == sorted(f"t3: rank {i} {how}" for i in (0, 1) for how in
                                      ("still runs: it gets SIGTERM", "was ended by signal 9 (Killed)")), rest


def a_reader_who_stops_does_not_stop_signals(place):
    launch = stalled(place, script=f"exec yes {'y' * 3000}")
    launch.send_signal(signal.SIGTERM)
    ranks_end(place)
    end = time.monotonic() + SECONDS
    while launch.poll() is None and time.monotonic() < end:  # the first ones may come as it ends its watch
        launch.send_signal(signal.SIGTERM)  # what the ranks said waits for the reader; t3 need not
        time.sleep(0.1)
    assert launch.poll() == -signal.SIGTERM, launch.poll()
    launch.stdout.close()


def a_reader_who_pauses_gets_all(place):
    launch = stalled(place, script="seq -f y%g 1 30000")
    time.sleep(0.2)
    out = launch.communicate(timeout=SECONDS)[0].decode().splitlines()
    assert launch.returncode == 0 and len(out) == 60000, (launch.returncode, out[-3:])
    for rank in (0, 1):
        lines = [line for line in out if line.startswith(f"[{rank}]")]
        assert lines == [f"[{rank}] y{i}" for i in range(1, 30001)], lines[-3:]
    ranks_end(place)


def run_ignoring(number, place, *command):
    """As a child of a process that ignores that signal."""
    return subprocess.run([T3, "launch", *command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=SECONDS, env={**os.environ, "TMPDIR": str(place)},
                          preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))


def ends_are_seen_where_the_parent_ignores_them(place):
    done = run_ignoring(signal.SIGCHLD, place, "-n", "2", "--", "sh", "-c", "exit $((T3_RANK + 3))")
    assert done.returncode in (3, 4) and "rank 1 ended with status 4" in done.stderr, done


def an_ignored_signal_stays_ignored(place):
    """As below nohup, and for a shell's job in the background."""
    done = run_ignoring(signal.SIGHUP, place, "-n", "1", "--grace", "0.2", "--", "sh", "-c",
                        "kill -HUP $PPID; sleep 1; echo end")
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", ""), done


def closed_output_ends_the_ranks(place):
    launch = Launch(place, "-n", "1", "--label", "--grace", "20",
                    script="while echo y; do sleep 0.01; done; sleep 30")  # it goes on
    launch.process.stdout.close()
    launch.process.stdout = None
    launch.end(125, None, ".*could not be written.*")


TESTS = [value for value in list(globals().values())
         if callable(value) and getattr(value, "__code__", None) is not None
         and value.__code__.co_varnames[:1] == ("place",) and value is not run]


def main():
    failed = False
    print(f"1..{len(TESTS)}")
    for number, test in enumerate(TESTS, 1):
        with tempfile.TemporaryDirectory(prefix="t3-launch-test-") as place:
            try:
                test(pathlib.Path(place))
                left = os.listdir(place)
                assert not left, f"it has left {left}"
                good = True
            except Exception:  # any exception: the other tests still run
                good = False
                print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {number} - {test.__name__}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The component of Open MPI, on this machine and in a VM; TAP on stdout. Exits 1 when a test failed.

On this machine there are no devices, so all messages are passed on to the next component. In the VM
the program tests/mpi/mpi_collectives.c compares T3's results with those that it computes itself.
"""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools/build"))

from batch import batch_command, read_batch  # noqa: E402

BUILD = pathlib.Path(os.environ.get("T3_BUILD", ROOT / ".build"))
GUEST = pathlib.Path(os.environ.get("T3_GUEST", BUILD))
COMPONENT = BUILD / "mca_coll_t3.so"
PROGRAM = BUILD / "mpi" / "mpi_collectives"
PARTS = BUILD / "mpi" / "mpi_parts"
BARRIER = BUILD / "mpi" / "mpi_barrier"
PERSISTENT = BUILD / "mpi" / "mpi_persistent"
MEMORY = BUILD / "mpi" / "mpi_memory"
# Open MPI's processes read each other's memory by the kernel, which cannot read a device's.
BY_MESSAGES = "--mca btl_vader_single_copy_mechanism emulated --mca smsc ^cma,knem,xpmem"
SECONDS = 400
RING_SECONDS = 4 * SECONDS  # of all in one VM


def own_components():
    """Open MPI's own folder of components."""
    text = subprocess.run(["ompi_info", "--path", "pkglibdir", "--parsable"], capture_output=True,
                          text=True, check=True).stdout
    return re.search(r"^path:pkglibdir:(.+)$", text, re.M)[1]


def execute(command, env=None, seconds=SECONDS):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          env={**os.environ, **(env or {})}, timeout=seconds, errors="replace")
    return done.returncode, done.stdout + done.stderr


def on_host(component, *options, program=(PROGRAM, "next")):
    """mpirun, with the component and without devices or a network."""
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_btl": "self,vader", "OMPI_MCA_plm": "isolated", "LD_LIBRARY_PATH": str(BUILD),
           "OMPI_MCA_mca_base_component_path": f"{component.parent}:{own_components()}"}
    return execute(["mpirun", "--oversubscribe", "-n", "2", *options, *program], env)


def in_vm(name, options, command, seconds=SECONDS):
    return execute([ROOT / "tools/vm/t3-vm", "run", "--name", f"mpi-{name}", *options, "--initramfs",
                    GUEST / "mpi.img", "--timeout", str(seconds - 20), "--", *command], seconds=seconds)


DEVICE_MEMORY = (f"mpirun -n 4 {BY_MESSAGES} --mca coll_t3_verbose 1 --mca coll_t3_piece 65536 "
                 "--mca coll_t3_device_min 4096 mpi_memory device")
# What runs in one VM with a ring of four devices.
RING = {
    "collectives": "mpirun -n 4 --mca coll_t3_verbose 1 --mca coll_t3_piece 32768 mpi_collectives t3 && "
                   "mpirun -n 3 --mca coll_t3_verbose 1 --mca coll_t3_device 0,1 mpi_collectives next",
    "parts": "mpirun -n 4 --mca coll_t3_verbose 1 --mca coll_t3_piece 32768 mpi_parts t3 && "
             "mpirun -n 2 --mca coll_t3_verbose 1 mpi_parts t3",
    "persistent": "mpirun -n 4 --mca coll_t3_verbose 1 --mca coll_t3_piece 32768 mpi_persistent t3 && "
                  f"mpirun -n 4 {BY_MESSAGES} --mca coll_t3_piece 32768 --mca coll_t3_plans 1 mpi_persistent t3",
    "room": "mpirun -n 4 --mca coll_t3_piece 4194304 mpi_persistent t3 room",
    "barrier": "mpirun -n 4 --mca coll_t3_barrier 1 mpi_barrier t3 && mpirun -n 4 mpi_barrier next",
    "late": "mpirun -n 4 --mca coll_t3_timeout 1 mpi_persistent t3 late",
    "memory": DEVICE_MEMORY,
    "memory-threads": f"{DEVICE_MEMORY} threads",
    "threads": "mpirun -n 4 --mca coll_t3_verbose 1 mpi_threads 10",
    "found": "mpirun -n 2 t3 mpi && ! OMPI_MCA_mca_base_component_path=/tmp t3 mpi",
}


@functools.cache
def ring():
    """{name: (status, output)} of RING. What is wrong with the VM itself is wrong with all."""
    whole, text = in_vm("ring", ["--ranks", "4"], batch_command(SECONDS, RING.values()), RING_SECONDS)
    return {name: (whole or ran.status, ran.text if ran.status is not None else text)
            for name, ran in zip(RING, read_batch(text, len(RING)))}


def must(good, text):
    assert good, text[-4000:]


def passed(text, ranks):
    return re.search(rf"^[1-9]\d+ checks on {ranks} ranks, 0 failed\r?$", text, re.M)


def without_a_device_all_is_passed_on_and_says_why(_place):
    status, text = on_host(COMPONENT, "--mca", "coll_t3_verbose", "1")
    must(status == 0 and passed(text, 2), text)
    must("MPI_COMM_WORLD is not T3's: No such device: device 1: " in text, text)
    must(len(re.findall(r"coll:t3: 0 calls by T3, [1-9]\d* passed on", text)) == 2, text)


def without_a_device_mpi_alloc_mem_gives_ordinary_memory(_place):
    status, text = on_host(COMPONENT, *BY_MESSAGES.split(), "--mca", "coll_t3_verbose", "1",
                           program=(MEMORY, "ordinary"))
    must(status == 0 and passed(text, 2), text)
    must("MPI_Alloc_mem of 1048581 bytes is ordinary memory: device 1: " in text, text)


def a_communicator_without_a_name_has_a_number(_place):
    status, text = on_host(COMPONENT, "--mca", "coll_t3_verbose", "10")
    must(status == 0 and passed(text, 2), text)
    # Open MPI 5 gives a name to each.
    must(re.search(r"allreduce on (communicator \d+ \(unnamed\)|MPI COMM \d+ \w+ FROM \d+) is passed on: ", text), text)
    must(" on  is " not in text, text)


def another_version_of_open_mpi_is_refused(place):
    wrong = place / COMPONENT.name
    data = COMPONENT.read_bytes()
    at = data.index(b"coll_t3 for Open MPI v") + len(b"coll_t3 for Open MPI v")
    wrong.write_bytes(data[:at] + b"9" + data[at + 1:])
    status, text = on_host(wrong, "--mca", "coll_t3_verbose", "1", program=(MEMORY, "ordinary"))
    must(status == 0 and passed(text, 2), text)
    must(re.search(r"built for Open MPI v9\.\d+, but this is Open MPI v\d.* It is not used", text), text)
    must("calls by T3" not in text, text)


def t3_mpi(home, *launcher, status=0, options=(), **env):
    """What `t3 mpi` says for a user with that home, where Open MPI looks for components, too."""
    env = {"LD_LIBRARY_PATH": str(BUILD), "HOME": str(home), "OMPI_ALLOW_RUN_AS_ROOT": "1",
           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_plm": "isolated",
           **{name if name.isupper() else f"OMPI_MCA_{name}": value for name, value in env.items()}}
    ended, text = execute([*launcher, BUILD / "t3", "mpi", *options], env)
    must(status in (ended, None), text)
    return text


PATH = "mca_base_component_path"
# Complaints of PMIx 5 about folders that are Open MPI's.
PMIX_COMPLAINS = re.compile("has bad prefix|component_path MCA variable")
USUAL = "SYS_DEFAULT:USER_DEFAULT"


def t3_says_whether_open_mpi_has_it_and_why_not(place):
    place = place.resolve()
    components = place / ".openmpi/components"
    components.mkdir(parents=True)
    here = components / COMPONENT.name
    text = t3_mpi(place, status=1)
    must(re.search(rf"^t3: mca_coll_t3\.so is in none of the folders where Open MPI v\d\S+ looks: \S+:{components}\. "
                   "`make mpi` makes it$", text, re.M), text)
    shutil.copy(COMPONENT, here)
    for text in (t3_mpi(place), t3_mpi(place, **{PATH: f"{BUILD}:{USUAL}"}), t3_mpi(place, coll="basic,t3"),
                 t3_mpi(place, coll="^tuned")):
        must(re.search(rf"^Open MPI v\d\S+ has the component coll t3: ({here}|{COMPONENT})$", text, re.M), text)
    text = t3_mpi(place, status=1, **{PATH: "/nonexistent"})
    must(re.search(rf"does not look where {here} is\. It looks in /nonexistent, because OMPI_MCA_{PATH} says so\. "
                   rf"Before mpirun: export OMPI_MCA_{PATH}=/\S+:{components}$", text, re.M), text)
    must("has the component" in t3_mpi(place, **{PATH: text.split("=")[-1].strip()}), text)
    for said, env in (("coll is ^tuned,t3, which leaves t3 out", {"coll": "^tuned,t3"}),
                      ("coll is basic,tuned, which leaves t3 out", {"coll": "basic,tuned"}),
                      ("coll_t3_priority is -1, which turns the component off", {"coll_t3_priority": "-1"})):
        text = t3_mpi(place, status=1, **env)
        must(said in text, text)
    # Open MPI 5 looks no further.
    text = t3_mpi(place, status=None, **{PATH: f"/nonexistent:{USUAL}"})
    must("has the component" in text or f"{here} is not found, because the folder /nonexistent comes before it in "
         "Open MPI's path and cannot be read: No such file" in text, text)
    found = json.loads(t3_mpi(place, options=["--json"]))
    must((found["used"], found["component"], found["priority"]) == (True, str(here), 60) and "error" not in found
         and found["path"].endswith(f":{components}") and re.match(r"Open MPI v\d", found["open_mpi"]), found)
    found, _ = json.JSONDecoder().raw_decode(t3_mpi(place, options=["--json"], status=1, coll="^t3"))
    must((found["used"], found["error"]) == (False, "Open MPI's parameter coll is ^t3, which leaves t3 out"), found)
    text = t3_mpi(place, coll_t3_priority="7")
    must("its priority is 7: tuned, with 30, is asked first" in text, text)
    data = here.read_bytes()
    at = data.index(b"coll_t3 for Open MPI v") + len(b"coll_t3 for Open MPI v")
    here.write_bytes(data[:at] + b"9" + data[at + 1:])
    text = t3_mpi(place, status=1)
    must(re.search(rf"{here} was built for Open MPI v9\.\d+\. and this is Open MPI v\d\S+: build it again", text), text)
    here.write_bytes(data[:200])
    text = t3_mpi(place, status=1)
    must(f"{here} cannot be loaded: " in text, text)
    (place / "libmpi.so.40").write_bytes(b"")
    text = t3_mpi(place, status=1, LD_LIBRARY_PATH=f"{place}:{BUILD}")
    must("there is no Open MPI here that can be used: " in text and "libmpi.so.40: file too short" in text, text)


def what_t3_says_under_mpirun_is_so(place):
    """Debian 13's mpirun hides the component, unless the path is set before. Debian 12's does not."""
    components = place.resolve() / ".openmpi/components"
    components.mkdir(parents=True)
    shutil.copy(COMPONENT, components)
    launcher = ["mpirun", "--oversubscribe", "-n", "2"]
    must("has the component" in t3_mpi(place, *launcher, **{PATH: USUAL}), "with a path")
    env = {"LD_LIBRARY_PATH": str(BUILD), "HOME": str(place), "OMPI_ALLOW_RUN_AS_ROOT": "1",
           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm": "isolated"}
    status, text = execute([*launcher, "--mca", "coll_t3_verbose", "1", MEMORY, "ordinary"], env)
    must(status == 0, text)
    is_there = "coll:t3: " in text
    text = t3_mpi(place, *launcher, status=0 if is_there else 1)
    if is_there:
        return
    must("mpirun of Open MPI 5 sets it to PMIx's folder where the user has not set it" in text, text)
    advised = re.search("Before mpirun: export (.*)$", text, re.M)[1]
    status, text = execute([*launcher, "--mca", "coll_t3_verbose", "1", MEMORY, "ordinary"],
                           {**env, **dict(word.split("=", 1) for word in advised.split())})
    must(status == 0 and "coll:t3: " in text and not PMIX_COMPLAINS.search(text), text)


def components_whose_functions_call_each_other_can_be_the_next(_place):
    """basic's all-reduce is MPI's reduce and broadcast, which are the component's again."""
    small = [word for call in ("allreduce", "reduce", "bcast", "allgather", "gather", "gatherv")
             for word in ("--mca", f"coll_t3_{call}_min", "0")]
    status, text = on_host(COMPONENT, "--mca", "coll", "basic,libnbc,self,t3", *small, program=(PARTS, "next"))
    must(status == 0 and passed(text, 2), text)


def wrong_parameters_are_named(_place):
    for name, value, says in (("piece", "5", "coll_t3_piece is below 4096"),
                              ("plans", "17", "coll_t3_plans is not 1 to 16"),
                              ("setup_timeout", "0", "coll_t3_setup_timeout is not 1 or more"),
                              ("algorithm", "rings", "coll_t3_algorithm is not auto, ring, direct, hier")):
        status, text = on_host(COMPONENT, "--mca", f"coll_t3_{name}", value, program=(MEMORY, "ordinary"))
        must(passed(text, 2), text)
        must(says in text and status == 0, text)


def every_parameter_and_counter_has_a_help_text(_place):
    _, text = execute(["ompi_info", "--param", "coll", "t3", "--level", "9", "--parsable"],
                      {"LD_LIBRARY_PATH": str(BUILD),
                       "OMPI_MCA_mca_base_component_path": f"{BUILD}:{own_components()}"})
    names = re.findall(r"^mca:coll:t3:param:(\w+):value:", text, re.M)
    must(len(names) >= 15, text)
    for name in names:
        must(re.search(rf"^mca:coll:t3:param:{name}:help:.{{20}}", text, re.M), f"{name}: {text}")


def t3_does_what_it_can_and_the_results_are_right(_place):
    status, text = ring()["collectives"]
    must(status == 0 and passed(text, 4) and passed(text, 3), text)
    sums = sorted(map(int, re.findall(r"coll:t3: (\d+) calls by T3", text)))
    must(len(sums) == 7 and sums[3] >= 100, text)
    # Of three ranks two have devices. T3 has done nothing but the calls among those.
    must(sums[0] == 0 and 0 < sums[1] == sums[2] < sums[3], text)
    must("another rank says: No such device" in text, text)
    must(not PMIX_COMPLAINS.search(text), text)


def parts_truth_and_places_are_right(_place):
    status, text = ring()["parts"]
    must(status == 0 and passed(text, 4) and passed(text, 2), text)
    # Calls are passed on by the choice of the test, and said by function and reason.
    must(len(re.findall(r"coll:t3: gatherv passed on: \d+ calls of \d+ bytes: its parts have too unequal lengths", text))
         == 4, text)
    must(len(re.findall(r"coll:t3: alltoallv passed on: 3 calls of \d+ bytes: calls before it were not T3's", text)) == 4,
         text)


def persistent_collectives_are_right(_place):
    status, text = ring()["persistent"]
    must(status == 0 and len(re.findall(r"^[1-9]\d+ checks on 4 ranks, 0 failed\r?$", text, re.M)) == 2, text)
    must(len(re.findall(r"coll:t3: persistent collectives by T3: \d\d+ starts of \d{6,} bytes", text)) == 4, text)
    must(len(re.findall(r"coll:t3: allreduce_init passed on: 1 calls of 40000 bytes: devices do not have its type", text))
         == 4, text)


def requests_that_a_device_has_no_room_for_are_open_mpis(_place):
    status, text = ring()["room"]
    must(status == 0 and passed(text, 4), text)


def pieces_are_halved_where_devices_lack_memory(_place):
    status, text = in_vm("short", ["--ranks", "4", "--device-opts", "memory-size=4M,aperture-size=4M"],
                         ["sh", "-c", "mpirun -n 4 --mca coll_t3_verbose 1 mpi_collectives t3 long"])
    must(status == 0 and passed(text, 4), text)
    # 8 MiB do not fit, nor does half of that.
    for length in (4194304, 2097152):
        said = f"MPI_COMM_WORLD: a device lacks memory: pieces have {length} bytes from now on"
        must(text.count(said) == 4, text)
    must(re.search(r"coll:t3: [1-9]\d+ calls by T3", text), text)


def no_rank_leaves_a_barrier_of_t3_before_all_have_come(_place):
    status, text = ring()["barrier"]
    must(status == 0 and len(re.findall(r"^\d+ checks on 4 ranks, 0 failed\r?$", text, re.M)) == 2, text)
    status, text = on_host(COMPONENT, "--mca", "coll_t3_barrier", "1", program=(BARRIER, "next"))
    must(status == 0 and re.search(r"^\d checks on 2 ranks, 0 failed\r?$", text, re.M), text)


def a_persistent_collective_fails_where_a_rank_does_not_start(_place):
    status, text = ring()["late"]
    must(status == 0 and passed(text, 4), text)


def without_a_device_persistent_collectives_are_open_mpis(_place):
    status, text = on_host(COMPONENT, "--mca", "coll_t3_verbose", "1", program=(PERSISTENT, "next"))
    must(status == 0 and passed(text, 2), text)
    must(len(re.findall(r"coll:t3: reduce_init passed on: \d calls of \d+ bytes: the communicator is not T3's", text))
         == 2, text)


def without_a_device_parts_truth_and_places_are_open_mpis(_place):
    status, text = on_host(COMPONENT, "--mca", "coll_t3_verbose", "1", program=(PARTS, "next"))
    must(status == 0 and passed(text, 2), text)
    must(len(re.findall(r"coll:t3: alltoallv passed on: \d+ calls of \d+ bytes: the communicator is not T3's", text))
         == 2, text)


def t3_says_of_the_image_that_it_is_there(_place):
    status, text = ring()["found"]
    must(status == 0 and len(re.findall(r"^Open MPI v\S+ has the component coll t3: /usr/lib/", text, re.M)) == 2, text)
    must(re.search(r"It looks in /tmp, because OMPI_MCA_mca_base_component_path says so\. Before", text), text)


def mpi_alloc_mem_is_device_memory(_place):
    status, text = ring()["memory"]
    must(status == 0 and passed(text, 4), text)
    must("ordinary memory: there would be more than coll_t3_memory_max" in text, text)


def threads_have_device_memory_of_their_own(_place):
    status, text = ring()["memory-threads"]
    must(status == 0 and passed(text, 4), text)


def mpi_alloc_mem_is_ordinary_memory_where_processes_read_each_other(_place):
    options = "--mca coll_t3_verbose 1 --mca coll_t3_piece 65536"
    status, text = in_vm("ordinary", ["--ranks", "2"],
                         ["sh", "-c", f"mpirun -n 2 {options} mpi_memory ordinary && mpirun -n 2 {options} "
                          f"{BY_MESSAGES} --mca coll_t3_memory_min 1000000000 mpi_memory ordinary"])
    must(status == 0 and len(re.findall(r"^[1-9]\d+ checks on 2 ranks, 0 failed\r?$", text, re.M)) == 2, text)
    must("is ordinary memory: btl/vader reads that alone" in text or "btl/sm reads that alone" in text, text)


def threads_have_communicators_of_their_own(_place):
    status, text = ring()["threads"]
    must(status == 0 and re.search(r"^3 threads on 4 ranks: 396 sums are right, 0 wrong\r?$", text, re.M), text)
    must(len(re.findall(r"69 calls by T3 \(allreduce 33, iallreduce 33, allreduce_init 3\)", text)) == 4, text)


def a_full_fabric_and_other_devices_do(_place):
    options = "--mca coll_t3_device 3,1,2,0 --mca coll_t3_piece 8192 --mca coll_t3_plans"
    status, text = in_vm("full", ["--ranks", "4", "--topology", "full"],
                         # An all-reduce, a reduce-scatter, and an all-reduce for unequal parts, which
                         # is an element shorter: one plan for whole pieces, two for the last ones.
                         ["sh", "-c", f"mpirun -n 3 {options} 5 mpi_collectives t3 && "
                          # The plan of a message's last piece takes the place of the other one.
                          f"mpirun -n 3 {options} 1 --mca coll_t3_allreduce_min 0 mpi_collectives any && "
                          "mpirun -n 4 --mca coll_t3_allreduce_min 0 mpi_speed allreduce 1024 4096 1"])
    must(status == 0 and len(re.findall(r"^[1-9]\d+ checks on 3 ranks, 0 failed\r?$", text, re.M)) == 2, text)
    must(len(re.findall(r"^allreduce +\d+ +\d+ +\d+ +\d+\.\d\d\r?$", text, re.M)) == 2, text)


def a_switch_does(_place):
    options = "--mca coll_t3_verbose 1 --mca coll_t3_piece 32768"
    programs = [f"mpirun -n 4 {options} mpi_{name} t3" for name in ("collectives", "parts", "persistent")]
    status, text = in_vm("switch", ["--ranks", "4", "--topology", "switch"],
                         ["sh", "-c", f"{' && '.join(programs)} && t3 info --all --json"])
    must(status == 0 and len(re.findall(r"^[1-9]\d+ checks on 4 ranks, 0 failed\r?$", text, re.M)) == 3, text)
    # Sums were made there, and by nobody's wish: coll_t3_algorithm is auto.
    must(sum(device["switch"]["sums"] for device in json.loads(text[text.rindex("\n[") + 1:])) > 0, text)


TESTS = [value for value in list(globals().values())
         if callable(value) and getattr(value, "__code__", None) is not None
         and value.__code__.co_varnames[:1] in (("place",), ("_place",))]


def main():
    failed = False
    tests = [test for test in TESTS if test.__name__ in sys.argv[1:]] or TESTS
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        with tempfile.TemporaryDirectory(prefix="t3-mpi-test-") as place:
            try:
                test(pathlib.Path(place))
                good = True
            except Exception:  # any exception: the other tests still run
                good = False
                print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {number} - {test.__name__}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""t3-vm --root: what works in a root of the host, and that nothing on the host changes; TAP on stdout.

usage: root.py [NAME...]     (default: all tests)
"""

import argparse
import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import loop
from loop import BUILD, ROOT, VM, check, expect, run
import vm_root  # pylint: disable=wrong-import-position  # loop has made its folder known

SECONDS = 300
BUSYBOX = "/bin/busybox"
FOLDERS = ("bin", "dev", "etc", "home", "lib", "proc", "root", "run", "sys", "tmp", "usr", "var/tmp")
APPLETS = ("sh", "cat", "ls", "mkdir", "mount", "umount", "mknod", "rm", "mv", "ln", "chmod", "chown",
           "touch", "cp", "dd", "nsenter", "id", "pwd", "grep", "stat", "truncate", "find", "sleep")


@contextlib.contextmanager
def place():
    """A folder of the test, not in /tmp of the guest's own."""
    with tempfile.TemporaryDirectory(prefix="root-test-", dir=BUILD) as name:
        yield pathlib.Path(name)


def small_root(folder):
    """A userland of busybox alone."""
    root = folder / "tree"
    for name in FOLDERS:
        (root / name).mkdir(parents=True)
    shutil.copy(os.path.realpath(BUSYBOX), root / "bin/busybox")
    for name in APPLETS:
        (root / "bin" / name).symlink_to("/bin/busybox")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nworker:x:1234:1235::/home:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\nrender:x:77:\n")
    (root / "etc/marker").write_text("of the host\n")
    (root / "etc/own").symlink_to("/etc/marker")
    (root / "usr/tool").write_text("#!/bin/sh\n")
    return root


def state(folder):
    """All that can be changed of files: names, kinds, owners, modes, times but those of reading, links,
    contents."""
    found = {}
    for path in sorted([folder, *folder.rglob("*")]):
        stat = path.lstat()
        more = os.readlink(path) if path.is_symlink() else ""
        if path.is_file() and not path.is_symlink():
            more = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path)] = (stat.st_mode, stat.st_uid, stat.st_gid, stat.st_nlink, stat.st_size,
                            stat.st_mtime_ns, stat.st_ctime_ns, more)
    return found


def vm(name, *arguments, cwd=ROOT, command="run"):
    done = subprocess.run([VM, command, "--name", f"root-{name}", *map(str, arguments)], cwd=cwd, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, errors="replace", check=False,
                          timeout=SECONDS)
    return done.returncode, done.stdout.replace("\r", ""), done.stderr


# --- programs of the host ----------------------------------------------------

DEVICES = """import ctypes, os, sys
libt3 = ctypes.CDLL("libt3.so.0")
devices = ctypes.c_void_p()
assert libt3.t3_device_list(ctypes.byref(devices)) == 0
libt3.t3_device_list_count.restype = ctypes.c_size_t
print(libt3.t3_device_list_count(devices), "devices in", os.getcwd(), sys.argv[1:])
"""
PROGRAM = """#include <t3.h>
#include <stdio.h>

int main(void)
{
	struct t3_device_list *list;

	if (t3_device_list(&list))
		return 1;
	printf("compiled: %zu devices\\n", t3_device_list_count(list));
	return 0;
}
"""
# A program that stores to an aperture, and stops with the output in its memory.
STORES = """#include <t3.h>
#include <stdint.h>

static void show(volatile float *memory)
{
	__asm__ volatile("" ::"r"(memory) : "memory");
}

int main(void)
{
	const struct t3_segment_desc desc = {
		.op = DRM_T3_OP_ADD, .dtype = DRM_T3_F32, .updates = 1, .rows = 1, .row_bytes = 64,
		.pitch = 64, .tile_rows = 1, .tile_row_bytes = 64, .init = DRM_T3_INIT_IDENTITY,
	};
	struct t3_buffer *buffer;
	struct t3_device *dev;
	struct t3_space *space;
	volatile float *aperture;
	void *memory;

	if (t3_device_open_index(0, &dev) || t3_buffer_create(dev, 4096, &buffer) ||
	    t3_buffer_map(buffer, &memory) || t3_space_create(dev, buffer, 1, &space) ||
	    t3_local_map(space, &desc) || t3_arm(space, 1) ||
	    t3_wait_armed(space, 1, t3_deadline(10000000000)))
		return 1;
	aperture = (volatile float *)t3_space_aperture(space);
	for (int i = 0; i < 16; i++)
		aperture[i] = 10 + i;
	if (t3_wait(space, 1, 0, T3_DELIVERED, t3_deadline(10000000000)))
		return 2;
	show(memory);
	return 0;
}
"""
GDB = """cc -g -o stores stores.c $(pkg-config --cflags --libs libt3)
for check in '' check; do T3_DEBUG=$check gdb -nx -batch -iex 'set debuginfod enabled off' \
-ex 'handle SIGSEGV nostop noprint pass' -ex 'break show' -ex run -ex 'print memory[0]@3' \
-ex 'set var memory[1] = 7' -ex 'print memory[0]@3' -ex 'up' -ex 'print *aperture' -ex continue stores; done
"""
GDB_SAID = (r"^\$1 = \{10, 11, 12\}\n\$2 = \{10, 7, 12\}\n(?:.*\n)*?Cannot access memory at address .*\n"
            r".*exited normally\]\n")


HERE = {"gdb": """gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'break main' -ex run -ex 'print 6*7' \
compiled""",
        "strace": "strace -f -o trace t3 list >/dev/null && grep -q /dev/accel/accel0 trace && echo traced",
        "perf": "perf stat -e task-clock true 2>&1 | grep task-clock",
        "mpirun": f"""mpirun -n 3 sh -c 'echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE'
mpirun -n 2 {BUILD}/mpi/mpi_memory ordinary >said 2>&1; ! grep -E "has bad prefix|MCA variable" said || exit 3"""}
SAID = {"gdb": r"^\$1 = 42", "strace": "^traced$", "perf": "task-clock",
        "mpirun": r"\A(?=[\s\S]*^rank 0 of 3$)(?=[\s\S]*^rank 1 of 3$)(?=[\s\S]*^rank 2 of 3$)"}


# What the VM has of its own, and the name that it has in the small image.
OWN = """ls -1A /run /tmp /var/tmp; hostname; getent hosts $(hostname); ls -1 /dev/pts; unshare -r id -u
lsmod | grep -o ^t3; cat /proc/1/comm; bash -c 'paste - <(echo two) <<<one >/dev/stdout'"""
IN_TMP = f"{ROOT.parts[2]}\n" if ROOT.parts[1] == "tmp" else ""  # this tree
OWN_SAID = (rf"^/run:\nlock\nt3\n\n/tmp:\n{IN_TMP}\n/var/tmp:\nt3-guest\n127.0.0.1 +.*t3-guest\nptmx\n0\nt3\n"
            "init\none\ttwo$")


def programs_of_the_host_work():
    """They find devices and library, also those that are compiled there. The status is theirs."""
    there = [name for name in HERE if shutil.which(name)]
    script = ["set -e", "/usr/bin/python3 devices.py 'a  b'",
              "t3 gemm-rs --ranks 2 --shape 64x64x64 --iters 1",
              "cc -g -o compiled program.c $(pkg-config --cflags --libs libt3)", "./compiled",
              *(HERE[name] for name in there), OWN, "touch made",
              f"cc -g -o wrong {ROOT}/tests/libt3/wrong_store.c $(pkg-config --cflags --libs libt3)",
              "ulimit -c 0; ! T3_DEBUG=check ./wrong", "exit 7"]
    with place() as folder:
        (folder / "devices.py").write_text(DEVICES)
        (folder / "program.c").write_text(PROGRAM)
        before = state(folder)
        result = vm("host", "--root", "host", "--ranks", "2", "--", "sh", "-c", "\n".join(script), cwd=folder)
        expect(result, 7, rf"^2 devices in {folder} \['a  b'\]$", "PASS", "^compiled: 2 devices$", OWN_SAID,
               r"wrong_store\.c:\d+", *(SAID[name] for name in there))
        check(state(folder) == before, "the working directory changed")
    for name in HERE.keys() - set(there):
        print(f"# {name} is not installed")


def gdb_reads_the_memory_below_an_aperture():
    """Of a program whose stores are checked, too. What gdb reads or writes in the aperture would count."""
    if not shutil.which("gdb"):
        raise loop.Skip("gdb is not installed")
    with place() as folder:
        (folder / "stores.c").write_text(STORES)
        result = vm("gdb", "--root", "host", "--ranks", "2", "--", "sh", "-c", GDB, cwd=folder)
        expect(result, 0)
        found = re.findall(GDB_SAID, result[1], re.M)
        check(len(found) == 2, f"{len(found)} of 2 runs of gdb", result[1] + result[2])


CPP = """#include <iostream>
#include <stdexcept>
#include <t3.h>

int main()
{
	struct t3_device_list *list;

	try {
		if (t3_device_list(&list))
			throw std::runtime_error("no devices");
		std::cout << "C++: " << t3_device_list_count(list) << " devices" << std::endl;
		t3_device_list_free(list);
		throw std::logic_error("caught");
	} catch (const std::logic_error &error) {
		std::cout << error.what() << std::endl;
	}
}
"""
LOST = "status 127: the VM's small root lacks .*; --root host takes this machine's root$"


def the_small_root_runs_cpp_and_says_what_it_lacks():
    with place() as folder:
        (folder / "cpp.cc").write_text(CPP)
        (folder / "other.c").write_text("int other(void) { return 0; }\n")
        (folder / "needs.c").write_text("int other(void); int main(void) { return other(); }\n")
        (folder / "script").write_text("#!/usr/bin/python3\n")
        (folder / "script").chmod(0o755)
        flags = run("pkg-config", "--cflags", "--libs", "libt3",
                    env={**os.environ, "PKG_CONFIG_PATH": str(BUILD)})[1].split()
        for words in (["g++", "-o", "cpp", "cpp.cc", *flags], ["gcc", "-shared", "-o", "libother.so", "other.c"],
                      ["gcc", "-o", "needs", "needs.c", "-L.", "-lother"]):
            subprocess.run(words, cwd=folder, check=True)
        (folder / "libother.so").rename(folder / "gone")
        common = ("--ranks", "2", "--share", folder, "--")
        expect(vm("cpp", *common, "/mnt/host/cpp"), 0, r"^C\+\+: 2 devices$", "^caught$")
        expect(vm("lacks", *common, "/mnt/host/needs"), 127, "libother.so: cannot open", LOST)
        expect(vm("lacks", *common, "/mnt/host/script"), 127, LOST)


def a_user_of_the_host_has_the_devices():
    """With the groups of this machine, and a working directory where the VM has a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="t3 root, test-") as name:
        os.chmod(name, 0o755)
        pathlib.Path(name, "file").write_text("text\n")
        result = vm("user", "--root", "host", "--ranks", "2", "--user", "nobody", "--", "sh", "-c",
                    "pwd; cat file; ls /tmp; id -un; t3 list; touch /etc/x || touch x || echo $HOME; "
                    "! cat /etc/shadow", cwd=name)
        there = rf"(?:{IN_TMP})?'?{re.escape(name[5:])}'?\n(?:{IN_TMP})?"
        expect(result, 0, rf"\A{re.escape(name)}\ntext\n{there}nobody\n", "accel0",
               r"^/nonexistent$")


def a_tree_below_tmp_is_there():
    """The VM's /tmp is its own, but a compiler finds this tree. The rest of the host's is not seen."""
    with tempfile.TemporaryDirectory(prefix="t3-root-", dir="/tmp") as name:
        os.chmod(name, 0o755)
        tree = pathlib.Path(name, "tree")
        shutil.copytree(ROOT / "tools/vm", tree / "tools/vm")
        (tree / "program.c").write_text(PROGRAM)
        pathlib.Path(name, "other").write_text("of the host\n")
        result = run(tree / "tools/vm/t3-vm", "run", "--name", "root-tmp", "--root", "host", "--ranks", "2", *(
            word for number in range(6) for word in ("--rwdir", rwdir(tree, number))), "--", "sh", "-c",
            f"cc -o /run/compiled {tree}/program.c $(pkg-config --cflags --libs libt3) && /run/compiled; "
            f"[ -e {name}/other ] || echo hidden; echo changed >{tree}/program.c; echo here >{rwdir(tree, 5)}/file")
        expect(result, 0, r"\Acompiled: 2 devices\nhidden\n\Z")
        check((tree / "program.c").read_text() == PROGRAM, "the tree changed")
        check((rwdir(tree, 5) / "file").read_text() == "here\n", "the sixth folder")


def rwdir(tree, number):
    """A folder of the host, not below the tree."""
    path = tree.parent / f"rwdir{number}"
    path.mkdir(exist_ok=True)
    return path


MAPPINGS = """import mmap, os, sys
for folder in sys.argv[1:]:
    fd = os.open(folder + "/mapped", os.O_RDWR | os.O_CREAT)
    os.truncate(fd, 4096)
    for flags in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
        try:
            mmap.mmap(fd, 4096, flags, mmap.PROT_READ | mmap.PROT_WRITE)
            print(folder, "is mapped", flags)
        except OSError as error:
            print(folder, "errno", error.errno)
"""


def a_shared_folder_has_no_shared_writable_mapping():
    """root.md and t3-vm(1) say so. In the VM's own memory there is one."""
    with place() as folder:
        status, out, error = vm("mappings", "--root", "host", "--ranks", "1", "--rwdir", folder, "--",
                                "/usr/bin/python3", "-c", MAPPINGS, folder, "/tmp")
        check(status == 0 and out == f"{folder} is mapped 2\n{folder} errno 22\n/tmp is mapped 2\n/tmp is mapped 1\n",
              f"status {status}", out + error)


def a_shell_is_the_users():
    with subprocess.Popen([VM, "shell", "--root", "host", "--ranks", "2", "--name", "root-shell"], cwd=ROOT,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as shell:
        try:
            while shell.stdout.read(1) not in (b"#", b""):
                pass
            shell.stdin.write(b"tty >/dev/null && cd /etc && [ $SHELL = $(readlink /proc/$$/exe | sed s:^/usr::) ] "
                              b"&& exit 5\n")
            shell.stdin.flush()
            check(shell.wait(SECONDS) == 5, f"status {shell.returncode}")
        finally:
            shell.kill()


# --- a tree as the root ------------------------------------------------------

def add_c_library(root):
    """What t3 cannot bring along: the loader and the C library."""
    listed = run("ldd", BUILD / "t3")[1]
    for path in re.findall(r"(/\S*/(?:ld-linux-x86-64|libc|libm)\.so\.\d)", listed):
        to = root / path.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)


def a_tree_has_this_trees_programs_and_the_folders_that_are_given():
    """It needs no library of t3. A folder of the host is written to where --rwdir says so, there alone,
    also inside the working directory and below the guest's own /tmp."""
    with place() as folder, tempfile.TemporaryDirectory(prefix="t3-root-test-") as temporary:
        root = small_root(folder)
        add_c_library(root)
        (folder / "out").mkdir()
        (folder / "mine").write_text("in the working directory\n")
        script = (f"cat /etc/own mine; pwd; t3 list; echo a >out/file; echo b >{temporary}/file; "
                  "touch beside out/../up; ls -1")
        result = vm("tree", "--root", root, "--ranks", "2", "--rwdir", "out", "--rwdir", temporary, "--", "sh",
                    "-c", script, cwd=folder)
        expect(result, 0, rf"\Aof the host\nin the working directory\n{folder}\n", "accel1",
               r"^beside\nmine\nout\ntree\nup\n\Z")
        check((folder / "out/file").read_text() == "a\n", "the file in out")
        check(pathlib.Path(temporary, "file").read_text() == "b\n", "the file in /tmp")
        check(sorted(os.listdir(folder)) == ["mine", "out", "tree"], "beside it", os.listdir(folder))


# As root of the guest, with a kernel that does what it likes: each command must fail.
ATTACK = """
attack() {
	for target in "$1/etc/marker" "$1/mine"; do
		[ -e "$target" ] || continue
		seen=$((seen + 1))
		cat "$target" >/dev/null || echo "cannot read $target"
		(echo changed >"$target") && echo "wrote $target"
		(echo changed >>"$target") && echo "appended to $target"
		(: <>"$target") && echo "opened $target"
		truncate -s 0 "$target" && echo "truncated $target"
		rm -f "$target" && echo "removed $target"
		mv "$target" "$target.moved" && echo "moved $target"
		ln "$target" "$target.linked" && echo "linked $target"
		chmod 777 "$target" && echo "changed the mode of $target"
		chown 1:1 "$target" && echo "changed the owner of $target"
		touch "$target" && echo "changed the time of $target"
	done
	for name in "$1/new" "$1/etc/new"; do
		touch "$name" && echo "made $name"
		mkdir "$name.d" && echo "made $name.d"
		mknod "$name.b" b 8 0 && echo "made $name.b"
		ln -s /etc/marker "$name.l" && echo "made $name.l"
	done
	rmdir "$1/home" && echo "removed $1/home"
	ls "$1/../secret" "$1/etc/up/secret" 2>/dev/null && echo "reached a secret from $1"
	cat "$1/etc/out" && echo "followed $1/etc/out"
}
"""
BY_MOUNTS = ATTACK + """
mkdir /m
modprobe -a 9pnet_virtio 9p
for tag in root folder0; do
	for way in cache=none cache=loose cache=mmap access=any; do
		mount -t 9p -o trans=virtio,version=9p2000.L,rw,$way $tag /m || continue
		mounted=$((mounted + 1))
		attack /m
		umount /m
	done
done 2>/dev/null
echo "attacks: $mounted mounts, $seen files"
"""
DONE = (r"^(?:cannot read|wrote|appended|opened|truncated|removed|moved|linked|changed the|made|reached|followed) "
        r".*$")


@contextlib.contextmanager
def tree_that_stays():
    """A root, a working directory, and a secret beside them, to which links of the root lead."""
    with place() as folder:
        root = small_root(folder)
        (folder / "secret").write_text("outside\n")
        (root / "etc/up").symlink_to("../../..")
        (root / "etc/out").symlink_to(folder / "secret")
        work = folder / "work"
        work.mkdir()
        (work / "mine").write_text("in the working directory\n")
        before = state(folder)
        yield root, work
        after = state(folder)
        changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
        check(not changed, "the host changed", changed)


def nothing_on_the_host_changes_by_any_mount():
    """QEMU gives the folders of --root to the small image, which mounts them to write."""
    with tree_that_stays() as (root, work):
        opts = argparse.Namespace(root=root, rwdir=[], cwd=str(work))
        more = [f"--qemu-arg={argument}" for argument in vm_root.root_args(opts)]
        result = vm("hostile", "--no-devices", *more, "--", "sh", "-c", BY_MOUNTS)
        expect(result, 0, "^attacks: 8 mounts, 8 files$")
        done = re.findall(DONE, result[1], re.M)
        check(not done, "the guest did", "\n".join(done))


COVERED = """
echo changed >/etc/marker; rm -rf /usr; chmod 700 /home; mknod /etc/node b 8 0; mv /etc/passwd /etc/moved
echo changed >mine; echo new >new; cat /etc/marker mine new; ls -1d /usr /etc/node /etc/moved
mount -o remount,rw /
nsenter -t 1 -m /bin/busybox sh 2>/dev/null <<'END'
mount -o remount,rw /stores/root/host
mount -o remount,rw /stores/folder0/host
""" + ATTACK + """
attack /stores/root/host
attack /stores/folder0/host
echo "attacks: $seen files"
END
"""


def what_root_writes_stays_in_the_vm():
    """It sees its own changes, and cannot go round the layer in memory."""
    with tree_that_stays() as (root, work):
        result = vm("covered", "--root", root, "--no-devices", "--", "sh", "-c", COVERED, cwd=work)
        expect(result, 0, r"\Achanged\nchanged\nnew\n", "^ls: /usr: No such file", "^/etc/moved$", "^/etc/node$",
               "^attacks: 2 files$")
        done = re.findall(DONE, result[1], re.M)
        check(not done, "the guest did", "\n".join(done))


# --- nodes -------------------------------------------------------------------

def nodes_have_it_too():
    result = vm("nodes", "--nodes", "2", "--ranks", "1", "--root", "host", "--", "sh", "-c",
                "/usr/bin/python3 -c 'import socket; print(socket.gethostname())'; getent hosts node1; "
                "t3 launch --nodes -n 1 -- sh -c 'echo rank $T3_RANK of $T3_RANKS'", command="cluster")
    expect(result, 0, *(rf"^node{node}: (node{node}|rank {node} of 2)$" for node in (0, 1)),
           r"^node0: 10\.61\.0\.2 +node1$", r"^node1: rank 1 of 2$")


# --- wrong use ---------------------------------------------------------------

def refused(sentence, *arguments, cwd=ROOT):
    """One sentence behind the usage, before a VM boots."""
    status, out, err = vm("wrong", "--no-devices", *arguments, "--", "true", cwd=cwd)
    lines = [line for line in err.splitlines() if not line.startswith(("usage:", " "))]
    check(status == 126 and not out and len(lines) == 1 and re.search(sentence, lines[0]),
          f"{arguments}: no '{sentence}'", f"{status}\n{out}{err}")


def check_refuses_another_processor(root):
    """An arm64 VM, which is not built here."""
    try:
        vm_root.check_userland("--root host", root, "arm64")
    except vm_root.VmError as error:
        check("programs are for amd64, and the VM is arm64: give a --root DIR" in str(error), "what it says", error)
    else:
        check(False, "it is accepted")


def wrong_roots_are_refused():
    with place() as folder:
        root = small_root(folder)
        (folder / "file").touch()
        (folder / "empty").mkdir()
        refused("no such folder", "--root", folder / "none")
        refused("it is a file, and must be a folder", "--root", folder / "file")
        refused("it has no /bin/sh: it must be a whole userland", "--root", folder / "empty")
        refused("no such user", "--root", root, "--user", "nemo")
        refused("needs the program setpriv", "--root", root, "--user", "worker")
        refused("--user needs --root", "--user", "worker")
        refused("--rwdir needs --root", "--rwdir", folder)
        refused("no such folder", "--root", root, "--rwdir", folder / "none")
        refused("would cover what the VM has", "--root", root, "--rwdir", "/")
        refused("cannot be in the VM, which has its own /proc", "--root", root, "--rwdir", "/proc/self")
        refused("the working directory /dev cannot be in the VM", "--root", "host", cwd="/dev")
        refused("the working directory /usr would cover", "--root", root, cwd="/usr")
        refused("6 times at most", "--root", root, *(["--rwdir", folder] * 7))
        (root / "run").rmdir()
        (root / "run").symlink_to("/etc")
        refused("its /run is a symbolic link, and must be a folder", "--root", root)
        (root / "run").unlink()
        shell = root / "bin/busybox"
        shell.write_bytes(shell.read_bytes()[:18] + b"\xb7\0" + shell.read_bytes()[20:])
        refused("its programs are for arm64, and the VM is amd64", "--root", root)
        check_refuses_another_processor(pathlib.Path("/"))
        shell.write_text("#!/bin/true\n")
        refused("its programs are for another processor", "--root", root)
        (root / "bin/sh").unlink()
        (root / "bin/sh").symlink_to("/bin/other")
        (root / "bin/other").symlink_to("/bin/sh")
        refused("it has no /bin/sh", "--root", root)


TESTS = [wrong_roots_are_refused, the_small_root_runs_cpp_and_says_what_it_lacks, programs_of_the_host_work,
         a_tree_below_tmp_is_there,
         gdb_reads_the_memory_below_an_aperture, a_user_of_the_host_has_the_devices,
         a_shared_folder_has_no_shared_writable_mapping, a_shell_is_the_users,
         a_tree_has_this_trees_programs_and_the_folders_that_are_given,
         nothing_on_the_host_changes_by_any_mount, what_root_writes_stays_in_the_vm, nodes_have_it_too]

if __name__ == "__main__":
    sys.exit(loop.main(TESTS))

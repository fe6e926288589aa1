# SPDX-License-Identifier: MIT
"""Whether KVM of this machine can run a guest, and if not, what is missing.

usage: python3 vm_kvm.py    (exits 0, or 1 with the reason on stderr)

Each thing that can be wrong has its own remedy: the VM has another processor, the device is
missing, the user has no right to it, or a guest does not run. The last one is found out by a guest
of one instruction, HLT, in a process of its own that is killed when it takes too long. A machine
can pass all of this and still fail to boot Linux, so t3-vm also boots once (vm_accel.py).
"""

import ctypes
import fcntl
import getpass
import grp
import mmap
import os
import pathlib
import platform
import re
import struct
import subprocess
import sys

DEVICE = pathlib.Path("/dev/kvm")
CPUINFO = pathlib.Path("/proc/cpuinfo")
HALT_SECONDS = 5

# Of Linux's KVM API, Documentation/virt/kvm/api.rst. ioctl() takes the address as a signed number.
GET_API_VERSION, CREATE_VM, GET_VCPU_MMAP_SIZE = 0xAE00, 0xAE01, 0xAE04
CREATE_VCPU, SET_TSS_ADDR, RUN = 0xAE41, 0xAE47, 0xAE80
SET_USER_MEMORY_REGION, SET_REGS = 0x4020AE46, 0x4090AE82
GET_SREGS, SET_SREGS, SREGS_SIZE = 0x8138AE83, 0x4138AE84, 0x138
API_VERSION, EXIT_HLT = 12, 5
TSS_ADDRESS = 0xFFFBD000 - (1 << 32)
CODE_ADDRESS, HLT = 0x1000, 0xF4
FLAGS_RESERVED = 2  # this bit of RFLAGS is always 1


class Unusable(Exception):
    """KVM cannot be used. The text says what is missing."""


# --- a guest of one instruction ----------------------------------------------

def start_at_code(cpu):
    """Real mode, with the code segment at 0."""
    sregs = bytearray(SREGS_SIZE)
    fcntl.ioctl(cpu, GET_SREGS, sregs)
    struct.pack_into("=QIH", sregs, 0, 0, 0xFFFF, 0)
    fcntl.ioctl(cpu, SET_SREGS, sregs)
    fcntl.ioctl(cpu, SET_REGS, struct.pack("=18Q", *[0] * 16, CODE_ADDRESS, FLAGS_RESERVED))


def halt(path):
    """Runs HLT. Returns why KVM_RUN ended."""
    kvm = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    if fcntl.ioctl(kvm, GET_API_VERSION, 0) != API_VERSION:
        raise OSError("it has another API version than 12")
    machine = fcntl.ioctl(kvm, CREATE_VM, 0)
    memory = mmap.mmap(-1, mmap.PAGESIZE)
    memory[0] = HLT
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    fcntl.ioctl(machine, SET_TSS_ADDR, TSS_ADDRESS)
    fcntl.ioctl(machine, SET_USER_MEMORY_REGION,
                struct.pack("=IIQQQ", 0, 0, CODE_ADDRESS, mmap.PAGESIZE, address))
    cpu = fcntl.ioctl(machine, CREATE_VCPU, 0)
    shared = mmap.mmap(cpu, fcntl.ioctl(kvm, GET_VCPU_MMAP_SIZE, 0))
    start_at_code(cpu)
    fcntl.ioctl(cpu, RUN, 0)
    return struct.unpack_from("=I", shared, 8)[0]


def halted(path):
    """The same as a process: exits 0 when the guest has run."""
    try:
        reason = halt(path)
    except OSError as error:
        return error.strerror or f"{error}"
    return "" if reason == EXIT_HLT else f"a guest that only halts ended with exit reason {reason}"


def check_guest(path, seconds=HALT_SECONDS):
    try:
        done = subprocess.run([sys.executable, __file__, "halt", path], timeout=seconds,
                              capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        raise Unusable(f"{path} is there, but a guest that only halts did not end within "
                       f"{seconds} s") from None
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise Unusable(f"{path} is there, but does not run a guest: {why}")


# --- what has to be there ----------------------------------------------------

def check_device(path=DEVICE, cpuinfo=CPUINFO):
    if path.exists():
        return
    flags = re.search(r"^flags\s*:.*\b(vmx|svm)\b", cpuinfo.read_text(), re.M)
    if flags:
        module = {"vmx": "kvm_intel", "svm": "kvm_amd"}[flags[1]]
        raise Unusable(f"there is no {path}: load its module, `sudo modprobe {module}`")
    raise Unusable(f"there is no {path}, and the processor shows no virtualization (vmx or svm in "
                   f"{cpuinfo}): enable it in the firmware, or in the hypervisor below this machine")


def group_of(path):
    try:
        return grp.getgrgid(path.stat().st_gid).gr_name
    except KeyError:
        return str(path.stat().st_gid)


def check_rights(path=DEVICE, access=os.access):
    if not access(path, os.R_OK | os.W_OK):
        raise Unusable(f"{getpass.getuser()} may not read and write {path}: join its group, "
                       f"`sudo usermod -aG {group_of(path)} {getpass.getuser()}`, and log in again")


def check_processor(guest, host):
    names = {"arm64": "aarch64", "amd64": "x86_64"}
    if names.get(guest, guest) != names.get(host, host):
        raise Unusable(f"KVM runs guests of its own processor alone; this one is {host}, and the "
                       f"VM's is {guest}")


def check_usable(path=DEVICE):
    """Raises Unusable. On other processors than x86 only t3-vm's boot tells whether a guest runs."""
    check_processor(os.environ.get("T3_ARCH") or "x86_64", platform.machine())
    check_device(path)
    check_rights(path)
    if platform.machine() == "x86_64":
        check_guest(path)


def main(arguments):
    if arguments[:1] == ["halt"]:
        return halted(arguments[1]) or 0
    try:
        check_usable()
    except Unusable as error:
        return f"t3: ACCEL=kvm needs a KVM that runs guests: {error}"
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

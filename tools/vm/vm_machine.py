# SPDX-License-Identifier: MIT
"""The machine: QEMU's arguments."""

import re

import vm_span
import vm_tsc
from vm_base import read_text
from vm_fabric import fabric_args, fabric_object
from vm_root import root_args

# Warnings stay visible (loglevel=5). The other arguments make the boot faster. panic=-1 with QEMU's
# -no-reboot turns a panic into the end of the VM. psi=0: the kernel's pressure figures take a tenth
# of each task switch under TCG. noautogroup: with a group for each session each switch is accounted
# twice.
# pci=no_e820: QEMU reserves the last 12 GiB below 1 TiB for an AMD processor, which TCG's is.
# SeaBIOS 1.16.3 places the 64-bit BARs there, and Linux would assign none to a new device.
KERNEL_ARGS = [
    "quiet", "loglevel=5", "panic=-1", "oops=panic", "random.trust_cpu=on", "mitigations=off",
    "psi=0", "noautogroup", "cryptomgr.notests",
    "initcall_blacklist=jent_mod_init,crypto_kdf108_init,init_encrypted",
]
PC_KERNEL_ARGS = [
    "console=ttyS0", "tsc=reliable", "no_timer_check", "8250.nr_uarts=3", "pci=no_e820",
    "i8042.noaux", "i8042.nokbd",
    "ia32_emulation=1",  # 32-bit clients, also where the default is off
]
# The console is the board's own UART, as the others are found too late for the first messages.
ARM64_KERNEL_ARGS = ["console=ttyAMA0", "8250.nr_uarts=4"]

# The value of a 4 GHz TSC at 250 Hz. Longer delays do no harm, and no calibration is needed.
TCG_KERNEL_ARGS = ["lpj=16000000"]


def tcg_args():
    rate = vm_tsc.khz()
    return TCG_KERNEL_ARGS + ([f"tsc_early_khz={rate}"] if rate else [])

# How long a task may sleep uninterruptibly, or a processor may run without a task switch. Then the
# kernel panics with a trace, which ends the VM. The limit is longer for emulation, and longer again
# for a kernel with T3_SLOW.
STUCK_SECONDS = 20
STUCK_SECONDS_TCG = 30
STUCK_FACTOR_SLOW = 4
STUCK_LINK = 2  # what a link waits beyond --node-timeout

# intremap: VFIO gives a device to user space only where its interrupts are remapped. strict:
# unmapping an address takes effect at once.
IOMMU_KERNEL_ARGS = ["intel_iommu=on", "iommu.strict=1"]

# Features of the `max` processor that cost time under TCG. Five-level page tables make page walks
# longer. The others tell software that `rep movsb` and `rep stosb` are fast, but TCG goes on byte by
# byte: a page takes eight times as many steps as by `rep stosq`, which Linux uses without them.
SLOW_IN_TCG = ("la57", "erms", "fsrm", "fzrm", "fsrs", "fsrc")

NETWORK_SLOT = 0x1b
ARM64_QEMU = "qemu-system-aarch64"


def is_arm64(opts):
    """Whether the guest is an arm64 machine: a build folder has one QEMU."""
    return (opts.qemu / ARM64_QEMU).exists()


def programs(opts):
    """QEMU and the guest's kernel, in the form that QEMU starts."""
    if is_arm64(opts):
        return opts.qemu / ARM64_QEMU, opts.kernel / "Image"
    return opts.qemu / "qemu-system-x86_64", opts.kernel / "vmlinux"


def stuck_args(accel, more, stands=0):
    """The kernel's limits for a deadlock. `more` is the rest of its command line. A processor may stand
    for so many seconds where its store waits for another node (SPEC.md 16)."""
    seconds = STUCK_SECONDS_TCG if accel == "tcg" else STUCK_SECONDS
    seconds *= STUCK_FACTOR_SLOW if re.search(r"(^| )T3_SLOW=", more) else 1
    seconds = max(seconds, round(2 * (stands + STUCK_LINK)) if stands else 0)
    # The kernel finds a soft lockup after 2 to 2.6 times watchdog_thresh, on a busy host after 3.
    # The RCU stall that it causes is reported later than that.
    return [f"sysctl.kernel.hung_task_timeout_secs={seconds}",
            "sysctl.kernel.hung_task_check_interval_secs=5", "sysctl.kernel.hung_task_panic=1",
            f"watchdog_thresh={seconds // 3}", "sysctl.kernel.softlockup_panic=1",
            f"rcupdate.rcu_cpu_stall_timeout={seconds * 4 // 3}",
            "sysctl.kernel.panic_on_rcu_stall=1"]


# --- QEMU's command line -----------------------------------------------------

def device_args(opts):
    """The fabric, and each device behind a root port, with 8 ports to a slot."""
    if opts.no_devices:
        return []
    extra = lambda text: "," + text if text else ""
    timed = "" if re.search(r"(^|,)timed=", opts.fabric_opts) else ",timed=on"
    thread = not opts.iommu  # behind one they cannot be in a thread
    span = getattr(opts, "span", None)
    ranks = span.ranks if span else opts.ranks
    properties = f"topology={opts.topology},ranks={ranks}{timed}" + extra(opts.fabric_opts)
    args = span.fabric_object("f0", properties) if span else fabric_object("f0", properties, thread)
    first = span.first if span else 0
    more = extra(opts.device_opts) + (span.device_properties(opts.device_opts) if span else "")
    for rank in range(opts.ranks):
        slot, function = 4 + rank // 8, rank % 8
        port = (f"pcie-root-port,id=rp{rank},chassis={rank + 1},slot={rank + 1},"
                f"addr={slot:#x}.{function}")
        args += ["-device", port + (",multifunction=on" if function == 0 else "")]
        args += ["-device", f"t3,id=t3-{rank},bus=rp{rank},fabric=f0,rank={first + rank}{more}"]
    for number, fabric in enumerate(opts.fabric):
        args += fabric_args(number, fabric, thread)
    return args


def iommu_args(opts):
    """The IOMMU comes before the devices, because it does not translate devices that exist
    earlier."""
    return ["-device", "intel-iommu,intremap=on"] if opts.iommu and not is_arm64(opts) else []


def accel_args(accel, iommu=False, arm64=False):
    if arm64:
        return ["-accel", "tcg,thread=multi", "-cpu", "neoverse-n1"]
    if accel == "kvm":
        # KVM's own I/O APIC would send its interrupts without the remapping.
        return ["-accel", "kvm" + (",kernel-irqchip=split" if iommu else ""), "-cpu", "host"]
    return ["-accel", "tcg,thread=multi", "-cpu", ",".join(["max", *(f"{name}=off" for name in SLOW_IN_TCG)])]


PC_SERIAL = ["-device", "isa-serial,index=0,chardev=console",
             "-device", "isa-serial,index=1,chardev=job",
             "-device", "isa-serial,index=2,iobase=0x3e8,irq=5,chardev=control"]
# ttyS1 and ttyS2 have the same uses there.
ARM64_SERIAL = ["-serial", "chardev:console", "-chardev", "null,id=com1", "-chardev", "null,id=com4",
                "-device", "pci-serial-4x,addr=0x1c,"
                "chardev1=com1,chardev2=job,chardev3=control,chardev4=com4"]


def serial_args(rundir, answered=False, arm64=False):
    """COM1 console, COM2 the job, COM3 control. COM3 gets an interrupt of its own."""
    place = str(rundir).replace(",", ",,")
    answers = f",input-path={place}/control.in" if answered else ""
    return [
        "-chardev", f"file,id=console,path={place}/console.log,append=on",
        "-chardev", f"stdio,id=job,signal=off,logfile={place}/job.log",
        "-chardev", f"file,id=control,path={place}/control{answers}",
        *(ARM64_SERIAL if arm64 else PC_SERIAL),
    ]


def folder_args(name, path, model, address):
    """A folder of the host in the guest, at a slot that does not move the others."""
    return ["-fsdev", f"local,id={name},path={str(path).replace(',', ',,')},"
            f"security_model={model},multidevs=remap",
            "-device", f"virtio-9p-pci,id={name},fsdev={name},mount_tag={name},addr={address:#x}"]


def folders_args(opts, rundir):
    """Files that the guest hands over cannot have an owner, link or special file of the guest's
    choice on the host (mapped-xattr). The shared folder is the same on both sides (none):
    symbolic links are links, and the guest's files belong to the user who runs the VM."""
    args = folder_args("keep", rundir / "guest", "mapped-xattr", 0x1e)
    if opts.share:
        args += folder_args("host", opts.share, "none", 0x1d)
    return args + root_args(opts)


def kernel_arguments(opts, accel, arm64):
    args = KERNEL_ARGS + (ARM64_KERNEL_ARGS if arm64 else PC_KERNEL_ARGS)
    args += tcg_args() if accel == "tcg" and not arm64 else []
    args += IOMMU_KERNEL_ARGS if opts.iommu else []
    args += stuck_args(accel, read_text(opts.kernel / "append"), getattr(opts, "node_timeout", None) or 0)
    args += ["t3.keys=2"] if vm_span.spans(opts) else []
    return args + [text for text in (read_text(opts.kernel / "append").strip(), opts.append)
                   if text]


def network_args(opts):
    """The card of one node of several. Each guest gives it an address of its own (guest/init), as all
    nodes may go on from one saved machine. Its ROM would only boot from the network."""
    socket = getattr(opts, "network", None)
    if not socket:
        return []
    path = str(socket).replace(",", ",,")
    return ["-netdev", "stream,id=net0,server=off,reconnect-ms=100,addr.type=unix,"
            f"addr.path={path}",
            "-device", f"virtio-net-pci,netdev=net0,mac=52:54:00:74:33:ff,romfile=,addr={NETWORK_SLOT:#x}"]


def machine(opts, arm64):
    if arm64:
        return "virt,gic-version=3,dump-guest-core=off" + (",iommu=smmuv3" if opts.iommu else "")
    return "q35,vmport=off,smbus=off,sata=off,dump-guest-core=off"


def qemu_command(opts, rundir, accel, debugger="", answered=False):
    """`answered`: the control line has two directions (vm_process.answers), as with a debugger."""
    arm64 = is_arm64(opts)
    qemu, kernel = programs(opts)
    return [
        str(qemu), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-name", f"t3-{rundir.name},debug-threads=on", "-machine", machine(opts, arm64),
        *accel_args(accel, opts.iommu, arm64), "-smp", str(opts.cpus), "-m",
        opts.memory or read_text(opts.kernel / "memory").strip() or "1G",
        "-kernel", str(kernel), "-initrd", str(rundir / "initrd"),
        "-append", " ".join(kernel_arguments(opts, accel, arm64)),
        *serial_args(rundir, answered or bool(debugger), arm64), *(["-gdb", debugger] if debugger else []),
        *iommu_args(opts), *folders_args(opts, rundir), *device_args(opts), *network_args(opts),
        *opts.qemu_arg,
    ]

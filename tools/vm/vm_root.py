# SPDX-License-Identifier: MIT
"""--root: the guest's root is a userland of the host, with a layer in the guest's memory. QEMU gives
it by 9p, read-only: that holds whatever the guest does. The image's guest-root mounts it.
"""

import os
import pathlib
import shlex

import vm_account
from vm_base import BUILD, EXIT_USAGE, IS_INSTALLED, ROOT, VmError
from vm_userland import elf_machine, inside

ROOT_HELP = """the guest's root is a userland of the host, read-only with a layer in memory: `host` is
this machine's own, DIR a tree as debootstrap makes it"""
RWDIR_HELP = """with --root: a folder of the host that the guest writes to, at its own path; may be given
again"""
USER_HELP = """with --root: run the command as this user of the root, who is put into the devices'
group (without NAME: as you)"""

SLOT = 0x1a  # its functions are folders of the root, then those of the slot below
RWDIRS_MAX = 6
KERNELS_OWN = ("/proc", "/sys", "/dev")
TEMPORARY = ("/tmp", "/run", "/var/tmp")
VMS_OWN = ("proc", "sys", "dev", "run", "tmp")
# Folders of a DIR that the working directory of the host may not cover.
SYSTEM = ("/usr", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot")
OWN = "/run/t3"
COMPONENT = BUILD / "mca_coll_t3.so"
SBIN = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

ELF_MACHINES = {62: "amd64", 183: "arm64", 3: "i386", 40: "arm", 243: "riscv64"}


def add_root_options(add):
    add("--root", metavar="host|DIR", help=ROOT_HELP)
    add("--rwdir", type=pathlib.Path, action="append", default=[], metavar="DIR", help=RWDIR_HELP)
    add("--user", nargs="?", const="", metavar="NAME", help=USER_HELP)


def wrong(text):
    return VmError(EXIT_USAGE, text)


# --- checks ------------------------------------------------------------------

def check_userland(option, root, wanted):
    """Whether programs of the folder can run in a VM of that processor."""
    if not root.exists():
        raise wrong(f"{option}: no such folder")
    if not root.is_dir():
        raise wrong(f"{option}: it is a file, and must be a folder")
    for name in VMS_OWN:
        if (root / name).is_symlink():
            raise wrong(f"{option}: its /{name} is a symbolic link, and must be a folder: the VM has its own")
    shell = inside(root, "/bin/sh")
    if shell is None or not shell.is_file():
        raise wrong(f"{option}: it has no /bin/sh: it must be a whole userland, as debootstrap makes one")
    machine = elf_machine(shell)
    found = ELF_MACHINES.get(machine, f"another processor (ELF machine {machine})")
    if found != wanted:
        raise wrong(f"{option}: its programs are for {found}, and the VM is {wanted}: give a --root DIR "
                    f"of {wanted}")


def check_place(what, path, more=()):
    """Whether the folder can be at its own path in the guest."""
    if any(path == own or path.startswith(f"{own}/") for own in KERNELS_OWN):
        raise wrong(f"{what} {path} cannot be in the VM, which has its own {', '.join(KERNELS_OWN)}")
    if path in ("/run", *more):
        raise wrong(f"{what} {path} would cover what the VM has there: choose a folder in it, or another one")
    if not path.isprintable():
        raise wrong(f"{what} {path!r} has a character that is not printable in its path")


def working_directory():
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise wrong("the working directory no longer exists: go to another one") from None


def check_root(opts, arm64):
    """Makes the paths absolute and finds the user. Raises VmError."""
    if opts.root is None:
        if opts.rwdir or opts.user is not None:
            raise wrong(f"{'--rwdir' if opts.rwdir else '--user'} needs --root")
        return
    is_host = opts.root == "host"
    root = pathlib.Path("/" if is_host else opts.root)
    option = "--root host" if is_host else f"--root {opts.root}"
    check_userland(option, root, "arm64" if arm64 else "amd64")
    opts.root = root.resolve()
    opts.cwd = working_directory()
    check_place("the working directory", opts.cwd, () if is_host else SYSTEM)
    opts.rwdir = [check_rwdir(path) for path in opts.rwdir]
    if len(opts.rwdir) > RWDIRS_MAX:
        raise wrong(f"--rwdir may be given {RWDIRS_MAX} times at most")
    opts.account = vm_account.account(opts.root, opts.user)


def check_rwdir(path):
    if not path.is_dir():
        raise wrong(f"--rwdir {path}: no such folder")
    path = str(path.resolve())
    check_place("--rwdir", path, ("/",))
    return path


# --- the folders, and what is said of them -----------------------------------

def is_below(path, folder):
    return path == folder or path.startswith(f"{folder}/")


def hidden_tree(opts):
    """This machine's root has this tree, with the headers and tests that users compile, except where
    the VM has a folder of its own."""
    tree = str(ROOT.resolve())
    is_hidden = opts.root == pathlib.Path("/") and not IS_INSTALLED \
        and any(is_below(tree, folder) for folder in TEMPORARY)
    return [tree] if is_hidden else []


def layers(opts):
    """(tag, way, path on the host, path in the guest), parents first."""
    found = [("host", path) for path in dict.fromkeys(opts.rwdir)]
    for path in sorted([opts.cwd, *hidden_tree(opts)]):
        if path != "/" and not any(is_below(path, other) for _, other in found):
            found.append(("memory", path))
    found.sort(key=lambda layer: layer[1].count("/"))
    return [("root", "memory", str(opts.root), "/"),
            *((f"folder{number}", way, path, path) for number, (way, path) in enumerate(found))]


def root_args(opts):
    """QEMU itself refuses what would change a read-only folder."""
    args = []
    for function, (tag, way, path, _) in enumerate(layers(opts) if opts.root else []):
        access = "" if way == "host" else ",readonly=on"
        first = ",multifunction=on" if function % 8 == 0 else ""
        args += ["-fsdev", f"local,id={tag},path={path.replace(',', ',,')},security_model=none,"
                 f"multidevs=remap{access}",
                 "-device", f"virtio-9p-pci,id={tag},fsdev={tag},mount_tag={tag},"
                 f"addr={SLOT - function // 8:#x}.{function % 8}{first}"]
    return args


def environment(opts):
    """A root that is this machine's has the same programs where the user's PATH finds them."""
    path = os.environ.get("PATH", "") if opts.root == pathlib.Path("/") else ""
    user = opts.account
    return {"PATH": ":".join(filter(None, (f"{OWN}/bin", path, SBIN, f"{OWN}/tests"))),
            "LD_LIBRARY_PATH": f"{OWN}/lib", "PKG_CONFIG_PATH": f"{OWN}/lib/pkgconfig",
            "CMAKE_PREFIX_PATH": OWN,
            "HOME": user.home, "USER": user.name, "LOGNAME": user.name, "SHELL": user.shell,
            "TERM": os.environ.get("TERM") or "linux", **mpi_environment(opts.root)}


def mpi_environment(root):
    """For Open MPI 4 and 5: root alone may be there, with fewer processors than ranks."""
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
            "OMPI_MCA_plm": "isolated", "OMPI_MCA_btl": "self,vader", **component_environment(root)}


def component_environment(root):
    """Open MPI also looks in the folder of our component, where `make mpi` has made one. It looks in its
    own ones, which its mpirun may hide otherwise, and PMIx in its own (guest/mpirun)."""
    own = f"{OWN}/lib:" if COMPONENT.exists() else ""
    found = {"OMPI_MCA_mca_base_component_path": f"{own}SYS_DEFAULT:USER_DEFAULT"}
    for folder in sorted(root.glob("usr/lib/*/pmix2/lib/pmix")):
        found["PMIX_MCA_mca_base_component_path"] = f"/{folder.relative_to(root)}"
    return found


def component_files():
    return {f"usr/lib/t3/own/lib/{COMPONENT.name}": COMPONENT.read_bytes()} if COMPONENT.exists() else {}


def begin(opts, argv):
    """The script that the guest runs in the root. A shell is not one of a login, which would forget
    PATH."""
    user = opts.account
    lines = [f"export {name}={shlex.quote(value)}" for name, value in environment(opts).items()]
    lines.append(f"cd {shlex.quote(opts.cwd)} || exit 126")
    identity = [] if user.is_root else ["setpriv", f"--reuid={user.uid}", f"--regid={user.gid}",
                                        f"--groups={','.join(map(str, user.groups))}", "--"]
    lines.append("exec " + shlex.join([*identity, *(argv or [user.shell])]))
    return "\n".join(lines) + "\n"


def root_files(opts, argv):
    """Files that the guest's init looks for."""
    if not opts.root:
        return {}
    lines = [f"{tag} {way} {place}" for tag, way, _, place in layers(opts)]
    lines.append(f"render {opts.account.render}")
    return {"layers": ("\n".join(lines) + "\n").encode(), "begin": os.fsencode(begin(opts, argv)),
            **component_files()}

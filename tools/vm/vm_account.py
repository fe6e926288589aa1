# SPDX-License-Identifier: MIT
"""The user who runs the command in a root of the host: who it is there, in numbers."""

import collections
import grp
import os
import pathlib
import pwd

from vm_base import EXIT_USAGE, VmError
from vm_userland import inside, table

RENDER = 105  # where the root has no such group

Account = collections.namedtuple("Account", "name uid gid groups home shell render")
Account.is_root = property(lambda self: self.uid == 0)


def of_this_machine(name):
    """The passwd entry and the groups, also of those that are in no file."""
    try:
        entry = pwd.getpwnam(name) if name else pwd.getpwuid(os.getuid())
    except KeyError:
        return None, []
    return entry, os.getgrouplist(entry.pw_name, entry.pw_gid)


def of_root(root, name):
    """The same by the files of a folder. Without a name: the user of this number."""
    for fields in table(root, "/etc/passwd"):
        if len(fields) != 7 or not (fields[2].isdigit() and fields[3].isdigit()):
            continue
        entry = pwd.struct_passwd((*fields[:2], int(fields[2]), int(fields[3]), *fields[4:]))
        if entry.pw_name == name or (not name and entry.pw_uid == os.getuid()):
            more = [int(group[2]) for group in table(root, "/etc/group")
                    if len(group) == 4 and group[2].isdigit() and entry.pw_name in group[3].split(",")]
            return entry, [entry.pw_gid, *more]
    return None, []


def nameless():
    """You, in a root that does not know you."""
    uid, gid = os.getuid(), os.getgid()
    return pwd.struct_passwd((str(uid), "x", uid, gid, "", "/tmp", "/bin/sh")), [gid]


def render_group(root):
    """The group that has the devices there."""
    found = [int(fields[2]) for fields in table(root, "/etc/group")
             if len(fields) == 4 and fields[0] == "render" and fields[2].isdigit()]
    return found[0] if found else RENDER


def find(root, user):
    is_host = root == pathlib.Path("/")
    entry, groups = of_this_machine(user) if is_host else of_root(root, user)
    if entry is None and user:
        where = "this machine" if is_host else f"{root}/etc/passwd"
        raise VmError(EXIT_USAGE, f"--user {user}: {where} has no such user")
    return (entry, groups) if entry else nameless()


def login_shell(root, path):
    """Of a user who has one there."""
    refuses = path.endswith(("/nologin", "/false"))
    return path if path and not refuses and inside(root, path) else "/bin/sh"


def account(root, user):
    """Of the root option and of --user; None is root. Raises VmError."""
    entry, groups = as_root(root) if user is None else find(root, user)
    if entry.pw_uid and inside(root, "/usr/bin/setpriv") is None:
        raise VmError(EXIT_USAGE, "--user needs the program setpriv (of util-linux) in the root")
    render = render_group(root)
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, sorted({*groups, render}), entry.pw_dir,
                   login_shell(root, entry.pw_shell), render)


def as_root(root):
    entry, groups = of_root(root, "root")
    if entry and entry.pw_uid == 0:
        return entry, groups
    return pwd.struct_passwd(("root", "x", 0, 0, "", "/root", "/bin/sh")), [0]

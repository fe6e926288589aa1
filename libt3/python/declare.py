#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Make the Python modules that know libt3's and the driver's C declarations.

usage: declare.py FOLDER [INCLUDE-FOLDER...]

Writes FOLDER/_abi.py, cffi's compiled form of the declarations, and FOLDER/_names.py, all
numbers, enumerations and ioctls. Both come from the public headers, through the C compiler's
preprocessor ($CC, else cc), so there is no second copy that could differ. Without an INCLUDE-FOLDER
the headers are those of the source tree around this file, else those that pkg-config knows.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEADERS = ("t3_coll.h", "t3_accel.h")  # the first includes t3.h and t3_producer.h
OURS = re.compile(r"/(t3|t3_coll|t3_producer|t3_accel)\.h$")

# Of drm.h only this is used beside the driver's own ioctls.
DRM_STRUCT = re.compile(r"struct drm_(gem_close|prime_handle|syncobj_\w+)$")
DRM_IOCTL = re.compile(r"DRM_IOCTL_(T3_|GEM_CLOSE$|PRIME_|SYNCOBJ_)")
PRELUDE = "".join(f"typedef {kind}{bits}_t __{short}{bits};\n"
                  for short, kind in (("u", "uint"), ("s", "int")) for bits in (8, 16, 32, 64))

ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
NUMBER = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b")
SIZEOF = re.compile(r"sizeof\s*\(\s*(struct \w+)\s*\)")
ARITHMETIC = re.compile(r"[\d\sxa-fA-F()|&<>+*~-]+")


class BadHeaders(Exception):
    pass


# --- the preprocessor --------------------------------------------------------

def include_folders():
    tree = HERE.parents[1]
    if (tree / "libt3/t3.h").exists() and (tree / "uapi/t3_accel.h").exists():
        return [str(tree / "libt3"), str(tree / "uapi")]
    return [flag[2:] for flag in package_flags("libt3") if flag.startswith("-I")]


def package_config(package, option):
    """What pkg-config says, or "": then the compiler says what is missing."""
    try:
        return subprocess.run(["pkg-config", option, package], check=True, capture_output=True,
                              text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def package_flags(package):
    return package_config(package, "--cflags").split()


def package_version():
    """Of the installed libt3."""
    return package_config("libt3", "--modversion") or "0"


def preprocess(folders, text, *options):
    command = [*shlex.split(os.environ.get("CC") or "cc"), "-E", "-x", "c", *options,
               *(f"-I{folder}" for folder in folders), *package_flags("libdrm"), "-"]
    text = "".join(f'#include "{header}"\n' for header in HEADERS) + text
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BadHeaders(f"a C compiler is needed to read libt3's headers: {error}") from error
    if done.returncode:
        raise BadHeaders(f"libt3's headers, libdrm-dev and libc6-dev are needed:\n{done.stderr}")
    return done.stdout


# --- declarations ------------------------------------------------------------

def texts_of_files(text):
    """(file, its lines) of a preprocessed text, in order."""
    name, lines = "", []
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            yield name, "\n".join(lines)
            name, lines = marker[1], []
        else:
            lines.append(line)
    yield name, "\n".join(lines)


def top_level(text):
    """Each declaration, to its semicolon."""
    depth = start = 0
    for place, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if letter == ";" and depth == 0:
            yield text[start:place + 1].strip()
            start = place + 1


def declarations(text):
    """What cffi is given: our headers, and a few structs of drm.h."""
    ours, drm = [], []
    for name, part in texts_of_files(text):
        if OURS.search(name):
            ours.append(part)
        elif name.endswith("/drm.h"):
            drm.append(part)
    wanted = [item for item in top_level("\n".join(drm))
              if DRM_STRUCT.match(item.partition("{")[0].strip())]
    return PRELUDE + "\n".join(wanted) + "\n" + ATTRIBUTE.sub("", "\n".join(ours))


# --- numbers -----------------------------------------------------------------

def macros(text):
    """{name: parameters or None} of those that are ours, in alphabetical order."""
    found = {}
    for name, parameters in re.findall(r"^#define (\w+)(?:\(([^)]*)\))?(?= )", text, re.M):
        if name.startswith(("DRM_T3_", "T3_")) or DRM_IOCTL.match(name):
            found[name] = parameters or None
    return dict(sorted(found.items()))


def expansions(folders, names):
    text = preprocess(folders, "".join(
        f'@@"{name}" {name}{f"({parameters})" if parameters else ""}\n'
        for name, parameters in names.items()), "-P")
    return {name: " ".join(value.split()) for name, value in
            re.findall(r'@@\s*"(\w+)"([^@]*)', text)}


def number_of(ffi, value):
    """The value of a constant expression, or None: it is something else."""
    value = SIZEOF.sub(lambda match: str(ffi.sizeof(match[1])), value)
    value = re.sub(r"'(\w)'", lambda match: str(ord(match[1])), value)
    value = NUMBER.sub(r"\1", value)
    if not re.search(r"\d", value) or not ARITHMETIC.fullmatch(value):
        return None
    return int(eval(value, {"__builtins__": {}}))  # only digits and operators are left


def function_of(parameters, value):
    """The text of a lambda that a macro with arguments is, or None."""
    plain = re.sub(r"\(__u\d+\)", "", value)
    words = set(re.findall(r"[A-Za-z_]\w*", plain))
    names = [name.strip() for name in parameters.split(",")]
    if not words or not words <= set(names):
        return None
    return f"{', '.join(f'{name}: int' for name in names)}", plain


def camel(name):
    return "".join(word.capitalize() for word in name.removeprefix("drm_").removeprefix("t3_")
                   .split("_"))


def enumerations(ffi, text):
    """{enum: {member: value}}, in the headers' order."""
    found = {}
    for name in re.findall(r"^enum (\w+) {", text, re.M):
        values = ffi.typeof(f"enum {name}").relements
        found[name] = dict(sorted(values.items(), key=lambda item: item[1]))
    return found


def enumeration_lines(name, members):
    prefix = os.path.commonprefix(list(members))
    prefix = prefix[:prefix.rindex("_") + 1]
    return [f"class {camel(name)}(Number):", f'    """enum {name}"""',
            *(f"    {member.removeprefix(prefix)} = {value}" for member, value in members.items())]


def feature_lines(known):
    prefix = "DRM_T3_FEATURE_"
    return ["class Feature(enum.IntFlag):", f'    """{prefix}*"""',
            *(f"    {name.removeprefix(prefix)} = {value:#x}" for name, value in known.items()
              if name.startswith(prefix))]


# A newer device or driver may have values that these headers do not know.
BASE_CLASS = '''
class Number(enum.IntEnum):
    """An enumeration; a value without a name is UNKNOWN_<value>."""

    @classmethod
    def _missing_(cls, value: object) -> "Number":
        if not isinstance(value, int):
            raise ValueError(f"{value!r} is no number of {cls.__name__}")
        made = int.__new__(cls, value)
        made._name_, made._value_ = f"UNKNOWN_{value}", value
        return made
'''.splitlines()


def numbers(ffi, values):
    """({name: number}, {name: text of a string}) of macros without arguments."""
    found = {name: number_of(ffi, value) for name, value in values.items()}
    return ({name: number for name, number in found.items() if number is not None},
            {name: value for name, value in values.items() if re.fullmatch(r'"[\w.-]*"', value)})


def ioctls(values, known):
    """{short name: (number of the request, its struct)}"""
    found = {}
    for name, value in values.items():
        struct = SIZEOF.search(value)
        if name.startswith("DRM_IOCTL_") and name in known and struct:
            short = name.removeprefix("DRM_IOCTL_").removeprefix("T3_").lower()
            found[short] = (known[name], struct[1])
    return found


def names_module(ffi, text, plain, functions):
    """plain: {macro: its expansion}; functions: {macro: (parameters, expansion)}."""
    known, strings = numbers(ffi, plain)
    enums = enumerations(ffi, text)
    lines = [f"{name}: Final = {number}" for name, number in known.items()]
    lines += [f"{name}: Final = {value}" for name, value in strings.items()]
    lines += [f"{member}: Final = {value}" for enum in enums.values()
              for member, value in enum.items()]
    for name, (parameters, value) in functions.items():
        if function := function_of(parameters, value):
            lines += ["", "", f"def {name}({function[0]}) -> int:", f"    return {function[1]}"]
    lines += ["", *BASE_CLASS]
    for name, members in enums.items():
        lines += ["", "", *enumeration_lines(name, members)]
    lines += ["", "", *feature_lines(known)]
    table = [f'    "{name}": ({number:#x}, "{struct}"),'
             for name, (number, struct) in ioctls(plain, known).items()]
    return "\n".join(["# Made by declare.py from libt3's headers.",
                      '"""Numbers, enumerations and ioctls of the C headers."""', "", "import enum",
                      "from typing import Final", "", *lines, "", "",
                      "# name: (number of the request, its argument)",
                      "IOCTLS: Final[dict[str, tuple[int, str]]] = {", *table, "}", ""])


def declare(target, folders=()):
    """Write both modules into the folder `target`."""
    import cffi  # pylint: disable=import-outside-toplevel

    folders = list(folders) or include_folders()
    text = declarations(preprocess(folders, ""))
    ffi = cffi.FFI()
    ffi.cdef(text)
    ffi.set_source("t3._abi", None)
    found = macros(preprocess(folders, "", "-dM"))
    values = expansions(folders, found)
    plain = {name: values[name] for name, parameters in found.items() if not parameters}
    functions = {name: (parameters, values[name]) for name, parameters in found.items()
                 if parameters}
    module = names_module(ffi, text, plain, functions)
    target = pathlib.Path(target)
    target.mkdir(parents=True, exist_ok=True)
    ffi.emit_python_code(str(target / "_abi.py"))
    (target / "_names.py").write_text(module, encoding="utf-8")


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        declare(sys.argv[1], sys.argv[2:])
    except BadHeaders as error:
        print(f"declare.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

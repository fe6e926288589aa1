#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`make install` and what it installs, as those see it who build against it; TAP on stdout.

usage: install.py [--add-symbols]   (then: write down what libt3.symbols lacks)
"""

import hashlib
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys

from api import BUILD, PAGES, ROOT, Wrong, functions, public_headers, require, run_tests, same

PLACE = BUILD / "install-test"
SYMBOLS = ROOT / "tests/libt3/libt3.symbols"
MAP = ROOT / "libt3/libt3.map"
PROGRAM = ROOT / "tests/libt3/program.c"
LAYOUT = ROOT / "tests/libt3/layout.c"
SECONDS = 900  # for the first `make install`, which compiles all
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

# What libt3.so may need, and what the checker that it loads for T3_DEBUG=check may: with
# libgcc_s that one finds out which line of code has called.
ALLOWED = {"libdrm", "libpci", "libc", "libm", "ld-linux-x86-64"}
CHECKER, CHECKER_ALLOWED = "libt3-check.so.0", {"libdrm", "libc", "ld-linux-x86-64", "libgcc_s"}
CHECKED = ROOT / "tests/libt3/checked.c"

# Two ways to install: a package's tree, and a folder that is used where it is.
STAGED, STAGED_LIB = PLACE / "staged", "/usr/lib/x86_64-linux-gnu"
STAGED_OPTIONS = [f"DESTDIR={STAGED}", "PREFIX=/usr", f"LIBDIR={STAGED_LIB}"]
FOLDER = PLACE / "folder"
FOLDER_OPTIONS = ["DESTDIR=", f"PREFIX={FOLDER}"]


def clean_environment(**more):
    drop = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "CFLAGS",
            "DESTDIR", "PREFIX", "BINDIR", "LIBDIR", "INCLUDEDIR", "DATADIR", "MANDIR")
    return {**{key: value for key, value in os.environ.items() if key not in drop}, **more}


def execute(*command, env=None, status=0, umask=-1):
    """Its output and errors as one text. Wrong when it has another status."""
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=SECONDS,
                          env=env or clean_environment(), check=False, umask=umask)
    require(done.returncode == status, f"{' '.join(command)}: status {done.returncode}\n"
            f"{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def make(*arguments, status=0):
    """By somebody whose files are private: what he installs is for all users."""
    return execute("make", f"T3_BUILD={BUILD}", *arguments, status=status, umask=0o077)


# --- what is installed -------------------------------------------------------

def page_names(page):
    name_section = page.read_text().split(".Sh NAME")[1].split("\n.Nd")[0]
    return re.findall(r"^\.Nm (\w+)", name_section, re.M)


def expected_files(libdir):
    """Path below the prefix: its mode, or the target of a link."""
    version = (ROOT / "tools/packaging/VERSION").read_text().strip()
    files = {"bin/t3": 0o755, f"{libdir}/libt3.a": 0o644, f"{libdir}/libt3.so": "libt3.so.0",
             f"{libdir}/libt3.so.0": f"libt3.so.{version}", f"{libdir}/libt3.so.{version}": 0o644,
             f"{libdir}/{CHECKER}": 0o644, f"{libdir}/pkgconfig/libt3.pc": 0o644, "include/t3/t3_accel.h": 0o644,
             "include/t3/t3_hw.h": 0o644, f"{libdir}/cmake/t3/t3-config.cmake": 0o644,
             f"{libdir}/cmake/t3/t3-config-version.cmake": 0o644,
             "share/man/man1/t3.1": 0o644}
    files.update({f"include/t3/{header.name}": 0o644 for header in public_headers()})
    for page in PAGES.glob("*.[1-9]"):
        section = page.suffix[1:]
        names = {page.stem, *page_names(page)}
        files.update({f"share/man/man{section}/{name}.{section}": 0o644 for name in names})
    for shell in ("bash-completion/completions/t3", "fish/vendor_completions.d/t3.fish", "zsh/site-functions/_t3"):
        files[f"share/{shell}"] = 0o644
    return files


def installed_files(prefix):
    files = {}
    for path in prefix.rglob("*"):
        if path.is_symlink():
            files[str(path.relative_to(prefix))] = os.readlink(path)
        elif not path.is_dir():
            files[str(path.relative_to(prefix))] = stat.S_IMODE(path.stat().st_mode)
    return files


def installs_these_files_and_no_others():
    for prefix, options, libdir in ((STAGED / "usr", STAGED_OPTIONS, "lib/x86_64-linux-gnu"),
                                    (FOLDER, FOLDER_OPTIONS, "lib")):
        make("install", *options)
        same(installed_files(prefix).items(), expected_files(libdir).items(), f"{prefix}")
    same([path.name for path in STAGED.iterdir()], ["usr"], "beside /usr")


def links_of_pages_lead_to_pages():
    """The directory for man(1). Link targets are relative to it."""
    manual = FOLDER / "share/man"
    for name in functions():
        text = (manual / f"man3/{name}.3").read_text()
        link = re.fullmatch(r"\.so (\S+)\n", text)
        page = manual / link[1] if link else manual / f"man3/{name}.3"
        require(page.is_file() and name in page_names(page), f"{name}(3) is not in {page}")


def builds_only_what_it_installs():
    """It starts from nothing, and does not call apt: a package's build machine has none."""
    nowhere = PLACE / "nothing"
    text = execute("make", "-n", "install", f"T3_BUILD={nowhere}", *STAGED_OPTIONS)
    require("install.py install\n" in text, "it would not build libt3")
    for stage in ("deps.sh", "qemu", "kernel", "module.sh", "initramfs", "cmocka"):
        require(f"{stage}" not in text.replace("-Iqemu-device", "").replace("qemu-device/", ""),
                f"make install has to do with {stage}")


def a_second_install_changes_nothing():
    before = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in FOLDER.rglob("*") if path.is_file()}
    make("install", *FOLDER_OPTIONS)
    after = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in FOLDER.rglob("*") if path.is_file()}
    same(before.items(), after.items(), "a second install")


def uninstall_keeps_other_files():
    place = PLACE / "removed"
    options = [f"DESTDIR={place}", "PREFIX=/opt/t3"]
    make("install", *options)
    foreign = place / "opt/t3/include/t3/of-another.h"
    foreign.write_text("")
    make("uninstall", *options)
    same([path for path in place.rglob("*") if not path.is_dir()], [foreign], "left")
    foreign.unlink()
    make("uninstall", *options)
    require(not foreign.parent.exists(), f"{foreign.parent} is left")


def refuses_directories_that_would_not_work():
    for wrong in ("PREFIX=usr", "PREFIX=", "LIBDIR=/a b", "INCLUDEDIR=/a|b", "DESTDIR=here"):
        text = make("install", wrong, status=2)
        name = wrong.split("=", maxsplit=1)[0]
        require(f"t3: {name} must be" in text, f"{wrong}: {text}")


# --- the library and the tool ------------------------------------------------

def dynamic(path, tag):
    text = execute("readelf", "-dW", path)
    return re.findall(rf"\({tag}\).*\[(.*)\]", text)


def needs_of(library):
    return {re.sub(r"\.so.*", "", name) for name in dynamic(library, "NEEDED")}


def library_says_what_it_is_and_needs():
    library = FOLDER / "lib/libt3.so"
    same(dynamic(library, "SONAME"), ["libt3.so.0"], "SONAME")
    needs = needs_of(library)
    require({"libdrm", "libpci", "libc"} <= needs, f"it needs only {sorted(needs)}")
    same(needs - ALLOWED, [], "NEEDED")
    require(not dynamic(library, "R(?:UN)?PATH"), "the library has a search path")
    require("(TEXTREL)" not in execute("readelf", "-dW", library), "it has text relocations")
    undefined = execute("ldd", "-r", library)
    require("undefined symbol" not in undefined, undefined)


def checker_offers_its_table_alone():
    checker = FOLDER / "lib" / CHECKER
    same(dynamic(checker, "SONAME"), [CHECKER], "SONAME")
    same(needs_of(checker) - CHECKER_ALLOWED, [], "NEEDED")
    text = execute("nm", "-D", "--defined-only", checker)
    same(re.findall(r" [A-Z] (\w+)$", text, re.M), ["t3_check_hooks"], "exported")


def tool_finds_its_library():
    """The checker is beside libt3, in any folder, and nowhere else below /usr."""
    same(dynamic(FOLDER / "bin/t3", "RUNPATH"), ["$ORIGIN/../lib"], "RUNPATH")
    same(dynamic(STAGED / "usr/bin/t3", "R(?:UN)?PATH"), [], "RUNPATH below /usr")
    found = re.search(r"libt3\.so\.0 => (\S+)", execute("ldd", FOLDER / "bin/t3"))
    require(found and FOLDER / "lib" == pathlib.Path(os.path.normpath(found[1])).parent,
            f"bin/t3 uses {found and found[1]}")
    require("usage: t3" in execute(FOLDER / "bin/t3", "help"), "t3 help says nothing")


def pc_file_names_no_build_path():
    text = (STAGED / STAGED_LIB[1:] / "pkgconfig/libt3.pc").read_text()
    for place in (STAGED, BUILD, ROOT, "@"):
        require(str(place) not in text, f"libt3.pc names {place}")
    require("libdir=${prefix}/lib/x86_64-linux-gnu\n" in text, "libdir is not below ${prefix}")


# --- programs that use it ----------------------------------------------------

def pkg_config(*arguments, path=FOLDER / "lib/pkgconfig", **env):
    return execute("pkg-config", *arguments, "libt3",
                   env=clean_environment(PKG_CONFIG_PATH=str(path), **env)).split()


def build_and_run(name, compiler, standard, libs, path, source=PROGRAM, **env):
    program = PLACE / name
    execute(*compiler, f"-std={standard}", *STRICT, *pkg_config("--cflags", path=path, **env),
            "-o", program, source, *libs)
    said = execute(program, env=clean_environment(LD_LIBRARY_PATH=str(FOLDER / "lib")))
    require(said == "6 tiles of f32\n", f"{program} says '{said}'")
    return program


def c_program_links_shared():
    libs = pkg_config("--libs")
    same(libs, [f"-L{FOLDER}/lib", "-lt3"], "pkg-config --libs")
    program = build_and_run("c-shared", ["gcc", "-x", "c"], "c11", ["-x", "none", *libs],
                            FOLDER / "lib/pkgconfig")
    require("libt3.so.0" in dynamic(program, "NEEDED"), "it is not linked with libt3.so.0")


def cxx_program_links_shared():
    for standard in ("c++11", "c++20"):
        build_and_run(f"{standard}-shared", ["g++", "-x", "c++"], standard,
                      ["-x", "none", *pkg_config("--libs")], FOLDER / "lib/pkgconfig")


def static_libs(path=FOLDER / "lib/pkgconfig", **env):
    """All members of the archive, so that each library that any of them needs must exist."""
    whole = ["-Wl,-Bstatic,--whole-archive", "-lt3", "-Wl,--no-whole-archive,-Bdynamic"]
    for flag in pkg_config("--static", "--libs", path=path, **env):
        yield from whole if flag == "-lt3" else [flag]


def programs_link_statically():
    for name, compiler, standard in (("c-static", "c", "c11"), ("cxx-static", "c++", "c++11")):
        driver = "gcc" if compiler == "c" else "g++"
        program = build_and_run(name, [driver, "-x", compiler], standard,
                                ["-Wl,--as-needed", "-x", "none", *static_libs()],
                                FOLDER / "lib/pkgconfig")
        require("libt3.so.0" not in dynamic(program, "NEEDED"), f"{name} needs libt3.so.0")


CMAKE_LISTS = """cmake_minimum_required(VERSION 3.18)
project(program {languages})
find_package(t3 {version} REQUIRED)
find_package(t3 REQUIRED) # a second time, from another folder of a project
add_executable(shared {source})
target_link_libraries(shared t3::t3)
add_executable(static {source})
target_link_libraries(static t3::t3-static)
"""


def cmake_project(name, version, languages="C", status=0):
    """Configures a project that asks for that version. Its build folder and what CMake says."""
    source, place = PLACE / f"cmake-{name}", PLACE / f"cmake-{name}/build"
    source.mkdir(parents=True)
    (source / "program.cc").write_text(PROGRAM.read_text())
    program = PROGRAM if languages == "C" else source / "program.cc"
    (source / "CMakeLists.txt").write_text(CMAKE_LISTS.format(source=program, version=version,
                                                              languages=languages))
    said = execute("cmake", "-S", source, "-B", place, status=status,
                   env=clean_environment(CMAKE_PREFIX_PATH=str(FOLDER)))
    return place, said


def cmake_finds_it():
    """Shared and static, for C and for C++; a later version or another first number is refused."""
    if not shutil.which("cmake"):
        print("# cmake is not installed")
        return
    version = (ROOT / "tools/packaging/VERSION").read_text().strip()
    for languages in ("C", "CXX"):
        place, _ = cmake_project(languages, version, languages)
        execute("cmake", "--build", place)
        for program, needs in (("shared", True), ("static", False)):
            said = execute(place / program, env=clean_environment())
            require(said == "6 tiles of f32\n", f"{program} says '{said}'")
            require(("libt3.so.0" in dynamic(place / program, "NEEDED")) == needs, f"what {program} needs")
    major = int(version.split(".", maxsplit=1)[0])
    for name, wanted in (("later", f"{version}.1"), ("next", f"{major + 1}.0")):
        _, said = cmake_project(name, wanted, status=1)
        require(f"version: {version}" in said, f"cmake says {said}")


# --- T3_DEBUG=check ----------------------------------------------------------

def checked_program(name, libs):
    program = PLACE / name
    execute("gcc", "-std=gnu11", "-Wall", "-Werror", "-o", program, CHECKED, *pkg_config("--cflags"),
            *libs)
    return program


def ends_by_a_report(program, **env):
    text = execute(program, env=clean_environment(T3_DEBUG="check", **env), status=-signal.SIGABRT)
    require("T3 check: a store while the space is not armed" in text, text)


def goes_on_unchecked(program, *words, **env):
    text = execute(program, env=clean_environment(T3_DEBUG="check", **env))
    require("it was stored" in text, text)
    for word in words:
        require(word in text, f"no '{word}' in {text}")
    return text


def checker_is_found_beside_the_library():
    """In any place: installed, and in the build folder."""
    program = checked_program("checked-shared", pkg_config("--libs"))
    for place in (FOLDER / "lib", BUILD):
        ends_by_a_report(program, LD_LIBRARY_PATH=str(place))
    by_path = checked_program("checked-rpath", [*pkg_config("--libs"), f"-Wl,-rpath,{FOLDER}/lib"])
    ends_by_a_report(by_path)


def checker_is_found_by_a_static_program():
    """The dynamic linker finds it like any library. Else the program gets a message."""
    program = checked_program("checked-static", static_libs())
    ends_by_a_report(program, LD_LIBRARY_PATH=str(FOLDER / "lib"))
    goes_on_unchecked(program, "libt3: T3_DEBUG=check: nothing is checked", CHECKER, "make install")


def program_without_the_checker_goes_on():
    """The message says where it has looked."""
    alone = PLACE / "alone"
    alone.mkdir()
    shutil.copy(FOLDER / "lib/libt3.so.0", alone / "libt3.so.0")
    program = checked_program("checked-alone", pkg_config("--libs"))
    goes_on_unchecked(program, "libt3: T3_DEBUG=check: nothing is checked", f"{alone}/{CHECKER}",
                      LD_LIBRARY_PATH=str(alone))
    (alone / CHECKER).write_text("no object\n")
    goes_on_unchecked(program, "nothing is checked", "file too short", LD_LIBRARY_PATH=str(alone))


def checker_of_another_version_is_refused():
    other = PLACE / "other"
    other.mkdir()
    shutil.copy(FOLDER / "lib/libt3.so.0", other / "libt3.so.0")
    source = PLACE / "other.c"
    source.write_text('const struct { char version[16]; unsigned int size[64]; } t3_check_hooks = '
                      '{ "0.0.9", { 0 } };\n')
    execute("gcc", "-shared", "-fPIC", "-o", other / CHECKER, source)
    goes_on_unchecked(checked_program("checked-other", pkg_config("--libs")),
                      "is of libt3 0.0.9 and this is ", LD_LIBRARY_PATH=str(other))


def stores_are_right_under_tools():
    """valgrind shows a handler wrong registers, so that the checker refuses to work."""
    program = checked_program("checked-right", pkg_config("--libs"))
    env = clean_environment(T3_DEBUG="check", LD_LIBRARY_PATH=str(BUILD))
    right = "0 of 2048 are wrong\n"
    same([execute(program, "right", env=env)], [right], "alone")
    text = execute("valgrind", "-q", "--tool=none", program, "right", env=env)
    require(right in text and "nothing is checked: what runs this program" in text, text)


def setuid_program_is_not_checked():
    """A setuid program ignores the environment. The test needs root to make one."""
    if os.geteuid():
        return
    program = checked_program("checked-setuid", [*static_libs(), f"-Wl,-rpath,{FOLDER}/lib"])
    ends_by_a_report(program)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    same([goes_on_unchecked(program)], ["it was stored\n"], "a setuid program says")


def staged_tree_is_a_sysroot():
    """pkg-config's output with DESTDIR as PKG_CONFIG_SYSROOT_DIR. libdrm is there, too."""
    (STAGED / "usr/include/libdrm").symlink_to("/usr/include/libdrm")
    build_and_run("sysroot", ["gcc", "-x", "c"], "c11",
                  ["-x", "none", *pkg_config("--libs", path=STAGED / STAGED_LIB[1:] / "pkgconfig",
                                             PKG_CONFIG_SYSROOT_DIR=str(STAGED))],
                  STAGED / STAGED_LIB[1:] / "pkgconfig", PKG_CONFIG_SYSROOT_DIR=str(STAGED))


def build_tree_serves_as_an_installed_one():
    libs = pkg_config("--libs", path=BUILD)
    same(libs, [f"-L{BUILD}", "-lt3"], "pkg-config --libs in the build folder")
    build_and_run("uninstalled", ["gcc", "-x", "c"], "c11", ["-x", "none", *libs], BUILD)


def headers_compile_alone():
    """Each header first in a file and twice, in every standard that is promised."""
    for header in sorted((FOLDER / "include/t3").iterdir()):
        source = PLACE / "alone.c"
        source.write_text(f"#include <{header.name}>\n" * 2)
        for standard in ("c11", "c17", "c2x", "gnu11", "c++11", "c++14", "c++17", "c++20"):
            language = "c++" if "++" in standard else "c"
            execute("gcc", "-x", language, f"-std={standard}", *STRICT, "-fsyntax-only",
                    *pkg_config("--cflags"), source)


def layouts_stay():
    """The sizes of all structs that are not opaque, as the compiler has them."""
    declared = [name for header in public_headers()
                for name in re.findall(r"^struct (t3_\w+) \{", header.read_text(), re.M)]
    held = re.findall(r"^(?:LAYOUT|GROWS)\((\w+),", LAYOUT.read_text(), re.M)
    same(held, declared, f"structs in {LAYOUT.name}")
    execute("gcc", "-std=c11", *STRICT, "-fsyntax-only", *pkg_config("--cflags"), LAYOUT)


# --- symbols -----------------------------------------------------------------

def exported():
    """name: version, from the dynamic symbols."""
    text = execute("nm", "-D", "--defined-only", "--with-symbol-versions", FOLDER / "lib/libt3.so")
    return dict(re.findall(r" [A-Z] (\w+)@@(\w+)$", text, re.M)), text


def mapped():
    """name: version, from the map, whose lists must be in order."""
    symbols = {}
    for version, names in re.findall(r"^(\w+) \{\nglobal:\n(.*?)^(?:local|\})",
                                     MAP.read_text(), re.S | re.M):
        names = [name.strip() for name in names.split(";") if name.strip()]
        symbols.update({name: version for name in names})
    return symbols


def exports_what_the_headers_declare():
    symbols, text = exported()
    versions = set(mapped().values())
    same(symbols, functions(), "exported")
    same(symbols.items(), mapped().items(), "with the map's version")
    others = [line.split()[-1] for line in text.splitlines() if "@@" not in line]
    same(others, versions, "symbols without a version")


def released():
    lines = [line.split() for line in SYMBOLS.read_text().splitlines()
             if line.strip() and not line.startswith("#")]
    require(all(len(line) == 2 for line in lines), f"{SYMBOLS.name}: not NAME@VERSION SINCE")
    return dict(line[0].split("@") for line in lines)


def no_released_symbol_is_missing():
    symbols, _ = exported()
    for name, version in released().items():
        require(symbols.get(name) == version, f"{name}@{version} was released, and libt3 has "
                f"{symbols.get(name, 'no such function')}")
    more = sorted(set(symbols) - set(released()))
    require(not more, f"not in {SYMBOLS.name}: {' '.join(more)}; tests/libt3/install.py "
            "--add-symbols adds them: from then on they stay")


def archive_has_no_other_names():
    """A hidden function of libt3.a must not collide with a program's function of that name."""
    text = execute("nm", "-g", "--defined-only", FOLDER / "lib/libt3.a")
    same(re.findall(r"^[0-9a-f]+ [A-Z] (\w+)$", text, re.M), exported()[0], "global names")


def add_symbols():
    version = (ROOT / "tools/packaging/VERSION").read_text().strip()
    known, lines = released(), SYMBOLS.read_text().splitlines()
    lines += [f"{name}@{node} {version}" for name, node in mapped().items() if name not in known]
    head = [line for line in lines if line.startswith("#")]
    SYMBOLS.write_text("\n".join(head + sorted(set(lines) - set(head))) + "\n")


TESTS = [installs_these_files_and_no_others, links_of_pages_lead_to_pages,
         builds_only_what_it_installs, a_second_install_changes_nothing,
         uninstall_keeps_other_files, refuses_directories_that_would_not_work,
         library_says_what_it_is_and_needs, checker_offers_its_table_alone,
         tool_finds_its_library,
         pc_file_names_no_build_path, c_program_links_shared, cxx_program_links_shared,
         programs_link_statically, cmake_finds_it, checker_is_found_beside_the_library,
         checker_is_found_by_a_static_program, program_without_the_checker_goes_on,
         checker_of_another_version_is_refused, stores_are_right_under_tools,
         setuid_program_is_not_checked, staged_tree_is_a_sysroot,
         build_tree_serves_as_an_installed_one, headers_compile_alone, layouts_stay,
         exports_what_the_headers_declare, no_released_symbol_is_missing,
         archive_has_no_other_names]


def main():
    if sys.argv[1:] == ["--add-symbols"]:
        return add_symbols()
    if sys.argv[1:]:
        sys.exit(__doc__.splitlines()[-1])
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    return run_tests(TESTS)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as error:
        sys.exit(f"install.py: {error}")

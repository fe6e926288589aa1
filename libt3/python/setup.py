# SPDX-License-Identifier: MIT
"""Packing: the modules of C declarations are made here, see declare.py."""

import pathlib
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import declare  # noqa: E402


def version():
    """The release's, of the source tree or of the installed libt3."""
    path = HERE.parents[1] / "tools/packaging/VERSION"
    return path.read_text().strip() if path.exists() else declare.package_version()


class BuildWithDeclarations(build_py):
    def run(self):
        super().run()
        try:
            declare.declare(pathlib.Path(self.build_lib) / "t3")
        except declare.BadHeaders as error:
            sys.exit(f"setup.py: {error}")


setup(version=version(), packages=["t3", "t3.torch", "t3.traces"], package_data={"t3": ["py.typed"]},
      cmdclass={"build_py": BuildWithDeclarations})

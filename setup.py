"""The compiled search kernel; everything else about the package is in pyproject.toml.

Optional: without a compiler the package installs and uses another engine (`shopsim doctor` says which).
"""

from pathlib import Path

from setuptools import Extension, setup

_FOLDER = "shopsim_env/search/kernel"
_SOURCES = sorted(path.as_posix() for path in Path(_FOLDER).glob("*.c"))

setup(
    ext_modules=[
        Extension(
            "shopsim_env.search._kernel",
            _SOURCES,
            depends=[f"{_FOLDER}/kernel.h"],
            optional=True,
            py_limited_api=True,
            define_macros=[("Py_LIMITED_API", "0x030A0000")],
            # A fused multiply-add rounds once where FTS5 rounds twice: scores would differ in the last bit.
            extra_compile_args=["-O3", "-ffp-contract=off"],
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)

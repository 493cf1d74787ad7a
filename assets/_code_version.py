"""Code versions of assets: a hash of the source that decides what an asset writes.

A forgotten manual bump cannot hide a change: an edit of a named module, or of one of our modules that it
imports, however far away, shows as unsynced in the UI and keeps the artifact out of a release.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_OURS = ("pipelines", "shopsim_env")

# Asset name -> its present code version, for the release to compare with what wrote each artifact.
CODE_VERSIONS: dict[str, str] = {}


def code_version(asset: str, *modules: str) -> str:
    """First 12 hex digits of SHA-256 over the sources of `modules` and of what they import of ours."""
    digest = hashlib.sha256()
    for name in sorted(_closure(modules)):
        digest.update(name.encode())
        digest.update(_source(name))
    CODE_VERSIONS[asset] = digest.hexdigest()[:12]
    return CODE_VERSIONS[asset]


def _closure(modules: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_imports(name))
    return found


@cache
def _imports(module: str) -> frozenset[str]:
    """Modules of ours that `module` imports, by the text of its import statements."""
    names: set[str] = set()
    for node in _statements(ast.parse(_source(module))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(name for name in names if name.split(".")[0] in _OURS and _path(name) is not None)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Every statement, however deep; expressions, of which there are far more, import nothing."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]


@cache
def _source(module: str) -> bytes:
    path = _path(module)
    if path is None:
        raise ModuleNotFoundError(module)
    return path.read_bytes()


@cache
def _path(module: str) -> Path | None:
    # Not by `find_spec`, which would import packages on the way; most names asked for are no modules, but
    # names in one, as in `from package.module import name`.
    place = _package(module.split(".")[0]).joinpath(*module.split(".")[1:])
    files = (place / "__init__.py", place.with_name(f"{place.name}.py"))
    # The compiled search kernel is among the tools (`pipelines.resources.memo`). It changes no artifact, as
    # every engine gives the same hits; the checks that say so run again for another kernel.
    return next((path for path in files if path.is_file()), None)


@cache
def _package(name: str) -> Path:
    """Folder of a top-level package of ours."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(name)
    return Path(spec.origin).parent

"""The recipe of an asset or a check: a hash of all source that its function can reach.

A code version names the rules of a stage; a recipe also covers the wiring around them, because work is left
out by it (`pipelines.resources.memo`). In `assets` it goes definition by definition, so that an edit of one
asset leaves its neighbours alone; what is imported of the other packages counts as whole modules.
"""

import ast
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from assets._code_version import _OURS, _closure, _imports, _path, _source
from pipelines.errors import ArtifactError

_HERE = "assets"
_ALL = "*"
_Definition = tuple[str, str]


def _take_sources() -> None:
    """Reads all source now, as it is imported: a server that runs for days must not judge later edits."""
    root = Path(__file__).parent
    for path in root.rglob("*.py"):
        name = ".".join((_HERE, *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        for module in _closure(_imports(name)):
            _source(module)


@cache
def recipe(module: str, function: str) -> str:
    """SHA-256 over the source of a top-level function and of everything of ours that it reaches.

    Args:
        module: Dotted name of the module, in `assets`.
        function: Name of the function there.
    """
    definitions, modules = _reach((module, function))
    digest = hashlib.sha256()
    for home, name in sorted(definitions):
        digest.update(f"{home}.{name}\n".encode())
        digest.update("\n".join(_bindings(home).get(name, ())).encode())
    for name in sorted(_closure(modules)):
        digest.update(f"{name}\n".encode())
        digest.update(_source(name))
    return digest.hexdigest()


@contextmanager
def as_imported(module: str, function: str) -> Iterator[None]:
    """Refuses work while the source on disk is not the one that this process imported.

    The processes that a stage starts import what is on disk, and their results would be noted under the
    recipe and the code version of before.

    Args:
        module: Dotted name of the module, in `assets`.
        function: Name of the function there that does the work.

    Raises:
        ArtifactError: Names an edited module (code `source_edited`), before or after the work.
    """
    _require_as_imported(module, function)
    yield
    _require_as_imported(module, function)


def _require_as_imported(module: str, function: str) -> None:
    for name in sorted(_closure(_reach((module, function))[1])):
        path = _path(name)
        if path is None or not path.is_file() or path.read_bytes() != _source(name):
            raise ArtifactError(
                f"{name}: expected the source that this process imported, found an edited file. Start the "
                "build again, or reload the code location in the UI.",
                code="source_edited",
            )


def _reach(start: _Definition) -> tuple[set[_Definition], set[str]]:
    """Definitions in `assets`, and modules elsewhere, that `start` uses directly or through others."""
    found: set[_Definition] = set()
    modules: set[str] = set()
    waiting = [start]
    while waiting:
        home, name = waiting.pop()
        if home.split(".")[0] != _HERE:
            modules.add(home)
        elif name == _ALL:
            waiting.extend((home, each) for each in _bindings(home))
        elif (home, name) not in found and name in _bindings(home):
            found.add((home, name))
            for statement in _bindings(home)[name]:
                waiting.extend(_used(home, name, statement))
    return found, modules


@cache
def _bindings(module: str) -> dict[str, tuple[str, ...]]:
    """Top-level names of a module -> the statements that give them a value, as source."""
    text = _source(module).decode("utf-8")
    lines = text.splitlines()
    found: dict[str, tuple[str, ...]] = {}
    for node in ast.parse(text).body:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(item.lineno for item in decorators)])
        source = "\n".join(lines[first - 1 : node.end_lineno])
        for name in _bound(node):
            found[name] = (*found.get(name, ()), source)
    return found


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.split(".")[0] for alias in node.names}
    # An assignment, also to a part (`TABLE[key] = ...`), and whatever a loop or a condition does to names.
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
    return {item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)}


@cache
def _used(home: str, name: str, statement: str) -> frozenset[_Definition]:
    """Definitions that one statement of module `home` uses, `*` for a whole module; ours alone."""
    found: set[_Definition] = set()
    (top,) = ast.parse(statement).body
    for node in ast.walk(top):
        if isinstance(node, ast.Name) and node.id != name:
            found.add((home, node.id))
        elif isinstance(node, ast.Import):
            found |= {(alias.name, _ALL) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and _is_ours(str(node.module)):
            # A statement may import several names; at the top level one of them was asked for.
            asked = [alias for alias in node.names if node is not top or name in (alias.name, alias.asname)]
            found |= {_origin(str(node.module), alias.name) for alias in asked}
    return frozenset(item for item in found if _is_ours(item[0]))


def _is_ours(module: str) -> bool:
    return module.split(".")[0] in (_HERE, *_OURS)


def _origin(module: str, name: str) -> _Definition:
    """`from package import module` means a module, any other import a name in one."""
    return (module, name) if _path(f"{module}.{name}") is None else (f"{module}.{name}", _ALL)


_take_sources()

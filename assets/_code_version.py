"""Code versions of assets: a hash of the source that decides what an asset writes.

A forgotten manual bump cannot hide a change: any edit of the named modules shows as unsynced in the UI.
"""

import hashlib
from importlib.util import find_spec
from pathlib import Path


def code_version(*modules: str) -> str:
    """First 12 hex digits of SHA-256 over the sources of `modules`; a package counts with all it holds."""
    digest = hashlib.sha256()
    for module in modules:
        spec = find_spec(module)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(module)
        origin = Path(spec.origin)
        sources = sorted(origin.parent.rglob("*.py")) if origin.name == "__init__.py" else [origin]
        for source in sources:
            digest.update(source.name.encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()[:12]

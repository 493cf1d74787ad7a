"""The eight environments by id, and the collections of them that training draws from.

Belongs here: ids, names, which collection holds what and in which order. What an environment asks for and
how it grades is not here.
"""

from collections.abc import Iterable
from types import MappingProxyType

from shopsim_env.errors import UsageError

# Id to name, in the order of the published code.
ENVIRONMENTS = MappingProxyType(
    {
        "PD": "product discovery",
        "SUB": "substitution",
        "CART": "cart building",
        "RETURN": "return and replacement",
        "STATUS": "order status",
        "POLICY": "shop policy",
        "BUNDLE": "bundle planning",
        "JOURNEY": "several tasks in one conversation",
    }
)

_PUBLISHED_ORDER = tuple(ENVIRONMENTS)
_ORDER = ("CART", *(env_id for env_id in ENVIRONMENTS if env_id != "CART"))
_SIZES = (1, 2, 4, 8)

# C1 to C8 begin with cart building, as the published text does; R1 to R8 follow the published code.
COLLECTIONS = MappingProxyType(
    {f"C{size}": _ORDER[:size] for size in _SIZES} | {f"R{size}": _PUBLISHED_ORDER[:size] for size in _SIZES}
)


def environment(env_id: str) -> str:
    """The name of an environment.

    Raises:
        UsageError: `unknown_environment`.
    """
    if env_id not in ENVIRONMENTS:
        raise UsageError(
            f"environment: expected one of {', '.join(ENVIRONMENTS)}, found {env_id!r}",
            code="unknown_environment",
        )
    return ENVIRONMENTS[env_id]


def collection(chosen: str | Iterable[str]) -> tuple[str, ...]:
    """Environment ids of a collection, in its order.

    Args:
        chosen: Name of a collection, such as `C4`, or the ids of one's own.

    Raises:
        UsageError: `unknown_collection` for a name that is none, `unknown_environment` for an id that is
            none, `bad_collection` for no id at all or one that is given twice.
    """
    if isinstance(chosen, str):
        if chosen not in COLLECTIONS:
            raise UsageError(
                f"collection: expected one of {', '.join(COLLECTIONS)} or a list of environment ids, "
                f"found {chosen!r}",
                code="unknown_collection",
            )
        return COLLECTIONS[chosen]
    ids = tuple(chosen)
    for env_id in ids:
        environment(env_id)
    if not ids or len(set(ids)) < len(ids):
        raise UsageError(
            f"collection: expected at least one environment id and none twice, found {list(ids)}",
            code="bad_collection",
        )
    return ids

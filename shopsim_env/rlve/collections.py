"""The ids of the eight environments and their nested collections.

Belongs here: names and their order. C1, C2, C4 and C8 nest as the article says, beginning with cart building;
R1, R2, R4 and R8 are the order of the published code, which begins with product discovery.
"""

from collections.abc import Sequence

from shopsim_env.errors import UsageError

ENVIRONMENTS = ("PD", "SUB", "CART", "RETURN", "STATUS", "POLICY", "BUNDLE", "JOURNEY")
_ARTICLE = ("CART", "PD", "SUB", "RETURN", "STATUS", "POLICY", "BUNDLE", "JOURNEY")
COLLECTIONS = {
    **{f"C{count}": _ARTICLE[:count] for count in (1, 2, 4, 8)},
    **{f"R{count}": ENVIRONMENTS[:count] for count in (1, 2, 4, 8)},
}


def check_environment(env_id: str) -> str:
    """`env_id` itself.

    Raises:
        UsageError: not one of `ENVIRONMENTS` (code `unknown_environment`).
    """
    if env_id not in ENVIRONMENTS:
        raise UsageError(
            f"environment: expected one of {list(ENVIRONMENTS)}, found {env_id!r}", code="unknown_environment"
        )
    return env_id


def collection(name: str | Sequence[str]) -> tuple[str, ...]:
    """The environment ids of a collection, in its order.

    Args:
        name: A key of `COLLECTIONS`, or a list of environment ids that makes a collection of its own.

    Raises:
        UsageError: an unknown name (code `unknown_collection`), an unknown id (code `unknown_environment`),
            no id at all or one twice (code `bad_collection`).
    """
    if isinstance(name, str):
        if name not in COLLECTIONS:
            raise UsageError(
                f"collection: expected one of {list(COLLECTIONS)} or a list of environments, found {name!r}",
                code="unknown_collection",
            )
        return COLLECTIONS[name]
    ids = tuple(check_environment(env_id) for env_id in name)
    if not ids or len(set(ids)) < len(ids):
        raise UsageError(
            f"collection: expected one or more different environments, found {list(ids)}",
            code="bad_collection",
        )
    return ids

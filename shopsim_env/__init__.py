"""A Chinese shopping environment for training and evaluating agents.

The public surface is what `__all__` names; everything else may change. Importing reads no file and opens no
connection; a name is imported when it is first used, so that a process that only searches loads no more.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import shopsim_env.versions as _versions

if TYPE_CHECKING:
    from shopsim_env.catalog.price_axes import price_axes
    from shopsim_env.catalog.prices import PriceResolution, resolve_price
    from shopsim_env.catalog.product import Product
    from shopsim_env.client import AsyncClient, Client, LocalClient
    from shopsim_env.contamination import ContaminationHit, ContaminationReport, check_contamination
    from shopsim_env.errors import (
        CapacityError,
        EpisodeError,
        LeaseLostError,
        ObservationError,
        PoolError,
        ReleaseError,
        SearchIndexError,
        ServiceError,
        ShopSimError,
        TaskError,
        TraceError,
        UnknownTaskError,
        UsageError,
    )
    from shopsim_env.pool import EnvPool, Group
    from shopsim_env.release import Release, load_release
    from shopsim_env.reward.option import OptionMatch, match_option
    from shopsim_env.reward.total import RewardDetail, score_purchase
    from shopsim_env.rlve.env import RlveBatch, RlveEnv, RlveStart
    from shopsim_env.rlve.step import RlveStep
    from shopsim_env.search.result import SearchHit, SearchResult
    from shopsim_env.shop.actions import AskShopper, Click, Search
    from shopsim_env.shop.anchor import anchor_key
    from shopsim_env.shop.env import Reset, ShopEnv, Step
    from shopsim_env.shop.render import render_observation_state
    from shopsim_env.tasks.budget import Budget, parse_budget, task_budget
    from shopsim_env.tasks.iterator import TaskIterator
    from shopsim_env.tasks.model import Task
    from shopsim_env.text.normalize import normalize_query
    from shopsim_env.text.tokens import tokenize

__version__ = _versions.__version__

_HOMES = {
    "AskShopper": "shopsim_env.shop.actions",
    "AsyncClient": "shopsim_env.client",
    "Budget": "shopsim_env.tasks.budget",
    "CapacityError": "shopsim_env.errors",
    "Click": "shopsim_env.shop.actions",
    "Client": "shopsim_env.client",
    "ContaminationHit": "shopsim_env.contamination",
    "ContaminationReport": "shopsim_env.contamination",
    "EnvPool": "shopsim_env.pool",
    "EpisodeError": "shopsim_env.errors",
    "Group": "shopsim_env.pool",
    "LeaseLostError": "shopsim_env.errors",
    "LocalClient": "shopsim_env.client",
    "ObservationError": "shopsim_env.errors",
    "OptionMatch": "shopsim_env.reward.option",
    "PoolError": "shopsim_env.errors",
    "PriceResolution": "shopsim_env.catalog.prices",
    "Product": "shopsim_env.catalog.product",
    "Release": "shopsim_env.release",
    "ReleaseError": "shopsim_env.errors",
    "Reset": "shopsim_env.shop.env",
    "RewardDetail": "shopsim_env.reward.total",
    "RlveBatch": "shopsim_env.rlve.env",
    "RlveEnv": "shopsim_env.rlve.env",
    "RlveStart": "shopsim_env.rlve.env",
    "RlveStep": "shopsim_env.rlve.step",
    "Search": "shopsim_env.shop.actions",
    "SearchHit": "shopsim_env.search.result",
    "SearchIndexError": "shopsim_env.errors",
    "SearchResult": "shopsim_env.search.result",
    "ServiceError": "shopsim_env.errors",
    "ShopEnv": "shopsim_env.shop.env",
    "ShopSimError": "shopsim_env.errors",
    "Step": "shopsim_env.shop.env",
    "Task": "shopsim_env.tasks.model",
    "TaskError": "shopsim_env.errors",
    "TaskIterator": "shopsim_env.tasks.iterator",
    "TraceError": "shopsim_env.errors",
    "UnknownTaskError": "shopsim_env.errors",
    "UsageError": "shopsim_env.errors",
    "anchor_key": "shopsim_env.shop.anchor",
    "check_contamination": "shopsim_env.contamination",
    "load_release": "shopsim_env.release",
    "match_option": "shopsim_env.reward.option",
    "normalize_query": "shopsim_env.text.normalize",
    "parse_budget": "shopsim_env.tasks.budget",
    "price_axes": "shopsim_env.catalog.price_axes",
    "render_observation_state": "shopsim_env.shop.render",
    "resolve_price": "shopsim_env.catalog.prices",
    "score_purchase": "shopsim_env.reward.total",
    "task_budget": "shopsim_env.tasks.budget",
    "tokenize": "shopsim_env.text.tokens",
}
__all__ = [
    "AskShopper",
    "AsyncClient",
    "Budget",
    "CapacityError",
    "Click",
    "Client",
    "ContaminationHit",
    "ContaminationReport",
    "EnvPool",
    "EpisodeError",
    "Group",
    "LeaseLostError",
    "LocalClient",
    "ObservationError",
    "OptionMatch",
    "PoolError",
    "PriceResolution",
    "Product",
    "Release",
    "ReleaseError",
    "Reset",
    "RewardDetail",
    "RlveBatch",
    "RlveEnv",
    "RlveStart",
    "RlveStep",
    "Search",
    "SearchHit",
    "SearchIndexError",
    "SearchResult",
    "ServiceError",
    "ShopEnv",
    "ShopSimError",
    "Step",
    "Task",
    "TaskError",
    "TaskIterator",
    "TraceError",
    "UnknownTaskError",
    "UsageError",
    "anchor_key",
    "check_contamination",
    "load_release",
    "match_option",
    "normalize_query",
    "parse_budget",
    "price_axes",
    "render_observation_state",
    "resolve_price",
    "score_purchase",
    "task_budget",
    "tokenize",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})

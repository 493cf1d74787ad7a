"""A Chinese shopping environment for training and evaluating agents.

The public surface is what `__all__` names; everything else may change. Importing reads no file and opens no
connection.
"""

from shopsim_env.catalog.price_axes import price_axes
from shopsim_env.catalog.prices import PriceResolution, resolve_price
from shopsim_env.catalog.product import Product
from shopsim_env.errors import (
    EpisodeError,
    ObservationError,
    PoolError,
    ReleaseError,
    SearchIndexError,
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

__version__ = "0.1.0"

__all__ = [
    "AskShopper",
    "Budget",
    "Click",
    "EnvPool",
    "EpisodeError",
    "Group",
    "ObservationError",
    "OptionMatch",
    "PoolError",
    "PriceResolution",
    "Product",
    "Release",
    "ReleaseError",
    "Reset",
    "RewardDetail",
    "Search",
    "SearchHit",
    "SearchIndexError",
    "SearchResult",
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

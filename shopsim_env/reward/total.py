"""The three rewards of a finished episode, from the four components.

Belongs here: the formulas, the detail that a caller may see, and the scoring of one purchase. Source: seed
"论文奖励 pipeline"; nothing is rounded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shopsim_env.catalog.prices import resolve_price
from shopsim_env.catalog.product import Product, as_product
from shopsim_env.private import Goal
from shopsim_env.reward.attribute import count_attributes
from shopsim_env.reward.option import check_option_rule, count_matches
from shopsim_env.reward.price import match_price
from shopsim_env.reward.type_match import match_type
from shopsim_env.versions import PAPER_REWARD_VERSION, REWARD_VERSION

PURCHASE = "purchase"
_PURCHASE_ONLY = (
    "category_match",
    "title_score",
    "num_attr_matches",
    "num_option_matches",
    "n_att",
    "n_opt",
    "price_upper",
    "price_resolution",
)


@dataclass(frozen=True, slots=True)
class Totals:
    """The components and the three rewards, each 0..1; `r_success` is 0 or 1."""

    r_type: float
    r_att: float
    r_option: float
    r_price: float
    r_loose: float
    r_strict: float
    r_success: int


@dataclass(frozen=True, slots=True)
class RewardDetail:
    """Numbers and codes of one finished episode; holds no text of the goal.

    Fields after `price_verifiable` belong to purchases only. `price_upper` is the ceiling in yuan or None.
    """

    reward_version: str
    termination_reason: str
    r_type: float
    r_att: float
    r_option: float
    r_price: float
    r_loose: float
    r_strict: float
    r_success: int
    target_asin_match: bool
    price_verifiable: bool
    category_match: bool = False
    title_score: float = 0.0
    num_attr_matches: int = 0
    num_option_matches: int = 0
    n_att: int = 0
    n_opt: int = 0
    price_upper: float | None = None
    price_resolution: Mapping[str, Any] | None = None

    @property
    def reward(self) -> float:
        """The scalar reward of the environment: `r_strict`."""
        return self.r_strict

    def as_dict(self) -> dict[str, Any]:
        """JSON form; an episode without a purchase has the shared fields alone."""
        if self.termination_reason != PURCHASE:
            return {name: getattr(self, name) for name in self.__slots__ if name not in _PURCHASE_ONLY}
        values = {name: getattr(self, name) for name in self.__slots__}
        if self.price_resolution is not None:
            values["price_resolution"] = dict(self.price_resolution)
        return values


def reward_version(option_match: str) -> str:
    """Version of the reward for an option rule."""
    check_option_rule(option_match)
    return PAPER_REWARD_VERSION if option_match == "paper" else REWARD_VERSION


def combine(r_type: float, m_att: int, n_att: int, m_opt: int, n_opt: int, r_price: float) -> Totals:
    """The formulas of the seed; a kind without targets counts as met.

    Args:
        r_type: 0..1.
        m_att: Met target attributes.
        n_att: All target attributes.
        m_opt: Met target options.
        n_opt: All target options.
        r_price: 0 or 1.
    """
    r_att = m_att / n_att if n_att else 1.0
    r_option = m_opt / n_opt if n_opt else 1.0
    return Totals(
        r_type=r_type,
        r_att=r_att,
        r_option=r_option,
        r_price=r_price,
        r_loose=r_type * (m_att + m_opt + r_price) / (n_att + n_opt + 1),
        r_strict=r_type * r_att * r_option * r_price,
        r_success=int(r_type == r_att == r_option == r_price == 1),
    )


def score_purchase(
    product: Product | Mapping[str, Any],
    selected: Mapping[str, str],
    goal: Goal,
    *,
    option_match: str = "anchored",
) -> RewardDetail:
    """Scores the purchase of `product` with `selected` (axis name to public or raw value) against `goal`.

    Args:
        product: The bought product, as opened from a release or in the raw schema.
        selected: One value per chosen axis.
        goal: The private target.
        option_match: `anchored` or `paper`; `paper` is the published reward throughout.

    Raises:
        UsageError: unknown `option_match`.
    """
    version = reward_version(option_match)
    bought = as_product(product)
    kind = match_type(bought, goal.product, option_match=option_match)
    resolution = resolve_price(bought, selected)
    price = match_price(resolution, goal.budget_upper)
    m_att = count_attributes(goal.attributes, bought, option_match=option_match)
    m_opt = count_matches(goal.options, selected, bought, rule=option_match)
    totals = combine(kind.r_type, m_att, len(goal.attributes), m_opt, len(goal.options), price.r_price)
    return RewardDetail(
        reward_version=version,
        termination_reason=PURCHASE,
        r_type=totals.r_type,
        r_att=totals.r_att,
        r_option=totals.r_option,
        r_price=totals.r_price,
        r_loose=totals.r_loose,
        r_strict=totals.r_strict,
        r_success=totals.r_success,
        target_asin_match=bought.asin == goal.product.asin,
        price_verifiable=price.verifiable,
        category_match=kind.category_match,
        title_score=kind.title_score,
        num_attr_matches=m_att,
        num_option_matches=m_opt,
        n_att=len(goal.attributes),
        n_opt=len(goal.options),
        price_upper=None if goal.budget_upper is None else float(goal.budget_upper),
        price_resolution=resolution.as_dict(),
    )


def unpurchased_detail(termination_reason: str, option_match: str = "anchored") -> RewardDetail:
    """The detail of an episode that ended without a purchase: every reward is 0 (seed "终止和轨迹")."""
    return RewardDetail(
        reward_version=reward_version(option_match),
        termination_reason=termination_reason,
        r_type=0.0,
        r_att=0.0,
        r_option=0.0,
        r_price=0.0,
        r_loose=0.0,
        r_strict=0.0,
        r_success=0,
        target_asin_match=False,
        price_verifiable=False,
    )

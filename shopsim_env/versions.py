"""Versions of everything that a trace depends on; `configs/environment.json` freezes the same values.

A change of behaviour needs a new version here and there (a test compares the two). No logic here.
"""

__version__ = "0.1.0"
ENVIRONMENT_VERSION = "shopsimulator-paper-aligned-v9"
SEARCH_VERSION = "shopsimulator-multifield-bm25-v3"
OPTION_DOCUMENT_VERSION = "public-axis-value-v1"
OBSERVATION_VERSION = "shopping-observation-v7"
SHOPPER_OBSERVATION_VERSION = "shopping-observation-v8"
TOOL_VERSION = "shopping-tools-v5"
BUDGET_PARSER_VERSION = "instruction-budget-v2"
VARIANT_PRICE_VERSION = "variant-price-v3"
CATALOG_FILTER_VERSION = "single-price-axis-v1"
REWARD_VERSION = "shopsim-reward-v1"
PAPER_REWARD_VERSION = "shopsimulator-paper-reward-v2"
RELEASE_SCHEMA_VERSION = "shopsim-release-v3"
# Of the RLVE environments: derived shop facts and every episode are functions of it.
RLVE_SUITE_VERSION = "shopsim-rlve-v2"

TOP_K = 150
PAGE_SIZE = 20
ACTION_LIMITS = {"single_turn": 30, "multi_turn": 40}


def component_versions() -> dict[str, str]:
    """Versions that a release records and that the runtime compares before it opens one."""
    return {
        "environment": ENVIRONMENT_VERSION,
        "search": SEARCH_VERSION,
        "option_document": OPTION_DOCUMENT_VERSION,
        "observation": OBSERVATION_VERSION,
        "tools": TOOL_VERSION,
        "budget_parser": BUDGET_PARSER_VERSION,
        "variant_price": VARIANT_PRICE_VERSION,
        "catalog_filter": CATALOG_FILTER_VERSION,
        "reward": REWARD_VERSION,
        "paper_reward": PAPER_REWARD_VERSION,
    }

"""What a user of verifiers has: a module that exports the task set."""

from shopsim_env.adapters.verifiers import ShopTaskset

__all__ = ["ShopTaskset"]

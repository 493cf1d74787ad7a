"""`ToolFault`: a call that is not legal. Refusals of the shop are normal results (`overlay.refusal`)."""

from shopsim_env.errors import ShopSimError


class ToolFault(ShopSimError):  # noqa: N818 - the episode's word: a fault ends it, an error is somebody else's
    """No such tool (`unknown_tool`), or arguments that its schema does not allow (`bad_arguments`)."""

    default_code = "bad_arguments"
    wrong_use = True

"""`RefusalError`: the shop says no. A normal result of a tool, never an illegal call."""

from shopsim_env.errors import ShopSimError


class RefusalError(ShopSimError):
    """What the agent asked for is legal and cannot be done; nothing was changed."""

    default_code = "refused"

    def as_result(self) -> dict[str, dict[str, str]]:
        """The tool's result."""
        return {"error": {"code": self.code, "message": str(self)}}

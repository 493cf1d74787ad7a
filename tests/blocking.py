"""An asynchronous client called like a blocking one, so that one scenario serves all clients."""

import inspect


class Blocking:
    """Any client or episode with blocking calls: what is awaited elsewhere is awaited here."""

    def __init__(self, inner, loop) -> None:
        self.inner, self.loop = inner, loop

    def __repr__(self) -> str:
        return repr(self.inner)

    def __getattr__(self, name):
        value = getattr(self.inner, name)
        return self._call(value) if inspect.ismethod(value) else self._seen(value)

    def _call(self, method):
        def does(*args, **options):
            found = method(*args, **options)
            if inspect.isawaitable(found):

                async def wait():
                    return await found

                found = self.loop.run_until_complete(wait())
            return self._seen(found)

        return does

    def _seen(self, value):
        if type(value).__module__.startswith("shopsim_env.client") and hasattr(value, "leave"):
            return Blocking(value, self.loop)
        if isinstance(value, tuple):
            return tuple(self._seen(item) for item in value)
        return value

"""A language model behind an OpenAI-compatible endpoint, for simulated customers.

The only module of the runtime that imports openai, and only when a client is built: `pip install
'shopsim[llm]'`. What is asked and how answers are checked is the caller's business; the runner takes the
package from here too.
"""

from typing import Any

from shopsim_env.errors import SimulatorError, UsageError


def import_openai(who: str, extra: str) -> Any:
    """The openai package.

    Raises:
        UsageError: it is not installed (code `missing_extra`).
    """
    try:
        import openai
    except ImportError as error:
        raise UsageError(
            f"{who} needs the openai package; install 'shopsim[{extra}]'.", code="missing_extra"
        ) from error
    return openai


class OpenAIChat:
    """Chat completions of one model. Close it when done, or use it in a `with` block.

    Args:
        model: Name of the model at the endpoint.
        base_url: Root of the API, such as `http://127.0.0.1:8000/v1`; None is the client's default.
        api_key: Bearer token; None reads OPENAI_API_KEY. Local servers take any text.
        timeout_s: Seconds that one request may take.
        max_retries: How often the client repeats a request that failed on the way or with 408, 409, 429, 5xx.
        temperature: Sampling temperature.
        max_tokens: Longest answer in tokens.

    Raises:
        UsageError: openai is not installed (code `missing_extra`), or it refuses the settings.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        max_retries: int = 2,
        temperature: float = 0.7,
        max_tokens: int = 200,
    ) -> None:
        openai = import_openai("a language-model customer", "llm")
        self.name = model
        self._settings: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens}
        self._failures = (openai.OpenAIError, ValueError)
        try:
            self._client = openai.OpenAI(
                base_url=base_url, api_key=api_key, timeout=timeout_s, max_retries=max_retries
            )
        except openai.OpenAIError as error:
            raise UsageError(f"the openai client refuses its settings: {error}") from error

    def complete(self, messages: list[dict[str, str]]) -> str:
        """The text of the first choice.

        Raises:
            SimulatorError: no connection, time-out, error status, or a body that is no chat completion. The
                message names the kind of failure and the status, never the body or the key.
        """
        # Typed as any value: a body of another shape reaches us unchecked.
        create: Any = self._client.chat.completions.create
        try:
            answer = create(model=self.name, messages=messages, **self._settings)
        except self._failures as error:
            status = getattr(error, "status_code", None)
            found = type(error).__name__ + (f" (status {status})" if status else "")
            raise SimulatorError(
                f"the endpoint of {self.name!r} failed: expected a chat completion, found {found}"
            ) from error
        return self._text(answer)

    def _text(self, answer: Any) -> str:
        try:
            text = answer.choices[0].message.content
        except (AttributeError, IndexError, TypeError) as error:
            raise SimulatorError(
                f"the endpoint of {self.name!r} answered without a choice; expected a chat completion"
            ) from error
        if not isinstance(text, str):
            raise SimulatorError(
                f"the endpoint of {self.name!r} answered without text; expected a chat completion"
            )
        return text

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def __enter__(self) -> "OpenAIChat":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

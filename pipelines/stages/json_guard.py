"""A look at JSON text before the scanner sees it: what the scanner would swallow or choke on.

The scanner turns an unpaired surrogate escape into "?" without a word, and its time and memory grow with the
square of the nesting depth. Belongs here: finding both in a stream, with their place. Everything else about
the text is the scanner's to judge.
"""

import re

import numpy as np

# The archive's own records nest four levels deep; unknown keys may add some.
MAX_DEPTH = 200

_HEX = b"[0-9a-fA-F]"
_HIGH = rb"u[dD][89abAB]" + _HEX + _HEX
_LOW = rb"u[dD][c-fC-F]" + _HEX + _HEX
# From left to right: runs of harmless escapes, surrogate pairs, what the end of the piece cuts off, unpaired
# halves, anything else (for the scanner to refuse).
_ESCAPE = re.compile(
    rb"(?:\\(?:[^u]|u(?![dD][89a-fA-F])" + _HEX + rb"{4}))+"
    rb"|\\" + _HIGH + rb"\\" + _LOW + rb"|(?P<cut>\\(?:u"
    rb"(?:"
    + _HEX
    + rb"{0,3}|[dD][89abAB]"
    + _HEX
    + _HEX
    + rb"(?:\\(?:u(?:[dD](?:[c-fC-F]"
    + _HEX
    + rb"?)?)?)?)?)"
    rb")?\Z)|(?P<lone>\\u[dD][89a-fA-F]" + _HEX + rb"{2})|\\.",
    re.DOTALL,
)
_BACKSLASH, _QUOTE = b'\\"'
_LETTERS = bytes(byte for byte in range(256) if byte not in b'"[]{}')


class GuardFault(Exception):  # noqa: N818 (never leaves the stages: the archive reader turns it into its error)
    """What was found (a code of the archive reader), and how many bytes of the text precede it."""

    def __init__(self, code: str, offset: int) -> None:
        super().__init__(code)
        self.code = code
        self.offset = offset


class JsonGuard:
    """Looks at the pieces of one text in order.

    `feed` raises `GuardFault` with code `unpaired_surrogate` or `nested_too_deeply`.
    """

    def __init__(self) -> None:
        self._done = 0  # bytes judged
        self._rest = b""  # an escape that the end of the last piece cut off
        self._in_string = False
        self._depth = 0

    def feed(self, piece: bytes) -> None:
        """Judges the next piece of the text."""
        text = self._rest + piece
        kept, end = self._without_escapes(text) if b"\\" in text else (text, len(text))
        self._rest = text[end:]
        self._check_depth(kept, text[:end])
        self._done += end

    def _without_escapes(self, text: bytes) -> tuple[bytes, int]:
        """The text without its escapes, and the length of what is complete."""
        parts, start = [], 0
        for match in _ESCAPE.finditer(text):
            if match["lone"]:
                raise GuardFault("unpaired_surrogate", self._done + match.start())
            parts.append(text[start : match.start()])
            if match["cut"] is not None:
                return b"".join(parts), match.start()
            start = match.end()
        parts.append(text[start:])
        return b"".join(parts), len(text)

    def _check_depth(self, kept: bytes, text: bytes) -> None:
        pieces = kept.translate(None, _LETTERS).split(b'"')
        brackets = b"".join(pieces[int(self._in_string) :: 2])
        if brackets:
            codes = np.frombuffer(brackets, dtype=np.uint8)
            # "[" and "{" are odd, "]" and "}" too; bit 1 tells them apart: 5b, 7b open, 5d, 7d close.
            steps = np.where(codes & 2, 1, -1)
            depths = self._depth + np.cumsum(steps)
            if depths.max() > MAX_DEPTH:
                raise GuardFault("nested_too_deeply", self._done + self._too_deep_at(text))
            self._depth = int(depths[-1])
        self._in_string ^= len(pieces) % 2 == 0

    def _too_deep_at(self, text: bytes) -> int:
        """Position of the bracket that is one too many; byte by byte, since the text is refused anyway."""
        in_string, escaped, depth = self._in_string, False, self._depth
        for position, byte in enumerate(text):
            if escaped or byte == _BACKSLASH:
                escaped = not escaped
            elif byte == _QUOTE:
                in_string = not in_string
            elif not in_string and byte in b"[]{}":
                depth += 1 if byte & 2 else -1
            if depth > MAX_DEPTH:
                return position
        return len(text)

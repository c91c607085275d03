"""Text from agents, tools and models, made safe to print and to send between processes."""

import re
import unicodedata

_FORMAT = (
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001\U000e0020-\U000e007f"
)
_JOINER = r"(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
_UNSAFE = re.compile(rf"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029{_FORMAT}]|{_JOINER}")
"""Control characters, surrogates, line and paragraph separators (categories Cc, Cs, Zl and Zp), and format characters
(Cf), which nobody sees: of these joiners stay between letters of scripts, and between signs, that need them."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_SLUG = re.compile(r"[^A-Za-z0-9_.-]+")


_COMMAND = re.compile(
    r"(?<!\S):(?=:[\w-])"
    r"|:(?=:(?:error|warning|notice|debug|group|endgroup|echo|add-mask|stop-commands|set-output|save-state|set-env"
    r"|add-path|add-matcher|remove-matcher)(?: [^\n]*)?::)"
    r"|\#(?=\#\[)",
    re.IGNORECASE,
)
"""The first character of what a CI log takes for a command: `::name` at the start of a line, `##[name]` anywhere.

Source: GitHub's runner, src/Runner.Common/ActionCommand.cs (TryParseV2, TryParse). Lines are wrapped later on, so that
any word may come to begin one, and a long word may be cut before a command within it.
"""


def printable(text: str, *, newlines: bool = False) -> str:
    """Drop escape sequences, write out control, format and surrogate characters (`\\x..`, `\\u....`), and part
    the signs by which a CI log knows commands: `: :` and `# #[`.
    """
    if text.isprintable() and "::" not in text and "##[" not in text:  # most texts, and a run shows dozens
        return text
    safe = _UNSAFE.sub(_broken_escaped if newlines else _escaped, _ANSI.sub("", text))
    return _COMMAND.sub(r"\g<0> ", safe) if "::" in safe or "##[" in safe else safe


def shorten(text: str, width: int) -> str:
    """Cut `text` to `width` characters, the last being `…` when something was cut."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def percentage(rate: float) -> str:
    """Show a rate as `92 %`; only a rate of exactly 1 or 0 shows as such."""
    if 0.995 <= rate < 1:
        return ">99 %"
    return "<1 %" if 0 < rate < 0.005 else f"{rate * 100:.0f} %"


def figure(value: float, digits: int = 2) -> str:
    """Round a number between 0 and 1, or a mean; only exactly 1 or 0 shows as such."""
    text, least = f"{value:.{digits}f}", 10**-digits
    if value < 1 and float(text) == 1:
        return f"{1 - least:.{digits}f}"
    return f"{least:.{digits}f}" if value > 0 and float(text) == 0 else text


def flat(text: object) -> str:
    """Give the letters and digits of a text in lower case, so that spellings of one value are equal."""
    return "".join(char for char in str(text).casefold() if char.isalnum())


def stable(text: str) -> str:
    """Drop memory addresses, so that two runs that go alike say the same."""
    return _ADDRESS.sub("", text)


def raised_text(error: BaseException, width: int = 500) -> str:
    """Give the type of an exception and what it says, safe to print; of the latter `width` characters at most."""
    try:
        said = str(error)[: 4 * width]
    except Exception:  # noqa: BLE001 - the exception is the user's, and so is its __str__
        said = "<its text cannot be shown>"
    text = shorten(printable(stable(said)), width)
    name = printable(type(error).__name__)
    return f"{name}: {text}" if text else name


def ascii_slug(text: str) -> str:
    """Reduce `text` to `[A-Za-z0-9_.-]`: accents are dropped, every other run becomes one `-`."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _SLUG.sub("-", plain).strip("-.") or "scenario"


def _broken_escaped(found: re.Match[str]) -> str:
    return found[0] if found[0] in "\n\t" else _escaped(found)


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    if char in "\n\t":
        return " "
    code = ord(char)
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def without_accents(text: str) -> str:
    """Give a text without accents: what names of tools are written in."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))

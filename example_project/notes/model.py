"""A language model behind an OpenAI-compatible server: prompts go out, typed answers come back."""

import json
import math
import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from notes.costs import Call, CostLog

OPENAI = "https://api.openai.com/v1"
"""Where questions go when nobody says where."""

MOST_TOKENS = 1_000
"""Tokens of an answer at most: plans are the longest."""

_PROMPTS = Path(__file__).parent / "prompts"
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_Answer = TypeVar("_Answer", bound=BaseModel)


class NoAnswerError(Exception):
    """No answer came at all: to ask again in other words would not help."""


class Wrong(Exception):  # noqa: N818 - it names what an answer is
    """An answer came that does not have the form asked for; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Client:
    """Asks one model, and logs each call."""

    model: str
    log: CostLog
    base_url: str = ""
    api_key: str = ""
    seconds: float = 120
    """How long an answer may take; a small model on a CPU needs most of that."""

    def ask(self, role: str, **slots: str) -> str:
        """Give the model's text for a role's prompt; raise `NoAnswerError` where none comes."""
        prompt = filled(role, slots)
        base_url = self.base_url or os.environ.get("OPENAI_BASE_URL", "") or OPENAI
        url = f"{base_url.rstrip('/')}/chat/completions"
        since = self.log.clock()
        text, status, usage = "", "error", dict[str, Any]()
        try:
            answer = self._posted(url, prompt)
            text, usage = str(answer["choices"][0]["message"]["content"] or ""), answer.get("usage") or {}
            status = "ok"
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise NoAnswerError(f"the model {self.model!r} at {url} gave no answer: {_told(error)}") from error
        finally:
            counted = not {"prompt_tokens", "completion_tokens"} <= usage.keys()
            call = Call(
                model=self.model,
                endpoint=url,
                prompt_tokens=tokens(prompt) if counted else int(usage["prompt_tokens"]),
                completion_tokens=tokens(text) if counted else int(usage["completion_tokens"]),
                latency_ms=(self.log.clock() - since) * 1_000,
                status=status,
                notes=f"role={role} tokens=counted" if counted else f"role={role}",
            )
            self.log.add(call)
        return text

    def ask_for(self, form: type[_Answer], role: str, **slots: str) -> _Answer:
        """Give the model's answer as `form`; raise `Wrong` where it does not have that form."""
        text = self.ask(role, **slots)
        body = text[text.find("{") : text.rfind("}") + 1]
        try:
            return form.model_validate(json.loads(body))
        except ValidationError as error:
            found = (f"{'.'.join(map(str, one['loc'])) or 'all'}: {one['msg']}" for one in error.errors())
            raise Wrong("; ".join(found)) from error
        except ValueError as error:
            raise Wrong(f"the answer is no JSON object: {error}") from error

    def _posted(self, url: str, prompt: str) -> dict[str, Any]:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is no HTTP address")
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0,
            "max_tokens": MOST_TOKENS,
        }
        key = self.api_key or os.environ.get("OPENAI_API_KEY", "") or "none"
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - checked above
        with urllib.request.urlopen(request, timeout=self.seconds) as response:  # noqa: S310 - same
            answer = json.load(response)
        if not isinstance(answer, dict):
            raise ValueError(f"the server answered {type(answer).__name__}")
        return answer


def filled(role: str, slots: Mapping[str, str]) -> str:
    """Fill in a role's prompt; what others wrote stands between tags that it cannot close."""
    template = (_PROMPTS / f"{role}.md").read_text(encoding="utf-8")
    return _SLOT.sub(lambda slot: _fenced(slot[1], slots[slot[1]]), template).strip()


def tokens(text: str) -> int:
    """Count tokens without a tokenizer: one for every four characters begun."""
    return math.ceil(len(text) / 4)


def _fenced(name: str, text: str) -> str:
    if name == "tools":  # our own text
        return text
    return f"<{name}>\n{text.replace('</', '< /').strip() or '(nothing)'}\n</{name}>"


def _told(error: Exception) -> str:
    said = error.read(300).decode("utf-8", "replace") if isinstance(error, urllib.error.HTTPError) else ""
    return f"{type(error).__name__}: {error} {said}".strip()

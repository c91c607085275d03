"""A model behind an OpenAI-compatible server, over plain HTTP; each call is a row of the cost log."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from notes.models.costs import Call, CostLog
from notes.text import count_tokens

MOST_TOKENS = 1200
"""Tokens of an answer at most: plans are the longest."""

_FENCED = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


class ModelError(Exception):
    """A model gave no usable answer; the message says what came instead."""


class NoAnswerError(ModelError):
    """A model could not be reached, or its server gave no answer: asking again in other words would not help."""


@dataclass(frozen=True, kw_only=True)
class Client:
    """Asks models; `models` names one for each role, `default` for the rest."""

    base_url: str
    models: Mapping[str, str]
    log: CostLog
    api_key: str = ""
    seconds: float = 120
    """How long an answer may take; a small model on a CPU needs most of that."""

    def ask(self, role: str, prompt: str) -> str:
        """Give a model's text for a prompt; raise `NoAnswerError` without an answer, `ModelError` for an empty one."""
        model = self.models.get(role) or self.models.get("default", "")
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        since = self.log.clock()
        try:
            answer = self._posted(url, model, prompt)
            text = answer["choices"][0]["message"]["content"]
        except (OSError, ValueError, LookupError, TypeError) as error:
            said = _told(error)
            self._log(role, model, url, prompt, "", usage={}, since=since, status="error", notes=said)
            raise NoAnswerError(f"the model {model!r} for {role} at {url} gave no answer: {said}") from error
        self._log(role, model, url, prompt, text or "", usage=answer.get("usage") or {}, since=since)
        if not isinstance(text, str) or not text.strip():
            raise ModelError(f"the model {model!r} for {role} said nothing")
        return text

    def ask_json(self, role: str, prompt: str) -> Any:
        """Give the JSON of a model's answer, whatever stands around it; raise `ModelError` where there is none."""
        text = self.ask(role, prompt)
        fenced = _FENCED.search(text)
        body = fenced[1] if fenced else text[text.find("{") : text.rfind("}") + 1]
        try:
            return json.loads(body)
        except ValueError as error:
            raise ModelError(f"the answer for {role} is no JSON: {error}: {text[:200]!r}") from error

    def _posted(self, url: str, model: str, prompt: str) -> dict[str, Any]:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is no HTTP address")
        body = {
            "model": model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0,
            "max_tokens": MOST_TOKENS,
        }
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.api_key or 'none'}"}
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - checked above
        with urllib.request.urlopen(request, timeout=self.seconds) as response:  # noqa: S310 - same
            answer = json.load(response)
        if not isinstance(answer, dict):
            raise ValueError(f"the server answered {type(answer).__name__}")
        return answer

    def _log(
        self,
        role: str,
        model: str,
        url: str,
        prompt: str,
        text: str,
        *,
        usage: Mapping[str, Any],
        since: float,
        status: str = "ok",
        notes: str = "",
    ) -> None:
        """Log a call; where the server does not say its tokens they are counted, and the row says so."""
        counted = "prompt_tokens" not in usage
        call = Call(
            role=role,
            model=model,
            endpoint=url,
            prompt_tokens=int(usage.get("prompt_tokens") or count_tokens(prompt)),
            completion_tokens=int(usage.get("completion_tokens") or count_tokens(text)),
            latency_ms=(self.log.clock() - since) * 1000,
            status=status,
            notes=f"{'tokens=counted ' if counted else ''}{notes}",
        )
        self.log.add(call)


def _told(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"status {error.code}: {error.read(300).decode('utf-8', 'replace')}"
    if isinstance(error, urllib.error.URLError):
        return f"{error.reason}; is a model served there?"
    return f"{type(error).__name__}: {error}"

"""Scenarios that wait for a reviewer, as one static page: no script, and nothing that is fetched."""

from collections.abc import Sequence
from html import escape

from pytest_agentbench.core.text import printable
from pytest_agentbench.report.reviewing import View

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1c2024;
  background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 0; overflow-wrap: anywhere; }
nav { columns: 3 16rem; font-size: .85rem; margin-bottom: 2rem; } nav a { display: block; }
section { border: 1px solid #cfd6dd; border-radius: 6px; margin: 0 0 1.5rem; padding: 1rem; break-inside: avoid; }
.muted { color: #59636e; font-size: .85rem; overflow-wrap: anywhere; }
.parts { display: grid; grid-template-columns: repeat(auto-fit, minmax(24rem, 1fr)); gap: .8rem 1.6rem; }
h3 { font-size: .75rem; letter-spacing: .06em; margin: .8rem 0 .2rem; text-transform: uppercase; color: #59636e; }
ul { margin: 0; padding: 0; list-style: none; }
li { white-space: pre-wrap; overflow-wrap: anywhere; padding: .1rem 0 .1rem 1.2rem; text-indent: -1.2rem; }
code { overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { background: #15181b; color: #e2e6ea; } section { border-color: #3a4148; }
  .muted, h3 { color: #9aa4ae; } a { color: #8ab8ff; } }
"""


def review_page(views: Sequence[View], folder: str) -> str:
    """Give the page: a list of contents, then a card a scenario with its four parts side by side."""
    names = "".join(f'<a href="#{_shown(view.id)}">{_shown(view.id)}</a>' for view in views)
    cards = "\n".join(_card(view, folder) for view in views)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Review of {_shown(folder)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{len(views)} scenarios to review in {_shown(folder)}</h1>\n"
        f"<p>Decide with <code>agentbench review {_shown(folder)}</code>: one key accepts, rejects or edits.</p>\n"
        f"<nav>{names}</nav>\n{cards}\n</body>\n</html>\n"
    )


def _card(view: View, folder: str) -> str:
    facts = "".join(f'<p class="muted">{_shown(text)}</p>' for text in view.facts)
    parts = "".join(
        f"<div><h3>{_shown(part.title)}</h3><ul>{''.join(f'<li>{_shown(line)}</li>' for line in part.lines)}</ul></div>"
        for part in view.parts
    )
    title = f"<p>{_shown(view.title)}</p>" if view.title else ""
    return (
        f'<section id="{_shown(view.id)}"><h2>{_shown(view.id)}</h2>'
        f'<p class="muted">{_shown(view.state)}, {_shown(view.place)}</p>{title}{facts}<div class="parts">{parts}</div>'
        f'<p class="muted"><code>agentbench review {_shown(folder)} --only {_shown(view.id)}</code></p></section>'
    )


def _shown(text: str) -> str:
    return escape(printable(text), quote=True)

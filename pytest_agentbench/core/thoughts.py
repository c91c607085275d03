"""What a model thinks aloud in tags is not what it says."""

import re

_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_AT_THE_BEGINNING = re.compile(r"<(/?)(?:think(?:ing)?|reasoning)>", re.IGNORECASE)
"""Tags of thoughts, and one more that is common enough in texts to be one of thoughts where a text begins with it."""


def parted(text: str) -> tuple[str, str]:
    """Give what `text` says, and apart the thoughts between `<think>` and `</think>` (or `<thinking>`).

    `<reasoning>` is such a tag in a text that begins with it.

    Chat templates write the opening tag themselves at times: everything before a first closing tag is a thought. One
    that is never closed is a thought where the text begins with it, since the answer was cut off; elsewhere it is text.
    """
    if "<" not in text:
        return text, ""
    known = _AT_THE_BEGINNING if text.lstrip()[:11].lower() == "<reasoning>" else _TAG
    if not (tags := list(known.finditer(text))):
        return text, ""
    said: list[str] = []
    thoughts: list[str] = []
    at, depth, begun = 0, 0, 0
    for place, tag in enumerate(tags):
        if not tag[1]:
            if depth == 0:
                said.append(text[at : tag.start()])
                at, begun = tag.start(), tag.end()
            depth += 1
        elif depth or place == 0:
            depth = max(depth - 1, 0)
            if depth == 0:
                thoughts.append(text[begun : tag.start()])
                at = begun = tag.end()
    if depth and not "".join(said).strip() and not thoughts:
        thoughts.append(text[begun:])
    else:
        said.append(text[at:])
    return "".join(said).strip(), "\n".join(thought.strip() for thought in thoughts if thought.strip())

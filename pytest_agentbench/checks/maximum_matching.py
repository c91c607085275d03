"""Maximum bipartite matching, one-to-one."""

from collections import deque
from collections.abc import Sequence

Edges = Sequence[Sequence[int]]
"""For each left node, the right nodes that it may be paired with, the preferred ones first."""


def maximum_matching(stages: Sequence[Edges]) -> dict[int, int]:
    """Pair as many left nodes as possible, each with a right node of its own; give left → right.

    Each stage holds the edges of the one before and more. A node once paired stays paired while later stages
    find augmenting paths (Kuhn 1955), so as many right nodes as possible come from the earliest stage.
    """
    right_of: dict[int, int] = {}
    left_of: dict[int, int] = {}
    for edges in stages:
        for left in range(len(edges)):
            if left not in right_of:
                _augment(left, edges, right_of, left_of)
    return dict(sorted(right_of.items()))


def longest_in_order(edges: Edges, right: int) -> list[tuple[int, int]]:
    """Give the longest list of pairs in which both sides ascend (longest common subsequence); `right` nodes exist."""
    left = len(edges)
    allowed = [frozenset(row) for row in edges]
    length = [[0] * (right + 1) for _ in range(left + 1)]
    for i in range(left - 1, -1, -1):
        for j in range(right - 1, -1, -1):
            here = length[i + 1][j + 1] + 1 if j in allowed[i] else 0
            length[i][j] = max(here, length[i + 1][j], length[i][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < left and j < right:
        if j in allowed[i] and length[i][j] == length[i + 1][j + 1] + 1:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif length[i][j] == length[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _augment(start: int, edges: Edges, right_of: dict[int, int], left_of: dict[int, int]) -> None:
    """Search breadth first for a free right node that pairing can be shifted towards, and shift it."""
    reached_from: dict[int, int] = {}
    queue = deque([start])
    while queue:
        left = queue.popleft()
        for right in edges[left]:
            if right in reached_from:
                continue
            reached_from[right] = left
            if right in left_of:
                queue.append(left_of[right])
                continue
            step: int | None = right
            while step is not None:
                left = reached_from[step]
                left_of[step] = left
                right_of[left], step = step, right_of.get(left)
            return

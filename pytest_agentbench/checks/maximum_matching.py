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


def fit_in_order(edges: Edges) -> bool:
    """Whether all left nodes can be paired so that both sides ascend: each with the first right node that is left."""
    last = -1
    for row in edges:
        following = [right for right in row if right > last]
        if not following:
            return False
        last = min(following)
    return True


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

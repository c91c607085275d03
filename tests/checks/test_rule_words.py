"""Rules in words."""

from pytest_agentbench.checks.rule_words import rule_words
from tests.tables import each


@each(
    ("rule", "words"),
    [
        (None, ""),
        ({"never": {"calls": ["refund"], "where": {"amount": {"$gt": 100}}}}, "never refund with amount more than 100"),
        ({"confirm_before": {"calls": "writes"}}, "the user must agree before any call that writes"),
        (
            {"before": {"calls": ["cancel"], "first": ["get_order"], "same": ["order_id"]}},
            "before cancel, get_order succeeded about the same order_id",
        ),
        ({"at_most": {"calls": ["find", "look"], "times": 3}}, "at most 3 calls of find or look"),
        (
            {"only_if": {"calls": ["refund"], "any": [{"confirmed": True}, {"user_said": "manager"}]}},
            'refund only if the user agreed; or the user said "manager"',
        ),
        (
            {"when": {"calls": ["cancel"]}, "then": {"must_say": {"$result": "refund"}}},
            "whenever cancel succeeded, then the agent then says $result refund",
        ),
        ({"only": {"calls": ["a", "b", "c", "d", "e", "f"]}}, "only a, b, c, d or 2 other tools"),
        ({"all": [{"never": {"handoff": "legal"}}]}, "never a handoff to legal"),
        *(
            ({"never": {"calls": ["look"], "result": value}}, f"never look answering {words}")
            for value, words in (
                ({"$size": {"$lt": 2}}, "fewer than 2 entries"),
                ({"$size": 1}, "1 entry"),
                ({"$gte": 1, "$lt": 5}, "at least 1 and less than 5"),
                ({"$has": {"id": {"$argument": "id"}, "n": 3}}, "an entry with the same id and n 3"),
                ({"$each": {"$not": "late"}}, 'only entries not "late"'),
                ({"due": {"$lt": {"$result": "day", "plus": "30d"}}}, "due less than the result's day plus 30d"),
                ({"kind": {"$in": ["a", {"$regex": "b+"}]}, "all": {}}, 'kind one of "a", text like b+ and all {}'),
                ([{"$any": True}, 3], "[any value, 3]"),
            )
        ),
    ],
)
def test_a_rule_reads_as_a_sentence(rule, words):
    """What people see of a rule says what it asks for, and cuts nothing in two."""
    assert rule_words(rule) == words

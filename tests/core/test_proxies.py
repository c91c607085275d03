"""Which proxy of the environment a server is reached through."""

import pytest

from pytest_agentbench.core.proxies import LOOPBACK, Proxies, exempt_loopback, proxy_for
from tests.tables import each

NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
PROXY = "http://proxy:3128"
BOTH = {"HTTP_PROXY": PROXY, "HTTPS_PROXY": "http://secure:3128"}


@pytest.fixture(autouse=True)
def _none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


CASES: dict[str, tuple[dict[str, str], str, str | None]] = {
    "none": ({}, "https://api.example.com/v1", None),
    "http": (BOTH, "http://api.example.com/v1", PROXY),
    "https": (BOTH, "https://api.example.com/v1", "http://secure:3128"),
    "small letters": ({"https_proxy": PROXY}, "https://api.example.com", PROXY),
    "all": ({"ALL_PROXY": PROXY}, "https://api.example.com", PROXY),
    "no scheme": ({"HTTP_PROXY": "proxy:3128"}, "http://api.example.com", PROXY),
    "exempt": ({**BOTH, "NO_PROXY": "other.com, example.com"}, "https://api.example.com", None),
    "exempt with port": ({**BOTH, "NO_PROXY": "api.example.com:8443"}, "https://api.example.com:8443", None),
    "not exempt": ({**BOTH, "NO_PROXY": "ample.com"}, "http://api.example.com", PROXY),
    "all exempt": ({**BOTH, "NO_PROXY": "*"}, "https://api.example.com", None),
    "network exempt": ({**BOTH, "NO_PROXY": "10.0.0.0/8"}, "http://10.1.2.3:8000/v1", None),
    "other network": ({**BOTH, "NO_PROXY": "10.0.0.0/8"}, "http://11.1.2.3:8000/v1", PROXY),
    "loopback": (BOTH, "http://127.0.0.1:8000/v1", None),
    "loopback network": (BOTH, "http://127.8.0.1/v1", None),
    "loopback by name": (BOTH, "http://localhost:11434/v1", None),
    "loopback in six": (BOTH, "http://[::1]:8000/v1", None),
    "with credentials": (BOTH, "http://localhost:secret@api.example.com/v1", PROXY),
    "no address": (BOTH, "http://[", None),
}


@pytest.mark.parametrize("case", CASES)
def test_one_rule_says_which_proxy(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual variables decide, in either case; loopback is never a proxy's."""
    environ, url, expected = CASES[case]
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    assert proxy_for(url) == expected


def test_servers_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each server keeps its own proxy, whatever path of it is asked for."""
    monkeypatch.setenv("HTTP_PROXY", PROXY)
    proxies = Proxies()

    first = proxies.of("http://api.example.com/v1")
    monkeypatch.delenv("HTTP_PROXY")

    assert (first, proxies.of("http://api.example.com/v2"), proxies.of("http://b.example.com/v1")) == (
        PROXY,
        PROXY,
        None,
    )


EXEMPT = ",".join(LOOPBACK)
ADDED: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "no proxy": ({"HTTPS_PROXY": PROXY}, {}),
    "none exempt": ({"HTTP_PROXY": PROXY}, {"no_proxy": EXEMPT, "NO_PROXY": EXEMPT}),
    "some exempt": (
        {"HTTP_PROXY": PROXY, "NO_PROXY": "example.com, localhost"},
        {"NO_PROXY": "example.com,localhost,127.0.0.1,::1"},
    ),
    "all exempt": ({"http_proxy": PROXY, "no_proxy": "*"}, {"no_proxy": "*"}),
}


@each("case", ADDED)
def test_loopback_is_exempted_for_clients_that_do_not_know_it(case: str) -> None:
    """What was listed stays, and nothing is added where no proxy is in the way."""
    given, expected = ADDED[case]
    environ = dict(given)

    exempt_loopback(environ)

    assert {name: value for name, value in environ.items() if name.lower() == "no_proxy"} == expected

"""Which proxy of the environment a request goes through: one rule for every HTTP client, loopback always direct."""

import ipaddress
import os
from collections.abc import MutableMapping
from urllib.parse import urlsplit

_SPEAKING_HTTP = frozenset({"http", "https"})
_SCHEMES = _SPEAKING_HTTP | {"socks", "socks4", "socks4a", "socks5", "socks5h"}

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names of this machine that `NO_PROXY` is given, for clients which do not know them by themselves."""


def proxy_for(url: str) -> str | None:
    """Give the address of the proxy for a URL, None where it is reached directly.

    `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say so, in either case; where the environment names no
    proxy, macOS and Windows are asked for theirs. `NO_PROXY` holds names of hosts, which stand for what is below them
    too, addresses, and networks such as `10.0.0.0/8`. A loopback address never goes through a proxy. Raise
    `ValueError`, which shows no password, where what they name is no proxy.
    """
    host, scheme, netloc = _parts(url)
    if not host or is_loopback(host):
        return None
    from urllib.request import getproxies  # noqa: PLC0415 - few sessions ask for anything, and it takes long to load

    proxies = getproxies()
    found = proxies.get(scheme) or proxies.get("all")
    if not found or _is_exempt(host, netloc, proxies.get("no", "")):
        return None
    return _checked(found if "://" in found else f"http://{found}")


def http_proxy(proxy: str | None) -> str | None:
    """Give a proxy to a client that speaks HTTP to it; raise `ValueError`, which says what to do, for another one."""
    scheme = proxy.partition("://")[0].lower() if proxy else ""
    if proxy and scheme not in _SPEAKING_HTTP:
        raise ValueError(
            f"the environment names a {scheme} proxy, and models are asked through HTTP proxies only: name one in "
            "HTTPS_PROXY or HTTP_PROXY, or add the host to NO_PROXY"
        )
    return proxy


class Proxies:
    """Remembers which proxy each server is reached through: to look it up takes as long as half a request."""

    def __init__(self) -> None:
        self._by_origin: dict[str, str | None] = {}

    def of(self, url: str) -> str | None:
        """Give the proxy for a URL as `proxy_for` does, as the environment was when its server was first asked for."""
        origin = url[: url.find("/", url.find("//") + 2)] if url.count("/") > 2 else url
        if origin not in self._by_origin:
            self._by_origin[origin] = proxy_for(url)
        return self._by_origin[origin]


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its loopback interface."""
    if host.rstrip(".").lower() == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def exempt_loopback(environ: MutableMapping[str, str] = os.environ) -> None:
    """Add the loopback addresses to `NO_PROXY` where a proxy is set, for clients that read the environment themselves.

    An agent's own client would ask the proxy for the recording endpoint, which stands on this machine.
    """
    if not any(environ.get(name) for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")):
        return
    both = ("no_proxy", "NO_PROXY")
    for name in [one for one in both if one in environ] or both:  # where one is set, clients look at that one
        listed = [entry.strip() for entry in environ.get(name, "").split(",") if entry.strip()]
        if "*" not in listed:
            environ[name] = ",".join([*listed, *(host for host in LOOPBACK if host not in listed)])


def _checked(proxy: str) -> str:
    """Give the address of a proxy; raise `ValueError` where it is none."""
    try:
        parts = urlsplit(proxy)
        is_one = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one:
        raise ValueError("the environment's HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is no address of a proxy")
    return proxy


def _parts(url: str) -> tuple[str, str, str]:
    """Give host, scheme and host with port of a URL; empty where it is none."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.scheme, parts.netloc.rpartition("@")[2]
    except ValueError:
        return "", "", ""


def _is_exempt(host: str, netloc: str, exempt: str) -> bool:
    from urllib.request import proxy_bypass  # noqa: PLC0415 - as in `proxy_for`

    if proxy_bypass(netloc):  # names, what is below them, and the system's own list
        return True
    address = _address(host)
    return address is not None and any(_holds(entry.strip(), address) for entry in exempt.split(","))


def _holds(entry: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return "/" in entry and address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None

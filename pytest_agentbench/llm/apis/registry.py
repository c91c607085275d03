"""The APIs whose answers are recorded, by their path and by their name in a cassette."""

from pytest_agentbench.llm.apis.api import Api
from pytest_agentbench.llm.apis.chat_completions import ChatApi
from pytest_agentbench.llm.apis.messages import MessagesApi
from pytest_agentbench.llm.apis.responses import ResponsesApi

CHAT: Api = ChatApi()
"""What a recording was asked over that does not say so."""

APIS: tuple[Api, ...] = (CHAT, ResponsesApi(), MessagesApi())

API_NAMES = tuple(api.name for api in APIS)

GROWING = tuple(dict.fromkeys(api.items for api in APIS))
"""The lists in which requests repeat the conversation so far."""


def api_at(path: str) -> Api | None:
    """Give the API that a path behind `/v1/` asks."""
    return next((api for api in APIS if api.path == path), None)


def api_named(name: str) -> Api:
    """Give an API by its name; raise `ValueError` where there is none."""
    for api in APIS:
        if api.name == name:
            return api
    raise ValueError(f"`api` is {name!r}; it must be one of {', '.join(API_NAMES)}")

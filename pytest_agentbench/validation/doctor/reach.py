"""How each model role of a suite reaches its model: provider, server, and the variable that holds the key."""

from collections.abc import Iterator, Mapping

from pytest_agentbench.core.errors import KeyMissingError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.providers import PYDANTIC_AI
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.variants import vary_chat
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.prices import server_of
from pytest_agentbench.llm.wire import where
from pytest_agentbench.validation.doctor.diagnosis import Observation


def reaching(suite: Suite, variant: str, environ: Mapping[str, str]) -> Iterator[Observation]:
    """Say of each role where its model is and whether its key is there, never the key. Nothing is asked."""
    models = Models(environ=environ)
    for role, spec in _roles(suite, variant):
        at = f"{role}: {spec.model} at {_server(spec, environ)}"
        try:
            models.key_of(spec)
        except KeyMissingError as error:
            advice = "runs that ask it live are skipped as not run until then"
            yield Observation(question="keys", mark="note", found=f"{role}: {error}", advice=advice)
        else:
            yield Observation(question="keys", mark="ok", found=f"{at}, {_key(spec, environ)}")


def _roles(suite: Suite, variant: str) -> Iterator[tuple[str, ModelSpec]]:
    if suite.agent.openai is not None:
        yield "agent", vary_chat(suite.agent.openai, suite.variants.get(variant, {})).model
    if suite.user.model is not None:
        yield "user", suite.user.model
    if suite.judge is not None:
        yield "judge", suite.judge.model
    if suite.generate is not None and suite.generate.model is not None:
        yield "generate", suite.generate.model


def _server(spec: ModelSpec, environ: Mapping[str, str]) -> str:
    if spec.transport == PYDANTIC_AI:
        return "the server that pydantic-ai chooses"
    return where(server_of(spec, environ)) + (f" ({spec.provider})" if spec.provider else "")


def _key(spec: ModelSpec, environ: Mapping[str, str]) -> str:
    if spec.api_key:
        return "key in the suite"
    held = next((name for name in spec.key_variables if environ.get(name, "").strip()), "")
    if held:
        return f"key in {held}"
    return "its keys are pydantic-ai's affair" if spec.transport == PYDANTIC_AI else "no key is set, and none is needed"

"""Kinto over its own Swagger 2.0 document: names, a chain of three levels, typed errors, a reset.

Kinto is looked for as the MCP servers are (`pip install kinto`, best in an environment of its own).
"""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from pytest_agentbench.core.remote import AuthSpec, OpenApiSpec, ServiceSpec
from pytest_agentbench.environment.isolation import IsolationGate
from tests.environment.remote_support import remote_environment
from tests.environment.support import call

pytestmark = pytest.mark.real

INI = """
[app:main]
use = egg:kinto
kinto.userid_hmac_secret = for-tests
kinto.storage_backend = kinto.core.storage.memory
kinto.cache_backend = kinto.core.cache.memory
kinto.permission_backend = kinto.core.permission.memory
kinto.bucket_create_principals = system.Everyone
kinto.bucket_read_principals = system.Everyone
kinto.bucket_write_principals = system.Everyone
kinto.includes = kinto.plugins.flush
[server:main]
use = egg:waitress#main
host = 127.0.0.1
port = %(http_port)s
"""


@pytest.fixture
def kinto(tmp_path: Path) -> OpenApiSpec:
    """Kinto in memory, one process for all runs, flushed before each."""
    folders = os.environ.get("AGENTBENCH_REAL_SERVERS", "").split(os.pathsep)
    path = os.pathsep.join([*filter(None, folders), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = shutil.which("kinto", path=path)
    if command is None:
        pytest.skip("kinto is not installed")
    (tmp_path / "kinto.ini").write_text(INI, encoding="utf-8")
    start = (command, "start", "--ini", "kinto.ini", "--port", "{port}")
    return OpenApiSpec(
        document="http://127.0.0.1:{port}/v1/__api__",
        base_url="http://127.0.0.1:{port}/v1",
        auth=AuthSpec(kind="basic", user="ada", value="password"),
        reset="POST /__flush__",
        service=ServiceSpec(command=start, ready="/v1/", share="session"),
    )


async def test_ids_flow_through_three_levels(kinto: OpenApiSpec, tmp_path: Path) -> None:
    """A record's id is the server's own; what is not there is an error with a typed body; a flush empties all."""
    gate = IsolationGate(tmp_path / "locks")
    async with remote_environment(kinto, tmp_path, gate=gate) as env:
        await call(env, "create_bucket", data={"id": "shop"})
        await call(env, "create_collection", bucket_id="shop", data={"id": "orders"})
        where = {"bucket_id": "shop", "collection_id": "orders"}
        made = json.loads((await call(env, "create_record", **where, data={"title": "lamp"})).content)["data"]
        found = json.loads((await call(env, "get_record", **where, id=made["id"])).content)["data"]
        patched = await call(env, "patch_record", **where, id=made["id"], data={"title": "desk"})
        missing = await call(env, "get_record", **where, id="nowhere")
        specs = {spec.name: spec for spec in env.tools}

    async with remote_environment(kinto, tmp_path, gate=gate) as env:
        buckets = json.loads((await call(env, "get_buckets")).content)

    assert (found["title"], patched.error) == ("lamp", False)
    assert missing.content.startswith("HTTP 404: ")
    assert json.loads(missing.content.removeprefix("HTTP 404: "))["details"]["id"] == "nowhere"
    assert buckets == {"data": []}
    assert all(spec.name and len(json.dumps(spec.parameters)) < 10_000 for spec in specs.values())
    assert (specs["get_records"].kind, specs["patch_record"].kind) == ("read", "write")
    assert (specs["delete_record"].destructive, len(specs)) == (True, 37)

"""A server that speaks S3, on loopback, in a process of its own; and the environment that leads to it.

The fixture `bucket` gives a bucket of its own to each test. What it holds is in memory and gone with the server.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

ROOT = Path(__file__).parents[2]
_LONGEST_START = 60


@dataclass(frozen=True, slots=True)
class Server:
    """`variables` are those of the environment that lead to it."""

    variables: Mapping[str, str]
    client: Any

    def new_bucket(self) -> "Bucket":
        name = f"lake-{uuid.uuid4().hex[:8]}"
        self.client.create_bucket(Bucket=name)
        return Bucket(self, name)


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bucket of a server."""

    server: Server
    name: str

    @property
    def variables(self) -> Mapping[str, str]:
        return self.server.variables

    def put(self, key: str, text: str) -> None:
        self.server.client.put_object(Bucket=self.name, Key=key, Body=text.encode())

    def take(self, key: str) -> None:
        self.server.client.delete_object(Bucket=self.name, Key=key)

    def set_time(self, key: str, moment: float) -> None:
        """Let an object be as if it had been put then."""
        self._ask("set-times", times={key: moment})

    def hold(self, key: str) -> None:
        """Let the next writer of an object wait, with all that it sends, until `release`."""
        self._ask("hold", key=key)

    def wait_for_held(self) -> None:
        """Wait until that writer is there."""
        self._ask("held")

    def release(self) -> None:
        self._ask("release")

    def lose(self, key: str) -> None:
        """Let the next writer of an object have an error for an answer, though it is written."""
        self._ask("lose", key=key)

    def refuse(self, key: str) -> None:
        """Let the next writer of an object have the answer that nothing is put on conditions here."""
        self._ask("refuse", key=key)

    def _ask(self, what: str, **asked: Any) -> None:
        """See tests/s3/serving.py."""
        address = f"{self.variables['AWS_ENDPOINT_URL']}/{what}"
        text = json.dumps({"bucket": self.name, **asked}).encode()
        # No proxy stands before a server of this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(address, text, method="PUT"), timeout=300) as answer:
            assert answer.status == 200

    def publish(self) -> None:
        """Let anybody read what it holds now, without a signature."""
        self.server.client.put_bucket_acl(Bucket=self.name, ACL="public-read")
        for key in self.keys():
            self.server.client.put_object_acl(Bucket=self.name, Key=key, ACL="public-read")

    def keys(self, below: str = "") -> list[str]:
        pages = self.server.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=below)
        return sorted(one["Key"] for page in pages for one in page.get("Contents", ()))


def running() -> Iterator[Server]:
    """A server while the fixture is in use."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    command = [sys.executable, "-m", "tests.s3.serving", str(port)]
    # Lists come in pages, as those of large buckets do.
    environment = {**os.environ, "MOTO_S3_DEFAULT_MAX_KEYS": "100"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        _wait_for(port, process)
        yield _server(f"http://127.0.0.1:{port}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _server(endpoint: str) -> Server:
    variables = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "something",
    }
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=variables["AWS_REGION"],
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
        config=Config(s3={"addressing_style": "path"}, proxies={}),
    )
    return Server(variables, client)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _LONGEST_START
    while time.monotonic() < deadline:
        assert process.poll() is None, "the S3 server ended by itself"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError("the S3 server did not start")

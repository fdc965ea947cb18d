"""Roles: what each request needs, who is let in, and as whom; TLS."""

import hashlib
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests
from feldera import FelderaClient, Pipeline, PipelineBuilder
from feldera.enums import BootstrapPolicy, PipelineStatus
from feldera.rest.errors import FelderaAPIError

from reconciler.base.errors import ReconcileError
from reconciler.environment.target import open_target
from reconciler.registry.protocol import History
from reconciler.rest.access import Callers, Role, callers_of, needed
from reconciler.rest.application import new_application
from reconciler.rest.serving import WantedHttp
from reconciler.rest.shared import new_service
from reconciler.server.places import place_of
from reconciler.versions.history import list_applies
from tests.rest.conftest import Serving, new_repository

TABLE = "CREATE TABLE items (id BIGINT);\n"
VIEW = "CREATE VIEW v AS SELECT {} AS id FROM items;"
ROLES = {
    Role.VIEWER: {"POST /v0/validate_program", "POST /v0/pipelines/x/diff", "POST /v0/pipelines/x/egress/x"},
    Role.APPROVER: {"POST /v0/pipelines/x/approve"},
    Role.ADMIN: {
        "POST /v0/pipelines",
        "PUT /v0/pipelines/x",
        "PATCH /v0/pipelines/x",
        "DELETE /v0/pipelines/x",
        "POST /v0/pipelines/x/clear",
        "POST /v0/pipelines/x/update_runtime",
        "POST /v0/pipelines/x/testing",
        "POST /v0/api_keys",
        "POST /v0/tenants",
        "PATCH /v0/tenants/x",
        "DELETE /v0/tenants/x",
        "POST /v0/oidc_trust",
        "DELETE /v0/oidc_trust/x",
    },
}
"""What changes something and needs another role than operator."""


def test_each_request_needs_a_role(tmp_path: Path) -> None:
    target = open_target(new_repository(tmp_path), None)
    service = new_service(target, place_of(target.root), lambda: "ann")
    application = new_application(service, callers_of("ann", "", None))
    found: dict[str, Role] = {}
    for path, methods in application.openapi()["paths"].items():
        for method in methods:
            filled = re.sub(r"\{\w+\}", "x", path)
            found[f"{method.upper()} {filled}"] = needed(method.upper(), filled, {})
    assert len(found) > 50
    for words, role in found.items():
        expected = next((role for role, words_of in ROLES.items() if words in words_of), None)
        if words.startswith("GET "):
            assert role is Role.VIEWER, words
        else:
            assert role is (expected or Role.OPERATOR), words
    assert set().union(*ROLES.values()) <= found.keys()


@pytest.mark.parametrize(
    ("request_", "query", "role"),
    [
        ("GET /v0/pipelines/x/query", {"sql": "SELECT 1"}, Role.VIEWER),
        ("GET /v0/pipelines/x/query", {"sql": " delete from t"}, Role.OPERATOR),
        ("GET /v0/pipelines/x/query", {"sql": "-- why\nINSERT INTO t VALUES (1)"}, Role.OPERATOR),
        ("GET /v0/pipelines/x/query", {"sql": "/* why */ INSERT INTO t VALUES (1)"}, Role.OPERATOR),
        ("POST /v0/pipelines/x/start", {"bootstrap_policy": "await_approval"}, Role.OPERATOR),
        ("POST /v0/pipelines/x/start", {"bootstrap_policy": "allow"}, Role.APPROVER),
        ("POST /console/pipelines/x/approve", {}, Role.APPROVER),
        ("POST /console/pipelines/x/reject", {}, Role.APPROVER),
        ("POST /console/pipelines/x/rollback", {}, Role.APPROVER),
        ("POST /console/pipelines/x/pause", {}, Role.OPERATOR),
        ("POST /something/new", {}, Role.ADMIN),
        ("PUT /something/new", {}, Role.ADMIN),
    ],
)
def test_what_a_request_does_decides(request_: str, query: dict[str, str], role: Role) -> None:
    method, _, path = request_.partition(" ")
    assert needed(method, path, query) is role


def tokens_file(folder: Path) -> Path:
    file = folder / "tokens.yaml"
    digests = {role.name: hashlib.sha256(role.name.encode()).hexdigest() for role in Role}
    entries = [f"- {{name: {name.lower()}, role: {name.lower()}, sha256: {digest}}}" for name, digest in digests.items()]
    file.write_text("\n".join(entries))
    return file


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A service that lets in who has a token of the file; its token is the name of his role."""
    root = new_repository(tmp_path_factory.mktemp("guarded"))
    serving = Serving(root, tokens=str(tokens_file(tmp_path_factory.mktemp("tokens")))).start()
    yield serving
    serving.stop()


def test_each_may_do_what_his_role_says(guarded: Serving) -> None:
    service = guarded

    def as_(role: Role) -> FelderaClient:
        return FelderaClient(service.address, api_key=role.name)

    for refused in (Role.VIEWER, Role.OPERATOR, Role.APPROVER):
        with pytest.raises(FelderaAPIError, match="this needs admin"):
            PipelineBuilder(as_(refused), "shop", TABLE).create()
    made = PipelineBuilder(as_(Role.ADMIN), "shop", TABLE).create()
    with pytest.raises(FelderaAPIError, match="viewer is viewer, and this needs operator"):
        Pipeline.get("shop", as_(Role.VIEWER)).start()
    operated = Pipeline.get("shop", as_(Role.OPERATOR))
    operated.start()
    operated.execute("INSERT INTO items VALUES (1)")
    with pytest.raises(FelderaAPIError, match="needs operator"):
        Pipeline.get("shop", as_(Role.VIEWER)).execute("INSERT INTO items VALUES (1)")
    assert list(Pipeline.get("shop", as_(Role.VIEWER)).query("SELECT * FROM items")) == [{"id": 1}]
    operated.stop(force=True)
    made.modify(sql=TABLE + "CREATE VIEW v AS SELECT id FROM items;")
    made.stop(force=True)
    operated.start()
    assert operated.status() == PipelineStatus.AWAITINGAPPROVAL
    with pytest.raises(FelderaAPIError, match="needs approver"):
        operated.approve()
    console = f"{service.address}/console/pipelines/shop"

    def seen(page: str, role: Role) -> str:
        return requests.get(f"{console}{page}", headers={"authorization": f"Bearer {role.name}"}, timeout=60).text

    assert 'method="post"' not in seen("", Role.VIEWER) + seen("/plan", Role.VIEWER) + seen("/plan", Role.OPERATOR)
    assert "takes the role approver" in seen("/plan", Role.OPERATOR)
    assert 'action="/console/pipelines/shop/stop"' in seen("", Role.OPERATOR)
    shown = seen("/plan", Role.APPROVER)
    assert "Approve this plan" in shown
    assert "You are approver." in shown
    assert 'name="by"' not in shown
    Pipeline.get("shop", as_(Role.APPROVER)).approve()
    operated.wait_for_status(PipelineStatus.RUNNING, timeout=60)
    (given,) = open_target(service.root, None).registry.history(History.APPROVALS, "shop")
    assert given["by"] == "approver"
    operated.stop(force=True)


def test_a_browser_is_asked_for_its_token_once(guarded: Serving) -> None:
    service = guarded
    with requests.Session() as browser:
        browser.headers["accept"] = "text/html"
        asked = browser.get(f"{service.address}/console/pipelines/x?at=1", timeout=60)
        assert "Who are you?" in asked.text
        assert 'value="/console/pipelines/x?at=1"' in asked.text
        login = f"{service.address}/login"
        assert browser.post(login, data={"token": "wrong", "to": "/"}, timeout=60).status_code == 401
        for elsewhere in ("https://evil.example", "//evil.example", "/\\evil.example"):
            led = browser.post(login, data={"token": "VIEWER", "to": elsewhere}, timeout=60, allow_redirects=False)
            assert led.headers["location"] == "/"
        cookie = led.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "<h1>Pipelines</h1>" in browser.get(service.address, timeout=60).text
        refused = browser.post(f"{service.address}/console/pipelines/x/start", timeout=60)
        assert (refused.status_code, refused.headers["content-type"]) == (403, "text/html; charset=utf-8")
        assert "viewer is viewer, and this needs operator" in refused.text
    assert requests.get(f"{service.address}/v0/pipelines", timeout=60).status_code == 401
    assert requests.get(f"{service.address}/openapi.json", timeout=60).status_code == 401


BEGUN = b"POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{"


def begun(guarded: Serving, path: bytes, token: bytes) -> socket.socket:
    """A connection on which a request was begun whose body does not come."""
    host, _, port = guarded.address.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)))
    connection.sendall(BEGUN % (path, token))
    return connection


def test_of_who_goes_away_in_the_middle_nothing_is_told(guarded: Serving) -> None:
    token = Role.ADMIN.name.encode()
    for path in (b"/login", b"/v0/pipelines/none/ingress/t?format=json", b"/console/none"):
        begun(guarded, path, token).close()
    # The service answers others all the while, and has heard of these by then.
    for _ in range(3):
        requests.get(f"{guarded.address}/v0/config", timeout=30)
    assert "Traceback" not in (guarded.root / "errors.log").read_text()


@pytest.mark.slow
def test_nobody_without_a_token_keeps_a_connection(guarded: Serving) -> None:
    with begun(guarded, b"/login", b"none") as connection:
        connection.settimeout(60)
        assert connection.recv(1000).startswith(b"HTTP/1.1 408 ")
        while connection.recv(1000):
            pass


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no list of callers"),
        ("{", "can't be read"),
        ("- {name: ann, role: boss, sha256: " + "0" * 64 + "}", "'boss' is none of"),
        ("- {name: ann, role: viewer, sha256: short}", "no sha256"),
        ("- {role: viewer, sha256: " + "0" * 64 + "}", "no name"),
        ("- ann", "no name"),
    ],
)
def test_a_file_of_tokens_says_what_is_wrong_with_it(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "tokens.yaml"
    file.write_text(text)
    with pytest.raises(ReconcileError, match="the file of tokens") as raised:
        callers_of("ann", "", file)
    assert raised.value.code == "U864"
    assert said in raised.value.message


def test_others_reach_nothing_that_is_not_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECONCILE_API_TOKEN", raising=False)
    file = tokens_file(tmp_path)
    for wanted in (
        WantedHttp(host="0.0.0.0"),
        WantedHttp(host="0.0.0.0", tokens=file),
        WantedHttp(host="0.0.0.0", certificate=file, key=file),
        WantedHttp(certificate=file),
    ):
        with pytest.raises(ReconcileError) as raised:
            wanted.require_safe()
        assert raised.value.code == "U864"
    WantedHttp(host="0.0.0.0", tokens=file, certificate=file, key=file).require_safe()


def test_tokens_are_compared_whole() -> None:
    callers = callers_of("ann", "secret", None)
    assert isinstance(callers, Callers)
    for token in (None, "", "secre", "secret ", "SECRET"):
        assert callers.known(token) is None
    found = callers.known("secret")
    assert found is not None
    assert (found.name, found.role) == ("ann", Role.ADMIN)


def test_tls(own_service: Callable[..., Serving], tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"]
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*words, *subject], check=True, capture_output=True)
    service = own_service(environment={"TLS_OF_TEST": f"{certificate}:{key}"})
    assert service.address.startswith("https://")
    answer = requests.get(f"{service.address}/v0/config", verify=str(certificate), timeout=60)
    assert answer.json()["edition"] == "Open source"


def test_records_name_who_asked(guarded: Serving) -> None:
    service = guarded
    made = PipelineBuilder(FelderaClient(service.address, api_key="ADMIN"), "recorded", TABLE + VIEW.format("id")).create()
    for sql in ("id", "id + 1"):
        made.modify(sql=TABLE + VIEW.format(sql))
        made.start(bootstrap_policy=BootstrapPolicy.ALLOW)
        made.wait_for_status(PipelineStatus.RUNNING, timeout=60)
        made.stop(force=True)
    headers, page = {"authorization": "Bearer APPROVER"}, f"{service.address}/console/pipelines/recorded/rollback"
    shown = requests.get(f"{page}?version=v@v0", headers=headers, timeout=60).text
    (digest,) = set(re.findall(r'name="digest" value="(sha256:[0-9a-f]+)"', shown))
    answer = requests.post(page, {"version": "v@v0", "digest": digest, "by": "somebody else"}, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    target = open_target(service.root, None)
    # Who rolled back is an author of what that means for others.
    assert [one.by for one in list_applies(target, ["recorded"])] == ["admin", "admin", "approver"]
    assert [row["by"] for row in target.registry.history(History.APPROVALS, "recorded")] == ["admin", "approver"]

"""Rows over HTTP for a pipeline of git: the input of docs/connectors/http_input.md takes them, and no other one does."""

from collections.abc import Callable
from pathlib import Path

import pytest
from feldera import Pipeline
from feldera.rest.errors import FelderaAPIError

from tests.docs.pages import blocks
from tests.rest.conftest import ROOT, Serving

PAGE = (ROOT / "docs" / "connectors" / "http_input.md").read_text(encoding="utf-8")
FILES = {block.file: block.text for block in blocks(PAGE) if block.file is not None}


def started(own_service: Callable[..., Serving], change: Callable[[str], str] = lambda text: text) -> Pipeline:
    """The pipeline of the page, with another pipeline.yaml if `change` makes one, in a service that begins with it."""

    def write(root: Path) -> None:
        for name, text in FILES.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            said = text.replace("/srv/shop", str(root))
            file.write_text(change(said) if name.endswith("pipeline.yaml") else said, encoding="utf-8")

    service = own_service(before=write)
    pipeline = Pipeline.get("shop", service.client)
    pipeline.start()
    return pipeline


def test_the_example_of_the_page_takes_rows(own_service: Callable[..., Serving]) -> None:
    pipeline = started(own_service)
    pipeline.input_json("orders", [{"id": 1, "customer": "ada"}])
    pipeline.start_transaction()
    pipeline.input_json("orders", {"id": 2}, wait=False)
    pipeline.commit_transaction()
    assert [row["id"] for row in pipeline.query("SELECT * FROM orders")] == [1, 2]
    pipeline.stop(force=True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("api_ingress", "http"), "no connector api_ingress is applied for it"),
        (lambda text: text.replace("/shop/orders", "/shop/elsewhere"), "its connector api_ingress reads .*/shop/elsewhere"),
        (
            lambda text: text.replace(
                'transport: {name: http_input, config: {path: "${var:requests}/shop/orders"}}',
                "transport: {name: file_input, config: {path: data}}\n      format: {name: json}",
            ),
            "its connector api_ingress is no http_input",
        ),
    ],
    ids=["another name", "another folder", "another transport"],
)
def test_a_table_whose_rows_nobody_would_read_takes_none(
    own_service: Callable[..., Serving], change: Callable[[str], str], said: str
) -> None:
    pipeline = started(own_service, change)
    needed = r"name: api_ingress, transport: {name: http_input, config: {path: .*/\.reconcile/requests/dev/shop/orders}}}"
    with pytest.raises(FelderaAPIError, match=f"{said}[\\s\\S]*{needed}"):
        pipeline.input_json("orders", [{"id": 1, "customer": "ada"}])
    pipeline.stop(force=True)

"""What a pipeline may be through the real client: names, configurations and programs, and when they change."""

from typing import Any

import pytest
from feldera import Pipeline
from feldera.enums import BootstrapPolicy, ProgramStatus
from feldera.rest.errors import FelderaAPIError

from tests.rest.conftest import Serving
from tests.rest.named import ITEMS, NAMED, RENAMED, refused


def test_what_does_not_compile_says_where(service: Serving) -> None:
    with pytest.raises(RuntimeError, match=r"S221[\s\S]*nme[\s\S]*SELECT nme FROM items"):
        service.pipeline("broken", ITEMS + "CREATE VIEW v AS SELECT nme FROM items;")
    broken = Pipeline.get("broken", service.client)
    assert broken.program_status() == ProgramStatus.SqlError
    assert broken.program_error()["sql_compilation"]["messages"][0]["start_line_number"] == 2
    assert broken.errors()
    with pytest.raises(FelderaAPIError, match="does not compile"):
        broken.start()
    broken.modify(sql=NAMED)
    broken.start()
    broken.stop(force=True)
    client = service.client
    info = client.validate_program(NAMED)["Success"]["program_info"]
    assert [one["name"] for one in info["schema"]["inputs"]] == ["items"]
    assert client.validate_program("CREATE VIEW v AS SELECT 1 FROM nowhere")["SqlError"]["info"]["messages"]


def test_what_can_not_be_a_configuration_is_refused(service: Serving) -> None:
    def put(**config: object) -> dict[str, Any]:
        found = service.client.http.put("/pipelines/configurations", {"program_code": ITEMS, **config})
        assert isinstance(found, dict)
        return found

    found = put(runtime_config={"workers": 3, "resources": {"storage_mb_max": 5}, "env": {"A": "b"}})
    assert (found["runtime_config"]["workers"], found["runtime_config"]["hosts"]) == (3, 1)
    assert found["runtime_config"]["resources"]["storage_mb_max"] == 5
    assert (found["program_config"]["cache"], put()["runtime_config"]["workers"]) == (True, 8)
    for runtime in ({"workers": "many"}, {"resources": {"storage_mb_max": "x"}}, {"env": {"RUST_LOG": "x"}}):
        refused(lambda runtime=runtime: put(runtime_config=runtime), "InvalidRuntimeConfig")  # type: ignore[misc]
    for program in ({"profile": "fast"}, {"profile": 1}, {"cache": 1}):
        refused(lambda program=program: put(program_config=program), "InvalidProgramConfig")  # type: ignore[misc]


@pytest.mark.parametrize("name", ["Upper", "a/b", "", "a b", "a-", "x" * 64])
def test_what_can_not_be_a_name_is_refused(service: Serving, name: str) -> None:
    with pytest.raises((FelderaAPIError, RuntimeError), match=r"is not a lower-case letter|404"):
        service.client.http.post("/pipelines", {"name": name, "program_code": ITEMS})


def test_functions_in_rust_are_kept_and_do_not_compile(service: Serving) -> None:
    with pytest.raises(RuntimeError, match="functions in Rust don't run on Spark"):
        service.pipeline("rusty", NAMED, udf_rust="fn f() {}", udf_toml="[dependencies]")
    pipeline = Pipeline.get("rusty", service.client)
    assert (pipeline.udf_rust(), pipeline.udf_toml()) == ("fn f() {}", "[dependencies]")
    assert pipeline.program_status() == ProgramStatus.RustError
    refused(pipeline.start, "CannotStartWithCompilationError")
    pipeline.modify(udf_rust="", udf_toml="")
    assert pipeline.program_status() == ProgramStatus.Success
    pipeline.delete()


def test_what_runs_is_not_changed(service: Serving) -> None:
    pipeline = service.pipeline("busy", NAMED)
    pipeline.start()
    for change in (
        lambda: pipeline.modify(sql=ITEMS),
        lambda: pipeline.set_runtime_config(pipeline.runtime_config()),
        pipeline.update_runtime,
        pipeline.clear_storage,
        lambda: pipeline.delete(clear_storage=True),
    ):
        with pytest.raises(FelderaAPIError, match="requires that pipeline busy is stopped"):
            change()
    pipeline.stop(force=True)


def test_words_about_a_pipeline_change_at_any_time_and_no_version(service: Serving) -> None:
    pipeline = service.pipeline("words", NAMED, description="old")

    def versions() -> list[int]:
        found = service.client.http.get("/pipelines/words?selector=status")
        return [found[name] for name in ("version", "program_version", "refresh_version")]

    assert versions() == [1, 1, 3]
    for begin in (lambda: None, pipeline.start, pipeline.pause, lambda: pipeline.stop(force=True)):
        begin()
        service.client.http.patch("/pipelines/words", {"description": "new", "tags": ["a", "b/c"]})
        assert (pipeline.description(), pipeline.tags()) == ("new", ["a", "b/c"])
        assert versions() == [1, 1, 3]
    # Words are no change that awaits approval.
    pipeline.start(bootstrap_policy=BootstrapPolicy.REJECT)
    pipeline.stop(force=True)
    changed = service.client.http.patch("/pipelines/words", {"program_code": RENAMED})
    assert [changed[name] for name in ("version", "program_version", "refresh_version")] == [2, 2, 4]
    assert versions() == [2, 2, 6]
    for words, code in (
        ({"description": "x" * 301}, "TooLongDescription"),
        ({"tags": ["a,b"]}, "InvalidTag"),
        ({"tags": [""]}, "InvalidTag"),
        ({"tags": ["x" * 51]}, "InvalidTag"),
        ({"tags": ["x"] * 51}, "TooManyTags"),
    ):
        refused(lambda words=words: service.client.http.patch("/pipelines/words", words), code)  # type: ignore[misc]
    refused(lambda: service.client.http.post("/pipelines", {"name": "no-program"}), "InvalidRequest")

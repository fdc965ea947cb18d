"""A program of nothing is one: it is started, stopped, changed and cleared as any."""

from feldera.enums import BootstrapPolicy, PipelineStatus, StorageStatus

from tests.rest.conftest import Serving


def test_a_program_of_nothing_runs(service: Serving) -> None:
    pipeline = service.pipeline("nothing", "")
    pipeline.start()
    assert (pipeline.status(), pipeline.storage_status()) == (PipelineStatus.RUNNING, StorageStatus.INUSE)
    assert pipeline.stats().global_metrics.total_input_records == 0
    pipeline.pause()
    pipeline.resume()
    pipeline.stop(force=False)
    pipeline.modify(sql="CREATE TABLE items (id BIGINT);")
    pipeline.start(bootstrap_policy=BootstrapPolicy.ALLOW)
    pipeline.input_json("items", {"id": 1})
    assert list(pipeline.query("SELECT * FROM items")) == [{"id": 1}]
    pipeline.stop(force=True)
    pipeline.clear_storage()
    pipeline.modify(sql="")
    pipeline.start()
    pipeline.stop(force=True)
    pipeline.clear_storage()
    assert pipeline.storage_status() == StorageStatus.CLEARED
    pipeline.delete()

"""Two drivers that write the files of one emission on S3: one was taken over, and goes on. Each row is there once."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from reconciler.engine.spark.setup import install
from tests.s3.conversation import Conversation
from tests.s3.server import Bucket

# Each line of stdin is the serial of an emission, which is written while others are; each answer what came of one.
DRIVER = """
import json, sys, threading
from dataclasses import replace
from pathlib import Path
from reconciler.engine.protocol import TableTarget, ViewBuild
from reconciler.engine.sources import StoredSource
from reconciler.engine.spark.engine import SparkEngine
from reconciler.engine.spark.session import start
from tests.few_rows import FEW_ROWS
from tests.engine.emit_contract import emission
spark = start(FEW_ROWS, needs_s3=True)
engine = SparkEngine(lambda: spark)
engine.build_view(ViewBuild("v", "SELECT id FROM range(0, 40, 1, 4)", (), (), str(Path("v").absolute()), {}))
format_ = {"name": "json", "config": {"update_format": "raw"}}
sink = {"transport": {"name": "file_output", "config": {"path": "s3://BUCKET/out"}}, "format": format_}
def emit(serial):
    made = emission(TableTarget("v", str(Path("v").absolute()), ()), Path("none"), None, 0, serial)
    try:
        told = engine.emit(replace(made, settings=sink))
        print(json.dumps([told.inserted, told.reused]), flush=True)
    except Exception as error:
        print(" ".join(str(error).split()), flush=True)
for line in sys.stdin:
    threading.Thread(target=emit, args=(int(line),)).start()
"""
LETTERS = sha256(b"reconcile/emit/shop/v.lake/1").hexdigest()[:8]


# In every run tests/engine/test_emit_settling.py shows it on Spark, over a store that is a folder.
@pytest.mark.slow
@pytest.mark.spark
def test_who_comes_late_leaves_what_counts_and_takes_its_own_away(tmp_path: Path, bucket: Bucket) -> None:
    install(lambda line: None, s3=True)
    first = f"out/{1:020d}-{LETTERS}"
    taken = f"out/.{1:020d}-{LETTERS}-taken"
    driver = Conversation(DRIVER.replace("BUCKET", bucket.name), tmp_path, bucket)
    try:
        bucket.hold(taken)
        driver.tell("1")
        bucket.wait_for_held()
        assert driver.ask("1") == "[40, false]"
        (marker,) = [key for key in bucket.keys(first) if key.endswith("/_SUCCESS")]
        bucket.release()
        assert driver.answer() == "[40, true]", "its file was refused, since one stands there"
        folders = {key.split("/")[1] for key in bucket.keys(first)}
        assert folders == {marker.split("/")[1]}
        lines = [line for key in bucket.keys(f"{first}-") if "/part-" in key for line in _text(bucket, key).splitlines()]
        assert sorted(json.loads(line)["id"] for line in lines) == list(range(40))

        # Killed when it was settled what counts, and before it was said so to readers.
        bucket.take(marker)
        assert driver.ask("1") == "[40, true]"
        assert json.loads(_text(bucket, marker)) == {"deleted": 0, "dropped": 0, "emission": "1 by us", "inserted": 40}

        # Killed before: what it wrote goes with the next emission.
        bucket.put(f"{first}-deadbeef/part-0.json", "{}")
        assert driver.ask("2") == "[40, false]"
        assert {key.split("/")[1] for key in bucket.keys(first)} == folders

        # Told that nothing is put on conditions there: what was written can't come to count.
        third = f"out/{3:020d}-{LETTERS}"
        bucket.refuse(third.replace("out/", "out/.") + "-taken")
        assert "501" in driver.ask("3")
        assert bucket.keys(third) == []
        assert driver.ask("3") == "[40, false]"
    finally:
        driver.end()


def _text(bucket: Bucket, key: str) -> str:
    found = bucket.server.client.get_object(Bucket=bucket.name, Key=key)
    return str(found["Body"].read().decode())

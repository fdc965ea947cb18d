"""What Spark needs on a machine: Java, jars, settings, set-up. Nothing here starts Spark, but for one test that says so."""

import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from reconciler.base.errors import SetUpMissing
from reconciler.engine.spark import setup
from reconciler.engine.spark.installation import (
    ANSWER_FILES,
    GATEWAYS,
    LOCAL_LOG_STORE,
    S3_LOG_STORE,
    SMALL_QUERY,
    SMALL_ROWS,
    Installation,
    installation,
    pinned_jars,
    pinned_s3_jars,
)
from reconciler.engine.spark.java import Java, find_java
from reconciler.engine.spark.plain_settings import is_plain_start
from reconciler.engine.spark.s3 import hadoop_settings
from reconciler.engine.spark.session import LAUNCHER_OPTIONS, _prepare_environment
from reconciler.engine.spark.starting_settings import (
    LOCAL_LOG_STORE_SETTING,
    LOG_STORES,
    S3_LOG_STORE_SETTING,
    session_settings,
    submitted_settings,
)
from tests.cells import mostly_slow

JAVA = Java(Path("/usr/lib/jvm/java"), "17.0.15")


def fake_java(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text("#!/bin/sh\n")
    (folder / "bin" / "java").chmod(0o755)
    (folder / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\n')
    return folder


class TestJava:
    @pytest.mark.parametrize(("version", "release"), [("17.0.15", 17), ("21", 21), ("21.0.1", 21)])
    def test_java_home_comes_first(self, version: str, release: int, tmp_path: Path) -> None:
        home, other = fake_java(tmp_path / "a", version), fake_java(tmp_path / "b", "17.0.1")

        java = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})

        assert (java.home, java.release) == (home.resolve(), release)

    def test_then_path(self, tmp_path: Path) -> None:
        home = fake_java(tmp_path / "real", "17.0.1")
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")

        assert find_java({"PATH": str(tmp_path / "bin")}).home == home.resolve()

    def test_none_names_the_package(self, tmp_path: Path) -> None:
        with pytest.raises(SetUpMissing) as raised:
            find_java({"PATH": str(tmp_path)})

        assert raised.value.code == "U801"
        assert "openjdk-17-jre-headless" in str(raised.value.hint)

    @pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "25"])
    def test_another_release_is_refused(self, version: str, tmp_path: Path) -> None:
        with pytest.raises(SetUpMissing, match="17 or 21") as raised:
            find_java({"JAVA_HOME": str(fake_java(tmp_path / "a", version))})

        assert raised.value.code == "U802"

    def test_a_java_home_without_java_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(SetUpMissing, match=str(tmp_path)):
            find_java({"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin"})


class TestInstallation:
    def test_every_jar_is_pinned(self) -> None:
        jars = (*pinned_jars(), *pinned_s3_jars())

        assert len({jar.file_name for jar in jars}) == len(jars) > 0
        assert all(len(jar.sha256) == 64 and jar.coordinates.count(":") == 2 for jar in jars)

    def test_missing_jars_point_to_setup(self, tmp_path: Path) -> None:
        with pytest.raises(SetUpMissing, match=f"{len(pinned_jars()) + 5} jar") as raised:
            Installation(tmp_path).require_jars()

        assert (raised.value.code, raised.value.hint) == ("U803", "run: reconcile setup")

    def test_missing_jars_for_s3_point_to_their_own_set_up(self, tmp_path: Path) -> None:
        with pytest.raises(SetUpMissing) as raised:
            Installation(tmp_path).require_s3()

        assert (raised.value.code, raised.value.hint) == ("U807", "run: reconcile setup --s3")

    def test_an_archive_belongs_to_one_java(self, tmp_path: Path) -> None:
        place = Installation(tmp_path)

        assert place.archive(JAVA) == place.archive(JAVA)
        assert place.archive(JAVA) != place.archive(Java(JAVA.home, "17.0.16"))
        assert place.archive(JAVA) != Installation(tmp_path / "else").archive(JAVA)

    def test_the_folder_can_be_chosen(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RECONCILE_HOME", str(tmp_path))

        assert installation().folder.parent == tmp_path


class TestSettings:
    def test_a_local_session_is_small_quiet_and_closed_to_others(self, tmp_path: Path) -> None:
        place = Installation(tmp_path)
        chosen = session_settings({}, place, JAVA)

        assert chosen["spark.master"] == "local[*]"
        assert chosen["spark.sql.session.timeZone"] == "UTC"
        assert chosen["spark.driver.bindAddress"] == "127.0.0.1"
        assert chosen["spark.ui.enabled"] == "false"
        assert chosen["spark.databricks.delta.snapshotPartitions"] == "1"
        assert chosen["spark.driver.extraClassPath"] == place.class_path
        assert "log4j2.properties" in chosen["spark.driver.extraJavaOptions"]
        assert "-XX:TieredStopAtLevel=1" in chosen["spark.driver.extraJavaOptions"]
        assert "SharedArchiveFile" not in chosen["spark.driver.extraJavaOptions"]

    def test_a_process_that_lives_long_has_both_compilers_and_the_same_archive(self, tmp_path: Path) -> None:
        place = Installation(tmp_path)
        place.archive(JAVA).touch()

        options = session_settings({}, place, JAVA, lives_long=True)["spark.driver.extraJavaOptions"]

        assert "TieredStopAtLevel" not in options
        assert "-XX:ReservedCodeCacheSize=256m" in options
        assert str(place.archive(JAVA)) in options

    def test_the_set_up_made_an_archive_for_the_launcher_and_spark_starts_with_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        java = find_java()
        archive = installation().launcher_archive(java)
        assert archive.is_file()
        monkeypatch.setenv(LAUNCHER_OPTIONS, "unset")
        monkeypatch.delenv(LAUNCHER_OPTIONS)

        _prepare_environment(java, {"spark.master": "local[*]"})

        assert f"-XX:SharedArchiveFile={archive}" in os.environ[LAUNCHER_OPTIONS]

    def test_what_the_user_tells_the_launcher_stays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(LAUNCHER_OPTIONS, "-Xmx64m")

        _prepare_environment(find_java(), {"spark.master": "local[*]"})

        assert os.environ[LAUNCHER_OPTIONS] == "-Xmx64m"

    def test_an_archive_is_used_when_there_is_one(self, tmp_path: Path) -> None:
        place = Installation(tmp_path)
        place.archive(JAVA).touch()

        assert str(place.archive(JAVA)) in session_settings({}, place, JAVA)["spark.driver.extraJavaOptions"]

    def test_given_settings_win(self, tmp_path: Path) -> None:
        given = {
            "spark.master": "local[3]",
            "spark.sql.shuffle.partitions": "64",
            "spark.sql.extensions": "com.example.Extension",
            "spark.driver.extraJavaOptions": "-XX:+UseG1GC",
            "not.spark": "x",
        }
        chosen = session_settings(given, Installation(tmp_path), JAVA)

        assert chosen["spark.sql.shuffle.partitions"] == "64"
        assert chosen["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension,com.example.Extension"
        assert chosen["spark.driver.extraJavaOptions"].endswith(" -XX:+UseG1GC")
        assert "TieredStopAtLevel" not in chosen["spark.driver.extraJavaOptions"]
        assert "not.spark" not in chosen

    @pytest.mark.parametrize("master", ["local[2]", "spark://host:7077"])
    def test_what_it_starts_with_leaves_small_work_to_this_process(self, master: str, tmp_path: Path) -> None:
        chosen = session_settings({"spark.master": master}, Installation(tmp_path), JAVA)

        assert is_plain_start(chosen)
        assert not is_plain_start({**chosen, "spark.sql.nobodyKnows": "1"})

    @pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host:6443", "local-cluster[2,1,1024]"])
    def test_a_cluster_gets_the_jars_and_keeps_its_own_ways(self, master: str, tmp_path: Path) -> None:
        place = Installation(tmp_path)
        chosen = session_settings({"spark.master": master, "spark.jars": "/my.jar"}, place, JAVA)

        assert chosen["spark.jars"].split(",") == [*map(str, place.jars), "/my.jar"]
        assert not {"spark.driver.extraClassPath", "spark.driver.host", "spark.sql.shuffle.partitions"} & set(chosen)
        assert "-XX:" not in chosen["spark.driver.extraJavaOptions"]

    @pytest.mark.parametrize("master", ["local[2]", "spark://host:7077", "yarn"])
    def test_what_commits_to_a_disk_is_ours_unless_another_is_named(self, master: str, tmp_path: Path) -> None:
        place = Installation(tmp_path)
        chosen = session_settings({"spark.master": master}, place, JAVA)
        jars = chosen.get("spark.jars", chosen.get("spark.driver.extraClassPath", ""))

        assert chosen[LOCAL_LOG_STORE_SETTING] == "reconciler.LocalConditionalLogStore"
        assert str(place.local_log_store_jar) in jars.replace(os.pathsep, ",").split(",")
        for name in (LOCAL_LOG_STORE_SETTING, "spark.delta.logStore.class"):
            found = session_settings({"spark.master": master, name: "another"}, place, JAVA)
            assert {key: text for key, text in found.items() if "logStore" in key} == {name: "another"}

    @pytest.mark.parametrize("master", ["local[2]", "spark://host:7077"])
    def test_jars_for_s3_are_added_where_they_are(self, master: str, tmp_path: Path) -> None:
        place = Installation(tmp_path)
        (tmp_path / "jars").mkdir()
        for path in (*place.s3_jars, place.s3_log_store_jar):
            path.touch()
        chosen = session_settings({"spark.master": master}, place, JAVA)

        assert set(map(str, place.jars_for_s3)) <= set(chosen["spark.jars"].split(","))
        assert chosen[S3_LOG_STORE_SETTING] == "reconciler.S3ConditionalLogStore"
        named = session_settings({"spark.master": master, S3_LOG_STORE_SETTING: "another"}, place, JAVA)
        assert named[S3_LOG_STORE_SETTING] == "another"
        assert named[LOCAL_LOG_STORE_SETTING] == LOG_STORES[LOCAL_LOG_STORE_SETTING]
        # Delta works with neither where both are there.
        one = session_settings({"spark.master": master, "spark.delta.logStore.class": "another"}, place, JAVA)
        assert {key for key in one if "logStore" in key} == {"spark.delta.logStore.class"}

    def test_where_what_commits_to_s3_is_missing_the_jars_are_not_enough(self, tmp_path: Path) -> None:
        place = Installation(tmp_path)
        (tmp_path / "jars").mkdir()
        for path in place.s3_jars:
            path.touch()

        assert (place.has_s3, place.jars_for_s3) == (False, ())
        assert S3_LOG_STORE_SETTING not in session_settings({"spark.master": "local[2]"}, place, JAVA)

    @pytest.mark.parametrize("setting", [LOCAL_LOG_STORE_SETTING, S3_LOG_STORE_SETTING])
    def test_what_commits_is_used_under_spark_submit_where_it_is_among_the_jars(self, setting: str) -> None:
        named = {"spark.delta.logStore.class": "another"}

        assert submitted_settings({}, {}, [setting])[setting] == LOG_STORES[setting]
        assert setting not in submitted_settings({}, {})
        assert setting not in submitted_settings(named, {}, [setting])
        assert setting not in submitted_settings({}, named, [setting])
        assert submitted_settings({}, {setting: "told"}, [setting])[setting] == "told"

    def test_what_spark_submit_was_told_wins(self) -> None:
        given = {
            "spark.master": "local[2]",
            "spark.driver.memory": "9g",
            "spark.jars": "/mine",
            "spark.executor.memory": "1g",
        }
        told = {
            "spark.master": "spark://host:7077",
            "spark.executor.memory": "2g",
            "spark.sql.extensions": "my.Own",
        }
        chosen = submitted_settings(given, told)

        assert (chosen["spark.master"], chosen["spark.executor.memory"]) == ("spark://host:7077", "2g")
        assert chosen["spark.sql.extensions"].split(",") == ["io.delta.sql.DeltaSparkSessionExtension", "my.Own"]
        assert not {"spark.jars", "spark.driver.memory", "spark.driver.extraJavaOptions"} & set(chosen)

    def test_s3_is_where_the_environment_says(self) -> None:
        endpoint = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_REGION": "eu-central-1", "AWS_SECRET_ACCESS_KEY": "hush"}

        assert hadoop_settings({}) == {}
        assert hadoop_settings(endpoint) == {
            "spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:9",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
            "spark.hadoop.fs.s3a.endpoint.region": "eu-central-1",
        }


@pytest.mark.spark
class TestSetup:
    def test_a_second_run_only_looks(self) -> None:
        said: list[str] = []
        started = time.monotonic()

        setup.install(said.append)

        assert len(said) == 1
        assert time.monotonic() - started < 2

    def test_a_jar_with_other_bytes_is_not_complete(self, tmp_path: Path) -> None:
        place = Installation(tmp_path)
        (tmp_path / "jars").mkdir()
        for path in place.jars:
            path.write_bytes(b"something else")
        place.archive(JAVA).touch()

        assert not setup._is_complete(place, JAVA)

    @pytest.mark.parametrize(
        "source",
        mostly_slow([LOCAL_LOG_STORE, S3_LOG_STORE, SMALL_ROWS, SMALL_QUERY, ANSWER_FILES, GATEWAYS], LOCAL_LOG_STORE),
        ids=lambda source: source.stem,
    )
    def test_what_commits_is_compiled_where_it_is_missing(self, source: Path, tmp_path: Path) -> None:
        place, jar = Installation(tmp_path), tmp_path / "jars" / "one.jar"
        jar.parent.mkdir()
        for known in (*installation().fetched_jars, installation().small_rows_jar):
            (tmp_path / "jars" / known.name).symlink_to(known)
        said: list[str] = []
        setup._install_compiled(place, source, jar, tmp_path, said.append)
        setup._install_compiled(place, source, jar, tmp_path, said.append)

        assert said == [f"  compiled {source.name}"]
        assert zipfile.ZipFile(jar).namelist()[0] == f"reconciler/{source.stem}.class"

    def test_a_machine_without_what_commits_to_a_disk_is_not_complete(self, tmp_path: Path) -> None:
        place = Installation(tmp_path)
        (tmp_path / "jars").mkdir()
        for jar in installation().fetched_jars:
            (tmp_path / "jars" / jar.name).symlink_to(jar)
        place.archive(JAVA).touch()

        assert not setup._is_complete(place, JAVA)
        with pytest.raises(SetUpMissing, match="5 jar"):
            place.require_jars()
        place.local_log_store_jar.touch()
        place.small_rows_jar.touch()
        place.small_query_jar.touch()
        place.answer_files_jar.touch()
        place.gateways_jar.touch()
        assert setup._is_complete(place, JAVA)

    def test_what_can_not_be_compiled_says_why(self, tmp_path: Path) -> None:
        # Without the jars for Delta.
        with pytest.raises(SetUpMissing, match="HDFSLogStore") as raised:
            setup._install_compiled(
                Installation(tmp_path), LOCAL_LOG_STORE, tmp_path / "one.jar", tmp_path, lambda line: None
            )

        assert raised.value.code == "U808"

    @pytest.mark.slow
    def test_a_process_that_uses_spark_says_nothing_of_its_own(self, tmp_path: Path) -> None:
        program = """
from reconciler.engine.protocol import Selection
from reconciler.engine.spark.engine import spark_engine
from reconciler.base.errors import EngineError
engine = spark_engine({"spark.master": "local[2]"})
print(engine.select(Selection("SELECT 1", (), {})).rows)
try:
    engine.select(Selection("SELECT nope", (), {}))
except EngineError as error:
    print(error.code)
"""
        ran = run(program, tmp_path)

        assert ran.stdout == "[(1,)]\nX703\n"
        assert ran.stderr == ""
        assert list(tmp_path.iterdir()) == []

    def test_threads_share_the_one_session_of_the_process(self, tmp_path: Path) -> None:
        program = """
import threading
from reconciler.engine.protocol import Selection
from reconciler.engine.spark.engine import spark_engine
def select(number):
    print(spark_engine({"spark.master": "local[1]"}).select(Selection(f"SELECT {number}", (), {})).rows, flush=True)
for number in (1, 2):
    thread = threading.Thread(target=select, args=[number])
    thread.start()
    thread.join()
"""
        ran = run(program, tmp_path)
        assert ran.stdout == "[(1,)]\n[(2,)]\n"

    def test_an_engine_that_is_closed_takes_its_jvm_along_and_the_next_starts_another(self, tmp_path: Path) -> None:
        program = """
from pyspark import SparkContext
from reconciler.engine.protocol import Selection
from reconciler.engine.spark.engine import spark_engine
for number in (1, 2):
    engine = spark_engine({"spark.master": "local[1]"})
    print(engine.select(Selection(f"SELECT {number}", (), {})).rows)
    process = SparkContext._gateway.proc
    engine.close()
    print(process.wait(30))
"""
        ran = run(program, tmp_path)
        assert (ran.stdout, ran.stderr) == ("[(1,)]\n0\n[(2,)]\n0\n", "")

    @pytest.mark.slow
    def test_codecs_that_can_not_be_loaded_are_told_at_the_start_and_the_next_start_is_another_jvm(
        self, tmp_path: Path
    ) -> None:
        program = """
from reconciler.engine.protocol import Selection
from reconciler.engine.spark.engine import spark_engine
from reconciler.base.errors import EngineError
query = Selection("SELECT 1", (), {})
for place in ("/dev/null/none", "/tmp"):
    options = f"-Dorg.xerial.snappy.tempdir={place}"
    engine = spark_engine({"spark.master": "local[1]", "spark.driver.extraJavaOptions": options})
    try:
        print(engine.select(query).rows)
    except EngineError as error:
        print(error.code, "codecs" in error.message)
    engine.close()
"""
        ran = run(program, tmp_path)
        assert ran.stdout == "X702 True\n[(1,)]\n"

    @pytest.mark.slow
    def test_the_end_of_the_jvm_is_one_error_and_the_next_call_starts_another(self, tmp_path: Path) -> None:
        program = """
import os, threading
from pyspark import SparkContext
from reconciler.engine.protocol import Selection
from reconciler.engine.spark.engine import spark_engine
from reconciler.base.errors import EngineError
def kill():
    process = SparkContext._gateway.proc
    process.kill()
    process.wait()
def select(engine, sql):
    try:
        print(engine.select(Selection(sql, (), {})).rows)
    except EngineError as error:
        print(error.code)
for _ in range(2):
    engine = spark_engine({"spark.master": "local[1]"})
    select(engine, "SELECT 1")
    threading.Timer(2, kill).start()
    select(engine, "SELECT count(*) FROM range(100000000000) WHERE sin(id) > 0.5")
    select(engine, "SELECT 2")
    engine.close()
"""
        ran = run(program, tmp_path)

        assert ran.stdout == "[(1,)]\nX707\n[(2,)]\n" * 2
        assert ran.stderr == ""


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own, with what it said."""
    command = [sys.executable, "-W", "ignore", "-c", program]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=True)

"""What a pipeline asks for, as settings of Spark: by master, and over what the environment says."""

from collections.abc import Mapping

import pytest

from reconciler.engine.resources import Resources, with_resources
from reconciler.engine.spark.starting_settings import settings_of_start

ASKED = Resources(workers=3, memory="4g", driver_memory="2g")


@pytest.mark.parametrize(
    ("environment", "added"),
    [
        ({}, {"spark.master": "local[3]", "spark.driver.memory": "4g"}),
        ({"spark.master": "local"}, {"spark.master": "local[3]", "spark.driver.memory": "4g"}),
        ({"spark.master": "local[8,4]"}, {"spark.master": "local[3,4]", "spark.driver.memory": "4g"}),
        (
            {"spark.master": "spark://m:7077"},
            {"spark.cores.max": "3", "spark.executor.memory": "4g", "spark.driver.memory": "2g"},
        ),
        (
            {"spark.master": "spark://m:7077", "spark.executor.cores": "8", "spark.executor.memory": "1g"},
            {
                "spark.cores.max": "3",
                "spark.executor.cores": "3",
                "spark.executor.memory": "4g",
                "spark.driver.memory": "2g",
            },
        ),
        (
            {"spark.master": "yarn", "spark.executor.cores": "2"},
            {
                "spark.executor.instances": "2",
                "spark.executor.cores": "2",
                "spark.executor.memory": "4g",
                "spark.driver.memory": "2g",
            },
        ),
        (
            {"spark.master": "k8s://https://m:6443", "spark.dynamicAllocation.enabled": "true"},
            {"spark.dynamicAllocation.maxExecutors": "3", "spark.executor.memory": "4g", "spark.driver.memory": "2g"},
        ),
    ],
)
def test_what_is_asked_for_wins_over_the_environment(environment: Mapping[str, str], added: Mapping[str, str]) -> None:
    assert with_resources(environment, ASKED) == {**environment, **added}


def test_settings_of_a_query_do_not_belong_to_the_process() -> None:
    asked = Resources(settings={"spark.sql.shuffle.partitions": "4", "spark.locality.wait": "1s"})

    assert with_resources({"spark.locality.wait": "3s"}, asked) == {"spark.locality.wait": "1s"} | {
        "spark.master": "local[*]"
    }


@pytest.mark.parametrize("master", ["local[2]", "spark://m:7077", "yarn", "k8s://https://m:6443"])
def test_who_asks_for_nothing_gets_what_the_environment_says(master: str) -> None:
    environment = {"spark.master": master, "spark.executor.memory": "1g", "spark.driver.memory": "3g"}

    assert with_resources(environment, Resources()) == environment


SECRET = {
    "spark.hadoop.fs.s3a.secret.key": "a",
    "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net": "b",
    "spark.hadoop.some.thing": "c",
    "spark.ssl.keyStorePassword": "d",
    "spark.executorEnv.TOKEN": "e",
    "spark.authenticate.secret": "f",
}
PLAIN = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.driver.extraClassPath": "/jars/a.jar",
    "spark.driver.extraJavaOptions": "-Xss4m",
    "spark.hadoop.fs.s3a.path.style.access": "true",
    "spark.jars": "/jars/b.jar, file:///jars/c.jar",
}


def test_no_credential_stands_on_the_command_line_of_spark() -> None:
    assert settings_of_start(SECRET | PLAIN) == PLAIN


def test_where_jars_are_fetched_before_there_is_a_context_what_they_need_is_said() -> None:
    settings = SECRET | PLAIN | {"spark.jars": "s3a://jars/a.jar"}

    assert settings_of_start(settings) == settings

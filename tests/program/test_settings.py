from reconciler.program.settings import meaning_settings


def test_settings_that_change_results_are_kept_and_the_others_not() -> None:
    assert meaning_settings(
        {
            "spark.sql.session.timeZone": " Europe/Berlin ",
            "spark.sql.ansi.enabled": "FALSE",
            "spark.sql.legacy.timeParserPolicy": "LEGACY",
            "spark.sql.shuffle.partitions": "8",
            "spark.executor.memory": "4g",
        }
    ) == {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.legacy.timeParserPolicy": "legacy",
        "spark.sql.session.timeZone": "Europe/Berlin",
    }


def test_they_are_sorted() -> None:
    settings = {"spark.sql.timestampType": "x", "spark.sql.ansi.enabled": "true", "spark.sql.caseSensitive": "true"}
    assert list(meaning_settings(settings)) == sorted(settings)

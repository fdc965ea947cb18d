"""How much is kept of what a process saw of tables."""

from pathlib import Path

from reconciler.delta.seen_tables import _MOST_TABLES, SeenTables


def _location(folder: Path, name: str) -> str:
    log = folder / name / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").touch()
    return str(folder / name)


def test_the_tables_that_were_seen_last_are_kept(tmp_path: Path) -> None:
    seen = SeenTables()
    locations = [_location(tmp_path, f"t{number}") for number in range(_MOST_TABLES + 3)]
    for location in [*locations, locations[4]]:
        seen.keep(location, 0, None, {})
    kept = [location for location in locations if seen.newest(location) is not None]
    assert kept == locations[3:]

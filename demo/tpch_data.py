"""TPC-H's eight tables as Delta tables: what the pipeline `tpch` reads.

    python demo/tpch_data.py --scale 0.1 --out .reconcile/tpch

tpchgen-cli writes Parquet files, deltalake makes a Delta table of each folder of them in place: no JVM, no network, the
same rows for the same scale on every machine. A folder that holds the tables already is left alone; one that holds them at
another scale is refused, because a pipeline may have read it. Everything is made beside the folder and moved there in the
end, so that half-written tables never stand in it.
"""

import argparse
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deltalake import DeltaTable, convert_to_deltalake

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


def main() -> int:
    """Read the arguments, write the tables, say what was done."""
    parser = argparse.ArgumentParser(description="Write TPC-H's tables as Delta tables.")
    parser.add_argument("--scale", default="0.1", help="scale factor: 1 is about 1 GB of text (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path(".reconcile/tpch"), help="the folder (default: %(default)s)")
    arguments = parser.parse_args()
    if float(arguments.scale) <= 0:
        parser.error("--scale must be above 0")
    try:
        written = write_tables(arguments.scale, arguments.out)
    except FileExistsError as error:
        print(error, file=sys.stderr)
        return 1
    what = f"TPC-H at scale {arguments.scale}"
    print(f"{arguments.out} holds {what} already" if not written else f"wrote {what} to {arguments.out}: {_counts(written)}")
    return 0


def write_tables(scale: str, out: Path) -> dict[str, int]:
    """Write the tables; returns rows by table, or nothing when they were there. Raises FileExistsError for another scale."""
    if out.exists():
        _require_scale(scale, out)
        return {}
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as temporary:
        made = Path(temporary) / "tables"
        generate(scale, made, TABLES)
        rows = {table: DeltaTable(str(made / table)).count() for table in TABLES}
        made.rename(out)
    return rows


def generate(scale: str, folder: Path, tables: Sequence[str]) -> None:
    """Write these tables as Delta tables below a folder that does not exist."""
    program = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts")) or shutil.which("tpchgen-cli")
    if program is None:
        raise SystemExit("tpchgen-cli is not installed; run: make setup")
    # With --parts each table gets a folder of its own, which is what becomes a Delta table.
    options = ["--tables", ",".join(tables), "--parts", "1", "--field-ids", "false", "--no-progress", "--quiet"]
    subprocess.run([program, "parquet", "--scale-factor", scale, "--output-dir", str(folder), *options], check=True)
    for table in tables:
        convert_to_deltalake(str(folder / table), name=table, description=_description(table, scale))


def _require_scale(scale: str, out: Path) -> None:
    for table in TABLES:
        if not DeltaTable.is_deltatable(str(out / table)):
            raise FileExistsError(f"{out} exists and is not a folder of TPC-H tables: it has no Delta table {table}")
        found = DeltaTable(str(out / table)).metadata().description
        if found != _description(table, scale):
            raise FileExistsError(f"{out / table} holds something else ({found}); remove {out} or name another folder")


def _description(table: str, scale: str) -> str:
    return f"TPC-H {table}, scale {float(scale):g}"


def _counts(rows: dict[str, int]) -> str:
    return ", ".join(f"{table} {count}" for table, count in rows.items())


if __name__ == "__main__":
    sys.exit(main())

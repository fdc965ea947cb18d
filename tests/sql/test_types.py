import pytest

from reconciler.sql.types import KNOWN_TYPES, canonical_type, is_variant, storage_type


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("integer", "INT"),
        ("INT", "INT"),
        ("bigint", "BIGINT"),
        ("Long", "BIGINT"),
        ("smallint", "SMALLINT"),
        ("tinyint", "TINYINT"),
        ("varchar", "STRING"),
        ("TEXT", "STRING"),
        ("character varying(3)", "VARCHAR(3)"),
        ("varchar( 44 )", "VARCHAR(44)"),
        ("char", "CHAR(1)"),
        ("CHAR(25)", "CHAR(25)"),
        ("decimal", "DECIMAL(10,0)"),
        ("decimal(5)", "DECIMAL(5,0)"),
        ("DECIMAL(15, 2)", "DECIMAL(15,2)"),
        ("numeric(38,38)", "DECIMAL(38,38)"),
        ("real", "FLOAT"),
        ("double precision", "DOUBLE"),
        ("boolean", "BOOLEAN"),
        ("timestamp", "TIMESTAMP"),
        ("timestamp_ntz", "TIMESTAMP_NTZ"),
        ("varbinary", "BINARY"),
        ("varbinary(8)", "BINARY"),
        ("variant", "VARIANT"),
        ("map<string, struct<variant: variant>>", "MAP<STRING,STRUCT<variant:VARIANT>>"),
        ("array<int>", "ARRAY<INT>"),
        ("int array", "ARRAY<INT>"),
        ("int array array", "ARRAY<ARRAY<INT>>"),
        ("map<string, array<date>>", "MAP<STRING,ARRAY<DATE>>"),
        ("struct<a: int, B string>", "STRUCT<a:INT,B:STRING>"),
        ("row(a int, b varchar(3) not null)", "STRUCT<a:INT,b:VARCHAR(3) NOT NULL>"),
        ("array<struct<a:decimal(3,1)>>", "ARRAY<STRUCT<a:DECIMAL(3,1)>>"),
    ],
)
def test_known_types(written: str, canonical: str) -> None:
    assert canonical_type(written) == canonical
    assert canonical_type(canonical) == canonical


@pytest.mark.parametrize(
    "written",
    [
        "",
        "strng",
        "decimal(39,0)",
        "decimal(3,4)",
        "decimal(0)",
        "decimal(1,2,3)",
        "varchar(0)",
        "int(3)",
        "array",
        "array<int",
        "array<>",
        "map<int>",
        "struct<>",
        "struct<a:int,A:int>",
        "map<map<int,int>,int>",
        "int int",
        "INT; DROP",
        "UNKNOWN",
        "array<" * 5000,
    ],
)
def test_what_is_no_type(written: str) -> None:
    assert canonical_type(written) is None


def test_text_of_bounded_length_is_stored_as_string() -> None:
    assert storage_type("VARCHAR(3)") == "STRING"
    assert storage_type("CHAR(1)") == "STRING"
    assert storage_type("ARRAY<STRUCT<a:VARCHAR(3),b:DECIMAL(3,1)>>") == "ARRAY<STRUCT<a:STRING,b:DECIMAL(3,1)>>"
    assert storage_type("DECIMAL(15,2)") == "DECIMAL(15,2)"


def test_the_listed_types_are_known() -> None:
    nested = {"ARRAY": "<INT>", "MAP": "<INT,INT>", "STRUCT": "<a:INT>", "ROW": "(a INT)"}
    assert [name for name in KNOWN_TYPES if canonical_type(name + nested.get(name, "")) is None] == []


@pytest.mark.parametrize("written", ["VARIANT", "MAP<STRING,ARRAY<VARIANT>>", "STRUCT<a:STRUCT<b:VARIANT NOT NULL>>"])
def test_a_type_has_variants(written: str) -> None:
    assert is_variant(canonical_type(written) or "")


@pytest.mark.parametrize("written", ["STRING", "STRUCT<a:INT,VARIANT:STRING>", "STRUCT<my_VARIANT:INT>"])
def test_a_type_has_no_variants(written: str) -> None:
    assert not is_variant(canonical_type(written) or "VARIANT")


def test_a_variant_is_no_key_of_a_map() -> None:
    assert canonical_type("MAP<VARIANT,INT>") is None

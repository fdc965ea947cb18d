"""Records by chance for tables of all plain types: most are as they should be, others are as nasty as they may."""

import json
import random
from collections.abc import Mapping, Sequence
from typing import Final

from reconciler.engine.protocol import ColumnType

COLUMNS: Final = (
    ColumnType("number", "INT", nullable=False),
    ColumnType("i8", "TINYINT"),
    ColumnType("i16", "SMALLINT"),
    ColumnType("i32", "INT"),
    ColumnType("i64", "BIGINT"),
    ColumnType("s", "STRING"),
    ColumnType("v", "VARCHAR(6)"),
    ColumnType("c", "CHAR(4)"),
    ColumnType("d102", "DECIMAL(10,2)"),
    ColumnType("d50", "DECIMAL(5,0)"),
    ColumnType("d3818", "DECIMAL(38,18)"),
    ColumnType("d33", "DECIMAL(3,3)"),
    ColumnType("x", "DOUBLE"),
    ColumnType("f", "FLOAT"),
    ColumnType("b", "BOOLEAN"),
    ColumnType("y", "DATE"),
    ColumnType("t", "TIMESTAMP"),
    ColumnType("n", "TIMESTAMP_NTZ"),
)

FITTING: Final[Mapping[str, Sequence[str]]] = {
    "i8": ("1", "-128", "127", "0", '"5"'),
    "i16": ("32767", "-3"),
    "i32": ("2147483647", "-2147483648", '"12"'),
    "i64": ("9223372036854775807", "-9223372036854775808", "12345678901234567"),
    "s": (
        *('"x"', '"é漢😀"', '"\\u00e9\\ud83d\\ude00"', '"q\\"b\\\\n\\n\\t"', '""', '" "', "1", "1.10", "true", "false"),
        *('"1e5"', '"null"', '"\\u0000"', '"a\u2028b"', '"\\u001f"', '"{\\"k\\":1}"', "12345678901234567890123.10", "-0.5"),
        *("0.1", "100000000000000000000", "1.0", "0.000000001", "-1"),
    ),
    "v": ('"abcdef"', '"é漢😀"', "123456", "true", "1.10"),
    "c": ('"abcd"', '"a"', '""', '"a  "'),
    "d102": ("1.10", "1", "-7.25", "99999999.99", "0", "0.00", "-0.00", '"2.5"', "12345678.9", '"1.10"'),
    "d50": ("12345", "-99999", "0", '"7"'),
    "d3818": (
        *("0.000000000000000001", "12345678901234567890.123456789012345678", "-5", "0.1"),
        *("99999999999999999999", "1.000000000000000000"),
    ),
    "d33": ("0.123", "0", "-0.999", "0.000"),
    "x": (
        *("1.5", "1", "0.1", "1e10", "1E-5", "123456789012345678", "-2.5e-300", "0", "0.0", "1.7976931348623157e308"),
        *("4.9e-324", '"1.5"', '"1e3"', "12345678901234567890", "0.30000000000000004", "5e-324"),
        *("2.2250738585072014E-308", "100000000000000000000000"),
    ),
    "f": (
        *("1.5", "0.1", "1", "16777217", "0.3333333333", "3.4e38", "1e-20", "0", '"1.5"', "1.17549435e-38", "123456.789"),
        *("0.1000000015", "16777219", "1.000000059604644775390625", "1.00000017881393432617187499"),
    ),
    "b": ("true", "false", '"true"', '"false"'),
    "y": ('"2024-01-02"', '"1900-01-01"', '"2024-02-29"', '"2199-12-31"', '"1969-12-31"'),
    "t": (
        *('"2024-01-02T03:04:05Z"', '"2024-01-02 03:04:05.123456+02:00"', '"2024-01-02 03:04:05"'),
        *('"2024-01-02T03:04:05.1-05:30"', '"1900-01-01T00:00:00.000001Z"', '"1969-12-31T23:59:59.9+14:00"'),
    ),
    "n": ('"2024-01-02T03:04:05"', '"2024-01-02 03:04:05.123456"', '"2199-12-31T23:59:59.999999"'),
}
"""By column what fits it, and all of it is read without doubt, but numbers between two of 32 bits."""

ODD: Final = (
    *("-0", "-0.0", "5.0", "007", "1e3", "1E400", "1e-400", "-1e400", "9223372036854775808", "null", "{}", "[1]", "[]"),
    *('"x"', '"  8 "', '"8 "', '" 8"', '""', '"+1"', '"1."', '".5"', '"1e2"', '"NaN"', '"Infinity"', '"-0"', '"-0.0"'),
    *('"TRUE"', '"True"', '"t"', '"yes"', '"1"', "NaN", "Infinity", '"\\ud83d"', '"\\\\ud83d"', '"\ufdd2"', '"\\ufdd2"'),
    *('"\\\\ufdd2"', "0.1234567890123456789", "1e1000000000", "12345678901234567.125", '"1,5"', "99999999.995", "100000000"),
    *("0.005", "1.00000000000000000000000000000000000000001", "12345678901234567890123456789012345678901234567890"),
    *('"2024-1-2"', '"2024"', '"20240102"', "20240102", '"2024-01-02T00:00:00"', '"2024-01-02T00:00:00Z"', '"2024-02-30"'),
    *('"0000-01-01"', '"0001-01-01"', '"1582-10-10"', '"1899-12-31"', '"9999-12-31"', '"10000-01-01"', '"24:00:00"'),
    *('"2024-01-02T24:00:00"', '"2024-01-02T23:59:60"', '"2024-01-02T3:4:5"', '"2024-01-02T03:04"'),
    *('"2024-01-02T03:04:05z"', '"2024-01-02T03:04:05 UTC"', '"2024-01-02T03:04:05.1234567Z"'),
    *('"2024-01-02T03:04:05.123456000Z"', '"2024-01-02T03:04:05+2"', '"2024-01-02T03:04:05+0200"'),
    *('"2024-01-02T03:04:05+18:00"', '"2024-01-02T03:04:05+14:59"', '"2024-01-02T03:04:05-00:00"'),
    *('"2024-01-02T03:04:05."', "'x'", '"abcdefg"', '"é漢😀xyz1"', '{"q": 1.50}', "[1, 2]", '"\\u0041"', '"\\x"', '"a\tb"'),
    *('"\\/"', '"\ufeff"', '"\x7f"', '"\u0080"', "1.7976931348623159e308", "3.5e38", "1e-45", "1e-46"),
    *("1.401298464324817e-45", '"１"', '"٣"', "0x10", "1_000", '"1_000"', '"infinity"', "1.", ".5", "+1", "--1", "1e"),
    *("1e+", "01", "-", "tru", '"a', '"\\u00"', '"\\uD83D\\uDE00"', '"\\uDE00\\uD83D"'),
)
_KEYS: Final = ("zz", "ZZ", "é", "K\u212a", "number2", "a b", "", "insert", "zz.y")
_WHOLE: Final = (
    *(
        "{0} x",
        "{0}{{}}",
        "{0}}}",
        "{0} ",
        " {0}",
        "\t{0}",
        "{0}\t",
        "\ufeff{0}",
        "[{0}]",
        '{0} "x"}}',
        "{0},{{}}",
        "{0}],{{}}",
    ),
    *("5", '"x"', "null", "{{}}", "{{", "[]", "\t", " ", "{0}\r", "{0},", "{{{0}}}", "{0}//c", "/*c*/{0}", "#{0}"),
    *("{0}\x00", "\x00", "\u2028{0}", "\x0b{0}", "\u00a0{0}"),
)


def json_record(chance: random.Random, number: int, update_format: str) -> str:
    """One line, of a row whose `number` is this one."""
    is_tame = chance.random() < 0.6
    match update_format:
        case "raw":
            text = _object(chance, number, is_tame)
        case "insert_delete":
            text = _insert_delete(chance, number, is_tame)
        case _:
            text = _event(chance, number, is_tame)
    return chance.choice(_WHOLE).format(text) if not is_tame and chance.random() < 0.1 else text


def csv_line(chance: random.Random, number: int, names: Sequence[str], delimiter: str) -> str:
    """One line under a header of these names."""
    is_tame = chance.random() < 0.6
    parts = []
    for name in names:
        dice = chance.random()
        if name.lower() == "number":
            value = str(number)
        elif dice < 0.2:
            value = ""
        else:
            values = FITTING.get(name.lower(), FITTING["s"]) if dice < (0.99 if is_tame else 0.9) else _ODD_FIELDS
            value = _unquoted(chance.choice(values))
        if delimiter in value or chance.random() < 0.15 or ('"' in value and chance.random() < 0.9):
            value = '"' + value.replace('"', '""') + '"'
        parts.append(value)
    if not is_tame and chance.random() < 0.1:
        parts = parts[:-1] if chance.random() < 0.5 else [*parts, "1"]
    line = delimiter.join(parts)
    if not is_tame and chance.random() < 0.05:
        return chance.choice((f"{line} ", f" {line}", f"\ufeff{line}", f"{line}\r", f"#{line}", "\t", "  ", "\x01", ""))
    return line


_ODD_FIELDS: Final = (
    *ODD,
    *("", " ", "\t", '""', '"a"', '"a""b"', '""a""', '"a', 'a"b', ' "a"', '"a" ', '"a"b', "\\", '"\\"', '\\"a', "\x00"),
    *("\ufdd0", "#", "#x", "'a'", '"a,b"', '"a;b"', '"""', '""""', "a\\,b", "\u00a0", "\x01", "\x1f"),
)


def _unquoted(value: str) -> str:
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return (found if isinstance(found, str) else value).replace("\n", "")


def _object(chance: random.Random, number: int, is_tame: bool) -> str:
    parts = [f'"number":{number}']
    for name in chance.sample(sorted(FITTING), chance.randint(0, len(FITTING))):
        dice = chance.random()
        if dice < (0.98 if is_tame else 0.85):
            value = chance.choice(FITTING[name])
        else:
            value = chance.choice(ODD if dice < 0.985 else FITTING[chance.choice(sorted(FITTING))])
        dice = chance.random()
        escaped = f"\\u00{ord(name[0]):02x}{name[1:]}"
        key = name.upper() if dice < 0.04 else escaped if dice < 0.06 else chance.choice(_KEYS) if dice < 0.1 else name
        parts.append(f'"{key}"{chance.choice((":", ":", " : ", ": "))}{value}')
        if chance.random() < (0.001 if is_tame else 0.03):
            parts.append(
                f'"{chance.choice((name, name.upper(), "other", "other"))}":{chance.choice((*ODD, *FITTING[name]))}'
            )
    chance.shuffle(parts)
    return "{" + chance.choice((",", ", ")).join(parts) + "}"


def _insert_delete(chance: random.Random, number: int, is_tame: bool) -> str:
    kind = chance.choice(("insert", "insert", "delete") if chance.random() < 0.95 else ("INSERT", "upsert", "Delete"))
    others = (',"insert":null', ',"delete":null', ',"seq":1', ',"insert":{}', ',"seq":1,"Seq":2')
    beside = "" if chance.random() < 0.93 else chance.choice(others)
    return f'{{"{kind}"{chance.choice((":", ": "))}{_object(chance, number, is_tame)}{beside}}}'


def _event(chance: random.Random, number: int, is_tame: bool) -> str:
    after = _object(chance, number, is_tame)
    kind = chance.choice(("c", "r", "u", "d") if chance.random() < 0.95 else ("x", "", "C"))
    before = chance.choice(("null", _object(chance, number, is_tame=True)))
    if kind == "d" and chance.random() < 0.9:
        before, after = after, "null"
    beside = chance.choice(
        ("", ',"ts_ms":12', ',"source":{"a":1,"b":[1.5,null]}', ',"Op":"c"' if chance.random() < 0.2 else "")
    )
    event = f'{{"op":"{kind}","before":{before},"after":{after}{beside}}}'
    if chance.random() < 0.5:
        return event
    others = (
        "",
        ',"schema":{"type":"struct","fields":[{"a":1}]}',
        ',"schema":null',
        ',"op":"c"' if chance.random() < 0.2 else "",
    )
    return f'{{"payload":{event}{chance.choice(others)}}}'

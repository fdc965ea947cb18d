"""Where the letter case of names can be data: Spark matches names without regard to it, but not what is made of them.

- Keys of maps and of variants are matched exactly, and `m.Key` looks like any column.
- Some constructs turn the names of columns into rows (`REFLECTING`): `to_json(struct(*))`, UNPIVOT.
- A tuple that a query gives is a struct, whose fields are named as the query spells its columns (`tuples`).

Names go from relation to relation, so one such construct anywhere concerns every query of the program. When unsure,
yes: then two spellings are two queries, which costs a computation, while the other mistake hides a change.
"""

from enum import IntEnum
from typing import Final

from reconciler.sql.lexer import Kind, Token, query_tokens
from reconciler.sql.shapes import STRING
from reconciler.sql.tuples import may_give_tuples


class Spelling(IntEnum):
    """What of the spelling of a program's texts is meaning: the less is known, the more. Two programs are compared by the
    greater one."""

    LAYOUT_ASIDE = 2
    """Each token as it is written: Spark is told to read texts, or to name columns, otherwise than it does by itself."""
    CASE_OF_NAMES = 1
    """The letter case of names, which can reach rows."""
    EVENED_OUT = 0
    """What is proven to mean the same is the same."""


REFLECTING: Final = frozenset(
    {
        "from_avro",
        "from_protobuf",
        "inline",
        "inline_outer",
        "schema_of_avro",
        "schema_of_csv",
        "schema_of_json",
        "schema_of_variant",
        "schema_of_variant_agg",
        "schema_of_xml",
        "struct",
        "arrays_zip",
        "to_avro",
        "to_csv",
        "to_json",
        "to_protobuf",
        "to_variant_object",
        "to_xml",
        "typeof",
        "unpivot",
    }
)
_MAKING_MAPS: Final = frozenset(
    {"from_csv", "from_json", "from_xml", "json_tuple", "parse_json", "transform_keys", "transform_values", "try_parse_json"}
)


def is_strange(token: Token) -> bool:
    """Whether Spark may cut here otherwise than `lexer`: quoting by `$`, characters outside ASCII, several statements."""
    return token.kind is Kind.SYMBOL and (token.text[0] in "$;" or not token.text.isascii())


def reflects(shapes: list[str], present: frozenset[str]) -> bool:
    """Whether a query turns names into data; `present` are its different shapes."""
    if not REFLECTING.isdisjoint(present) or any(shape[0] == "`" and shape.strip("`") in REFLECTING for shape in present):
        return True
    return "(" in present and "," in present and may_give_tuples(shapes)


def may_hold_names(type_text: str) -> bool:
    """Whether values of a type have keys that are matched exactly."""
    return any(word in type_text.upper() for word in ("MAP", "VARIANT"))


def may_make_names_data(query: str) -> bool:
    """Whether a query turns names into data, or may make a map or a variant."""
    tokens = query_tokens(query)
    while tokens and tokens[-1].is_symbol(";"):
        tokens = tokens[:-1]
    names = {token.text.strip("`").lower() for token in tokens if token.kind is Kind.WORD or token.kind is Kind.QUOTED}
    if not REFLECTING.isdisjoint(names) or any(map(_may_make_maps, names)):
        return True
    if "(" in query and "," in query and may_give_tuples([_shape(token) for token in tokens]):
        return True
    # What is strange stands out in the text: most texts need not be gone through for it.
    if query.isascii() and "$" not in query and ";" not in query:
        return bool(tokens) and tokens[-1].kind is Kind.BAD
    return any(token.kind is Kind.BAD or is_strange(token) for token in tokens)


def _shape(token: Token) -> str:
    """As `shapes` has it, of any token."""
    return token.text.lower() if token.kind in (Kind.WORD, Kind.QUOTED, Kind.SYMBOL) else STRING


def _may_make_maps(name: str) -> bool:
    return name in _MAKING_MAPS or "variant" in name or ("map" in name and "map" in name.split("_"))

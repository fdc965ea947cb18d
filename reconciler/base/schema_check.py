"""A value against a JSON Schema → diagnostics that a person can act on.

Every problem is reported, each once, at the place of the offending key or value, with what was found, what was
expected, and a hint where one is likely to help. The wording is ours: messages of the validator reach nobody.

`Codes` names the permanent codes under which the kinds of problem are reported: pipeline.yaml and connectors differ.
Of a connector's texts only those are shown that their schema marks as plain; of other files none that is secret by its name.
Alternatives (`oneOf`, `anyOf`) are narrowed to the branch whose type fits before anything is said about them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from reconciler.base.dataclass import dataclass
from reconciler.base.diagnostics import Diagnostic, Location, in_order
from reconciler.base.digest import canonical_json
from reconciler.base.names import did_you_mean
from reconciler.base.places import Path, Places
from reconciler.base.schema_files import validator
from reconciler.base.schema_walk import plainness
from reconciler.base.secrets.names import is_secret_name
from reconciler.base.secrets.redaction import MASK, masked, plain_value

# The validator's own error, whose attributes have no types that would help.
_Error: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Codes:
    """The code of each kind of problem, what the checked value is called in messages, and whether its texts may be secret
    unless their schema marks them as plain."""

    whole: str
    may_be_secret: bool
    unknown_key: str
    missing_key: str
    wrong_type: str
    not_allowed: str
    wrong_form: str
    out_of_range: str
    wrong_count: str


MANIFEST_CODES: Final = Codes("the file", False, "M110", "M111", "M112", "M113", "M114", "M115", "M116")
CONNECTOR_CODES: Final = Codes("the connector", True, "C403", "C404", "C405", "C406", "C407", "C408", "C409")


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is checked, and how its problems are told."""

    schema_file: str
    value: Any
    places: Places
    codes: Codes

    def may_be_secret(self, error: _Error) -> bool:
        """Whether the value that an error is about must not be shown."""
        path: Path = tuple(error.absolute_path)
        if any(isinstance(part, str) and is_secret_name(part) for part in path):
            return True
        if not self.codes.may_be_secret:
            return isinstance(error.schema, Mapping) and error.schema.get("x-secret") is True
        mark = plainness(self.schema_file, self.value, path)
        return mark is None or plain_value(error.instance, mark) == MASK


_TYPE_WORDS: Final = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}
_OLD_BOOLEANS: Final = {
    **dict.fromkeys(("yes", "on", "y"), "true"),
    **dict.fromkeys(("no", "off", "n"), "false"),
}


def check_against(schema_file: str, value: Any, places: Places, codes: Codes) -> tuple[Diagnostic, ...]:
    """All problems of `value` by the schema in `schema_file`, in order of place."""
    found: list[Diagnostic] = []
    subject = _Subject(schema_file, value, places, codes)
    for error in validator(schema_file).iter_errors(value):
        found.extend(_describe(error, subject))
    return in_order(found)


def found_words(value: Any) -> str:
    """A value in a message: short, and with its type where the text alone would not tell."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            shown = masked(value)
            return repr(shown) if len(shown) <= 60 else repr(shown[:57] + "…")
        case Mapping():
            return "a mapping"
        case Sequence():
            return "a list"
        case _:
            return f"the number {value}"


def _found(error: _Error, subject: _Subject) -> str:
    """What was found, or only its type where it may be secret."""
    value = error.instance
    if value is None or isinstance(value, bool) or not subject.may_be_secret(error):
        return found_words(value)
    match value:
        case str():
            return "a text (not shown)"
        case int() | float():
            return "a number (not shown)"
        case _:
            return found_words(value)


def path_words(path: Path) -> str:
    """A path as it is written in messages: `spec.connectors[0].transport`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _describe(error: _Error, subject: _Subject) -> Iterator[Diagnostic]:
    path: Path = tuple(error.absolute_path)
    value, rule = error.instance, error.validator_value
    places, codes = subject.places, subject.codes
    at = places.of_value(path)
    name = path_words(path) or codes.whole
    if "propertyNames" in error.absolute_schema_path:
        form = error.schema.get("x-form", "another form")
        yield Diagnostic(codes.wrong_form, f"key {value!r}: expected {form}", places.of_key((*path, str(value))))
        return
    match error.validator:
        case "additionalProperties" | "unevaluatedProperties":
            yield from _unknown_keys(error, path, subject)
        case "required":
            where = places.of_key(path)
            for key in rule:
                if key not in value:
                    yield Diagnostic(codes.missing_key, f"{name} lacks the key {key!r}", where, _meaning(error, key))
        case "type":
            expected = _types(rule)
            hint = _form_hint(value, error.schema) or _type_hint(value, rule, hidden=subject.may_be_secret(error))
            yield Diagnostic(codes.wrong_type, f"{name}: expected {expected}, found {_found(error, subject)}", at, hint)
        case "enum" | "const":
            allowed = list(rule) if error.validator == "enum" else [rule]
            yield _not_allowed(name, value, _found(error, subject), allowed, at, codes)
        case "pattern" | "format" | "minLength" | "maxLength":
            form = error.schema.get("x-form") or _length_words(error) or "another form"
            yield Diagnostic(codes.wrong_form, f"{name}: expected {form}, found {_found(error, subject)}", at)
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            bound = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "more than"}
            words = bound.get(str(error.validator), "less than")
            yield Diagnostic(codes.out_of_range, f"{name}: expected {words} {rule}, found {value}", at)
        case "minItems" | "minProperties":
            yield Diagnostic(codes.wrong_count, f"{name}: expected at least {rule}, found {len(value)}", at)
        case "maxItems" | "maxProperties":
            yield Diagnostic(codes.wrong_count, f"{name}: expected at most {rule}, found {len(value)}", at)
        case "uniqueItems":
            yield from _repeats(name, path, value, subject)
        case "oneOf" | "anyOf":
            yield from _alternatives(error, subject)
        case _:
            form = error.schema.get("x-form", "something else") if isinstance(error.schema, Mapping) else "nothing here"
            yield Diagnostic(codes.wrong_form, f"{name}: expected {form}, found {_found(error, subject)}", at)


def _unknown_keys(error: _Error, path: Path, subject: _Subject) -> Iterator[Diagnostic]:
    known = sorted(error.schema.get("properties", {}))
    patterns = list(error.schema.get("patternProperties", {}))
    for key in sorted(error.instance):
        if key in known or any(re.search(pattern, key) for pattern in patterns):
            continue
        within = f" in {path_words(path)}" if path else ""
        hint = did_you_mean(key, known)
        if hint is None and error.schema.get("x-keys"):
            hint = f"expected {error.schema['x-keys']}"
        elif hint is None and 0 < len(known) <= 12:
            hint = f"known keys: {', '.join(known)}"
        yield Diagnostic(
            subject.codes.unknown_key, f"unknown key {key!r}{within}", subject.places.of_key((*path, key)), hint
        )


def _meaning(error: _Error, key: str) -> str | None:
    described = error.schema.get("properties", {}).get(key, {})
    text = described.get("description") if isinstance(described, Mapping) else None
    return f"{key}: {text}" if text else None


def _types(rule: Any) -> str:
    names = [rule] if isinstance(rule, str) else list(rule)
    return " or ".join(_TYPE_WORDS[name] for name in names)


def _form_hint(value: Any, schema: Any) -> str | None:
    """What the schema would have in place of a value of another type, where it says so, and quotes would not do."""
    form = schema.get("x-form") if isinstance(schema, Mapping) else None
    if value is None or form is None or re.search(schema.get("pattern", "$^"), str(value)):
        return None
    return f"write {form}"


def _type_hint(value: Any, rule: Any, hidden: bool) -> str | None:
    names = [rule] if isinstance(rule, str) else list(rule)
    if value is None:
        return "give a value, or leave the key out"
    if "boolean" in names and isinstance(value, str) and value.lower() in _OLD_BOOLEANS:
        return f"write {_OLD_BOOLEANS[value.lower()]}: only true and false are booleans in YAML 1.2"
    if "array" in names and isinstance(value, str):
        return f"write [{masked(value)}]"
    if "string" in names and isinstance(value, bool | int | float):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return "write it in quotes" if hidden else f'write it in quotes: "{text}"'
    if {"integer", "number"} & set(names) and isinstance(value, str):
        return "write the number without quotes or unit"
    return None


def _not_allowed(name: str, value: Any, found: str, allowed: list[Any], at: Location | None, codes: Codes) -> Diagnostic:
    texts = [str(choice) for choice in allowed]
    hint = did_you_mean(value, texts) if isinstance(value, str) else None
    if len(allowed) == 1:
        return Diagnostic(codes.not_allowed, f"{name}: expected {texts[0]!r}, found {found}", at, hint)
    message = f"{name}: expected one of {', '.join(texts)}; found {found}"
    return Diagnostic(codes.not_allowed, message, at, hint)


def _length_words(error: _Error) -> str | None:
    if error.validator == "minLength":
        return "a text that is not empty" if error.validator_value == 1 else f"{error.validator_value} characters"
    return f"at most {error.validator_value} characters" if error.validator == "maxLength" else None


def _repeats(name: str, path: Path, values: Sequence[Any], subject: _Subject) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for index, value in enumerate(values):
        text = canonical_json(value)
        if text in seen:
            message = f"{name}: {found_words(value)} stands there twice"
            yield Diagnostic(subject.codes.wrong_count, message, subject.places.of_value((*path, index)))
        seen.add(text)


def _alternatives(error: _Error, subject: _Subject) -> Iterator[Diagnostic]:
    """The branch whose outer type fits speaks alone; when none or several do, the alternatives are named."""
    branches: dict[int, list[_Error]] = {}
    for inner in error.context or ():
        branches.setdefault(int(inner.schema_path[0]), []).append(inner)
    depth = len(error.absolute_path)
    fitting = [
        inners
        for _, inners in sorted(branches.items())
        if not any(inner.validator in ("type", "const") and len(inner.absolute_path) == depth for inner in inners)
    ]
    if len(fitting) == 1:
        for inner in fitting[0]:
            yield from _describe(inner, subject)
        return
    path: Path = tuple(error.absolute_path)
    titles = [str(branch.get("title", "something else")) for branch in error.validator_value]
    message = f"{path_words(path) or subject.codes.whole}: expected {' or '.join(titles)}; found {_found(error, subject)}"
    yield Diagnostic(subject.codes.wrong_type, message, subject.places.of_value(path))

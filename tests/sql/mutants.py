"""Queries to try the canonical text on, made by chance from a seed: the same seed gives the same queries.

- `grown`: queries by a small grammar that knows every place of a name (fields, keys, paths into variants, aliases with and
  without AS, columns of UNPIVOT, parameters of lambdas …), and puts words of Spark's grammar there, spelled in any case;
- `mutated`: queries of others, a few tokens inserted, left out, replaced or taken from one another, or their case changed.

Most of `grown` are queries to Spark, of `mutated` few.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reconciler.sql.lexer import Dialect, Kind, tokens_of
from reconciler.sql.words import spark_words

_GRAMMAR = Path(__file__).with_suffix(".txt")
_WORDS = ("number", "shaping word", "plain word", "inserted")
_LEAST = 6
"""So many of the first values and conditions hold no others: with these a query ends."""


def _grammar() -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in _GRAMMAR.read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            name = line[1:-1]
            found[name] = []
        elif not line.startswith("#"):
            found[name] += line.split() if name in _WORDS else [line]
    return found


def grown(seed: int, count: int) -> Iterator[str]:
    """Queries by the grammar above."""
    chance = random.Random(seed)
    grammar = {**_grammar(), "word": sorted(spark_words())}
    for _ in range(count):
        yield _Growing(chance, grammar).query()


class _Growing:
    """One query: names that were used come again, and few are most of the words of one query."""

    def __init__(self, chance: random.Random, grammar: Mapping[str, Sequence[str]]) -> None:
        self._chance = chance
        self._grammar = grammar
        kinds = ("shaping word", "shaping word", "plain word", "plain word", "word")
        self._names = [chance.choice(grammar[kind]) for kind in kinds]
        self._spells_keywords = chance.random() < 0.5

    def query(self) -> str:
        items = ", ".join(self._one("item", 2) for _ in range(self._chance.randrange(1, 4)))
        head, source, tail = (self._one(kind, 1) for kind in ("head", "source", "tail"))
        return f"{head} {items} {self._spelled('FROM')} {source} {tail}".strip()

    def _one(self, kind: str, depth: int) -> str:
        alternatives = self._grammar[kind]
        if depth < 0 and kind in ("value", "condition"):
            alternatives = alternatives[:_LEAST]
        return self._text(self._chance.choice(alternatives), depth)

    def _text(self, template: str, depth: int) -> str:
        parts: list[str] = []
        while template:
            before, brace, rest = template.partition("{")
            parts.append(" ".join(map(self._spelled, before.split(" "))) if "'" not in before else before)
            if brace:
                parts.append(self._filled(rest[0], depth))
                rest = rest[2:]
            template = rest
        return "".join(parts)

    def _filled(self, slot: str, depth: int) -> str:
        match slot:
            case "n":
                return self._case(self._chance.choice(self._names))
            case "k":
                return self._chance.choice(self._grammar["number"])
            case "o":
                return self._one("order", depth)
            case "t":
                return self._one("type", depth)
            case "e":
                return self._one("value", depth - 1)
            case "c":
                return self._one("condition", depth - 1)
        raise AssertionError(slot)

    def _spelled(self, word: str) -> str:
        return self._case(word) if self._spells_keywords else word

    def _case(self, word: str) -> str:
        return self._chance.choice((word.lower(), word.upper(), word.capitalize())) if word[:1] != "`" else word


def mutated(seed: int, count: int, queries: Sequence[str]) -> Iterator[str]:
    """Queries of others with a few tokens inserted, left out, replaced or taken from another, or spelled otherwise."""
    chance = random.Random(seed)
    inserted = _grammar()["inserted"]
    cut = [[(token.kind, token.text) for token in tokens_of(query, Dialect.QUERY)] for query in queries]
    for _ in range(count):
        tokens = list(chance.choice(cut))
        for _ in range(chance.randrange(0, 4)):
            index, which = chance.randrange(len(tokens) + 1), chance.randrange(4)
            if which == 0:
                tokens.insert(index, (Kind.WORD, chance.choice(inserted)))
            elif which == 1:
                tokens[index : index + 1] = [(Kind.WORD, chance.choice(inserted))]
            elif which == 2:
                tokens[index : index + 1] = []
            else:
                other = chance.choice(cut)
                start = chance.randrange(len(other))
                tokens[index:index] = other[start : start + chance.randrange(1, 5)]
        spells = chance.random() < 0.7
        yield " ".join(_respelled(text, chance) if spells and kind is Kind.WORD else text for kind, text in tokens)


def _respelled(word: str, chance: random.Random) -> str:
    return chance.choice((word, word.upper(), word.capitalize())) if word.isascii() and word[-1].isalnum() else word

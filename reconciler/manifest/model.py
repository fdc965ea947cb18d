"""The manifest: one pipeline's declaration as written, before names are resolved.

A manifest says what its files say and no more: names keep their spelling, queries are text, connectors are JSON. It is
what the registry stores of an applied program (definitions as written together with declared types), so that a newer
version of reconciler reads both sides with the same eyes. Locations are for messages; they take no part in equality
and are absent from what comes out of the registry.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from reconciler.diagnostics import Location
from reconciler.digest import JsonObject


class BootstrapPolicy(StrEnum):
    """What apply does with a plan that changes something (seed: modifying a pipeline, `bootstrap_policy`)."""

    AWAIT_APPROVAL = "await_approval"
    ALLOW = "allow"
    REJECT = "reject"


class ViewKind(StrEnum):
    """`CREATE VIEW`, `CREATE LOCAL VIEW`, `CREATE MATERIALIZED VIEW`."""

    PLAIN = "plain"
    LOCAL = "local"
    MATERIALIZED = "materialized"


@dataclass(frozen=True, slots=True)
class ColumnDeclaration:
    """A column of a table. `type` is canonical, as given by `sql.types` (`DECIMAL(15,2)`, `VARCHAR(44)`, `STRING`)."""

    name: str
    type: str
    nullable: bool = True
    location: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TableDeclaration:
    """`CREATE TABLE`. `sql` is the statement as written, without the final semicolon."""

    name: str
    columns: tuple[ColumnDeclaration, ...]
    primary_key: tuple[str, ...]
    materialized: bool
    append_only: bool
    sql: str
    location: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ViewDeclaration:
    """`CREATE [LOCAL | MATERIALIZED] VIEW`. `query` is the text after AS, as written; `column_names` is the optional
    list after the name; `query_location` is where the query's first character stands."""

    name: str
    kind: ViewKind
    column_names: tuple[str, ...]
    query: str
    sql: str
    location: Location | None = field(default=None, compare=False)
    query_location: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ConnectorDeclaration:
    """A connector of a table (input) or view (output), from YAML or from `WITH ('connectors' = …)`.

    `settings` is the connector's JSON object without `name`, `table` and `view`: {transport: {name, config}, format?,
    labels?, start_after?, paused?, …}, variables resolved, secrets still `${secret:NAME}`. `name` is None when the
    author gave none; `ordinal` counts the connectors of one relation from 0 in order of declaration (SQL before YAML).
    """

    relation: str
    name: str | None
    ordinal: int
    settings: JsonObject
    location: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """`metadata` and `spec` of pipeline.yaml, less what became declarations.

    `spark` holds `runtime.spark` (setting name → text); `workers` is `runtime.workers`.
    """

    name: str
    description: str = ""
    owner: str = ""
    tags: tuple[str, ...] = ()
    bootstrap_policy: BootstrapPolicy = BootstrapPolicy.AWAIT_APPROVAL
    workers: int | None = None
    spark: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One pipeline as written. Declarations stand in no particular order; `program.compile` orders them."""

    settings: Settings
    tables: tuple[TableDeclaration, ...]
    views: tuple[ViewDeclaration, ...]
    connectors: tuple[ConnectorDeclaration, ...]
    location: Location | None = field(default=None, compare=False)

"""Where outputs may write: into no warehouse (C418), and no two of them into one place (C419).

In a warehouse stand who approved what, and the tables of other pipelines. Judged when a pipeline's files are compiled:
where the address leads now, relative to the repository's root as an emission has it, links followed. What only a run can
tell (a secret in the address, a link that changes, what lies on a store) the engine judges when it writes (X755).

Two outputs in one folder or table undo each other: one that is emptied first removes the other's rows, a view with other
columns overwrites them. A topic of Kafka may have many writers. Of outputs of other pipelines in the warehouse a plan tells
(H939).

What an output has sent is known by the place that it was sent to (`outputs_by_place`), so this also says when two outputs
surely write to one (`sure_places`), and when they may (`possible_places`).
"""

from collections.abc import Iterable, Iterator, Mapping

from reconciler.base.declarations import ConnectorDeclaration
from reconciler.base.diagnostics import Diagnostic
from reconciler.base.digest import JsonObject, canonical_json
from reconciler.base.errors import RegistryError
from reconciler.base.names import fold
from reconciler.connectors.catalogue import place_text, servers, transport_of
from reconciler.connectors.transport import config_of
from reconciler.delta.opening import is_relative, with_plain_scheme
from reconciler.delta.same_places import as_written, on_this_disk
from reconciler.delta.warehouse_places import warehouse_around
from reconciler.environment.locations import written_address, written_place
from reconciler.environment.source import pipeline_names
from reconciler.environment.target import Target
from reconciler.project.program.model import Program
from reconciler.state.applied import read_snapshot


def misplaced_outputs(target: Target, connectors: Iterable[ConnectorDeclaration]) -> Iterator[Diagnostic]:
    """C418 for each output whose address leads into a warehouse."""
    for one in connectors:
        place = written_place(one.settings, target.root)
        around = warehouse_around(place, target.warehouses) if place is not None else None
        if around is not None:
            transport = one.settings["transport"]["name"]
            message = f"{transport} of {one.relation} leads into the warehouse {around}, where only reconciler may write"
            hint = "choose a folder outside every warehouse, and check where the links on its path lead"
            yield Diagnostic("C418", message, one.location, hint)


def shared_outputs(
    target: Target, outputs: Mapping[str, Iterable[ConnectorDeclaration]]
) -> Iterator[tuple[str, Diagnostic]]:
    """C419, with the pipeline that it is told of, for each output that writes where one before it does. `outputs` are the
    connectors of pipelines, by name."""
    seen: dict[str, tuple[str, ConnectorDeclaration]] = {}
    for pipeline, connectors in outputs.items():
        for one in connectors:
            place = written_place(one.settings, target.root)
            if place is None:
                continue
            keys = _keys(one.settings, on_this_disk(place))
            earlier = next((seen[key] for key in sorted(keys) if key in seen), None)
            for key in keys:
                seen.setdefault(key, (pipeline, one))
            if earlier is not None:
                yield pipeline, _shared(one, pipeline, *earlier)


def _shared(one: ConnectorDeclaration, pipeline: str, other_pipeline: str, other: ConnectorDeclaration) -> Diagnostic:
    name = other.relation if other_pipeline == pipeline else f"{other_pipeline}.{other.relation}"
    where = f" ({other.location})" if other.location is not None else ""
    return Diagnostic(
        "C419",
        f"{one.settings['transport']['name']} of {one.relation} writes where {other.settings['transport']['name']} of {name}"
        f"{where} does: one would delete or overwrite rows of the other",
        one.location,
        "give each output its own folder; to write the rows of both to one, combine them in a view (UNION ALL)",
    )


def other_writers(target: Target, program: Program, connectors: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Of these connectors (folded names) those that write where an output of another pipeline of the warehouse does, as
    applied, each with the names of these (`pipeline.view.connector`).

    Judged are the addresses alone, so that it is the same on every machine. A relative one is another place in another
    repository, so it counts where the other pipeline has its files here. Damage of others is told when they are planned.
    """
    wanted: dict[str, frozenset[str]] = {}
    for key in sorted(connectors):
        settings = program.connectors[key].settings
        address = written_address(settings)
        if address is not None:
            wanted[key] = _keys(settings, as_written(address))
    if not wanted:
        return {}
    found: dict[str, list[str]] = {}
    here = pipeline_names(target.root)
    for pipeline in target.registry.pipelines():
        if pipeline == program.name:
            continue
        for name, places in _applied_places(target, pipeline, with_relative=pipeline in here):
            for key, keys in wanted.items():
                if keys & places:
                    found.setdefault(key, []).append(f"{pipeline}.{name}")
    return {key: tuple(sorted(names, key=fold)) for key, names in found.items()}


def _applied_places(target: Target, pipeline: str, *, with_relative: bool) -> Iterator[tuple[str, frozenset[str]]]:
    """The outputs of a pipeline that write to storage, as applied, with what their places are known by."""
    try:
        glance = target.registry.glance(pipeline)
        if glance is None or glance.record is None:
            return
        program = read_snapshot(target, pipeline, glance.record).program
    except RegistryError:
        return
    for one in program.connectors.values():
        address = written_address(one.settings)
        if address is not None and (with_relative or not is_relative(address)):
            yield one.qualified_name, _keys(one.settings, as_written(address))


def sure_places(settings: JsonObject) -> frozenset[str]:
    """Texts for the place that an output writes to, the same on every machine. Two outputs that share one of these texts
    surely write to one place, by one transport. A relative address is taken for the same place whoever has the repository;
    letter case tells two places apart."""
    transport, config = settings["transport"]["name"], config_of(settings)
    address = written_address(settings)
    if address is not None:
        plain = address if is_relative(address) else with_plain_scheme(address)
        # What an escaped sign means in a path differs by who reads it.
        plain = plain.removeprefix("file://") if "%" not in plain else plain
        asked = sorted(servers(settings))
        return frozenset({f"{transport} {canonical_json([place_text(plain), asked])}"})
    topic, servers_of = config.get("topic"), config.get("bootstrap.servers")
    if topic is None or servers_of is None:
        return frozenset({f"{transport} {canonical_json(config)}"})
    # A server is one of one cluster, however many of it are named.
    named = {one.strip() for one in str(servers_of).split(",")} - {""}
    # Letter case tells two references apart, and no two servers.
    brokers = {one if "${" in one else one.lower() for one in named}
    return frozenset(f"{transport} {topic} at {broker}" for broker in brokers)


def possible_places(target: Target, settings: JsonObject) -> frozenset[str]:
    """Texts for each place that an output may write to, here and now. Two outputs that share none of these texts write to
    two places, as far as can be told: of a secret it can't be told what it hides, of a link where it will lead. A topic
    may be of any cluster."""
    place = written_place(settings, target.root)
    if place is None:
        topic = config_of(settings).get("topic")
        return frozenset({f"topic {topic}"}) if topic is not None else sure_places(settings)
    address = written_address(settings) or place
    return frozenset(as_written(address) | as_written(place) | on_this_disk(place))


def place_settings(settings: JsonObject) -> JsonObject:
    """The settings of an output that say where it writes, and no others."""
    transport = transport_of(settings)
    config = config_of(settings)
    if transport is None:
        return {"transport": settings["transport"]}
    told = {key: value for key, value in sorted(config.items()) if key in transport.address or key.endswith("endpoint")}
    return {"transport": {"name": transport.name, "config": told}}


def _keys(settings: JsonObject, places: frozenset[str]) -> frozenset[str]:
    """What a place is known by, with the server that is asked for it: a bucket of one name may be on two."""
    asked = sorted(servers(settings))
    return frozenset(" ".join([place, *asked]) if place.startswith("s3://") else place for place in places)

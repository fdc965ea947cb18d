"""What a step makes of stored views and of streams that remember: they are computed, and published in one commit each.

A view that had no rows and has none again stays as it was, and so does what reads it: no other sameness can be told without
reading rows. Which way each view follows, says `incremental_steps`.
"""

from contextlib import suppress
from dataclasses import replace

from reconciler.base.boundaries import BEFORE, EFFECTED, INTENDED
from reconciler.base.errors import EngineError
from reconciler.delta.appending import publish_added
from reconciler.delta.opening import join_location
from reconciler.delta.publishing import publish
from reconciler.delta.tables import table_version
from reconciler.delta.transactions import has_commit_after
from reconciler.engine.protocol import Built, RowChanges, Transaction
from reconciler.engine.sources import Source
from reconciler.incremental.model import Way
from reconciler.materialize.apply_effects import remove, staging_folder
from reconciler.materialize.changed_sources import StepChanges
from reconciler.materialize.commit_origins import versions_read
from reconciler.materialize.incremental_steps import bring_up_to_date
from reconciler.materialize.late_letters import add_letters
from reconciler.materialize.small_files import put_together
from reconciler.materialize.step_progress import StepProgress
from reconciler.materialize.stream_steps import Places, go_on
from reconciler.materialize.view_builds import view_build
from reconciler.materialize.view_steps import Around
from reconciler.materialize.withdrawing import view_transaction
from reconciler.project.program.model import View
from reconciler.query.reading import require_foreign
from reconciler.registry.placements import foreign_placements
from reconciler.state.folders import dead_letters_location


class ViewEffects:
    """See the module."""

    def __init__(self, step: StepProgress) -> None:
        self._step = step

    def compute(self, key: str) -> None:
        """Compute a view, or have it follow what changed, and publish it."""
        view, step = self._step.program.views[key], self._step.number
        location = self._step.location_of(self._step.placements[key])
        staging = staging_folder(self._step.program.name, "step", str(step), key)
        build = view_build(self._step.program, view, self._step.place_now, join_location(location, staging))
        require_foreign(build.sources, self._step.foreign)
        self._step.boundary(f"view:{BEFORE}")
        self._step.check()
        started = self._step.clock()
        brought = bring_up_to_date(self._step.engine, self._step.program, view, self._around(location), build, step)
        self._step.seconds["views"] += self._step.clock() - started
        self._step.boundary(f"view:{INTENDED}")
        self._step.check()
        self._step.ways[view.name] = brought.way.value
        before, built = self._step.placements[key], brought.built
        self._step.placements[key] = placement = replace(before, state=brought.state)
        if brought.beside is not None:
            self._let_go(join_location(location, brought.beside))
        if brought.added is not None or brought.changed is not None:
            if brought.added is not None:
                is_done = self._add_rows(key, brought.added, built, build.sources, after=placement.version)
            else:
                assert brought.changed is not None
                is_done = self._change_rows(key, brought.changed, built, build.sources)
            if is_done:
                self._note(location, view)
                return
            self._step.ways[view.name] = Way.GIVEN_UP.value
            self._step.check()
            built = self._step.engine.build_view(build)
        self._note(location, view)
        if built.rows == 0 and placement.rows == 0 and built.columns == placement.columns:
            self._let_go(build.staging)
            return
        started = self._step.clock()
        commit = {**self._step.said, "inputs": versions_read(build.sources)}
        # Mostly nobody but this pipeline has written it.
        is_ours = not has_commit_after(location, placement.version)
        expected = placement.version if is_ours else table_version(location)
        version = publish(location, staging, expected, view_transaction(step), commit=commit)
        self._step.seconds["publish"] += self._step.clock() - started
        self._step.boundary(f"view:{EFFECTED}")
        self._step.placements[key] = replace(
            placement,
            version=version,
            rows=built.rows,
            bytes=built.bytes,
            columns=built.columns,
            failed_calls=built.failed_calls,
        )
        self._tell_of(view.name, built)
        self._step.changed.add(key)

    def _note(self, location: str, view: View) -> None:
        """Remember whether a view could follow, for the steps to come."""
        way = self._step.ways[view.name]
        if way in (Way.CHANGES, Way.ADDED, Way.GIVEN_UP):
            self._step.given_up.note((location, view.query), gave_up=way == Way.GIVEN_UP)

    def _around(self, location: str) -> Around:
        foreign = foreign_placements(self._step.foreign)
        before, now = {**self._step.before, **foreign}, {**self._step.placements, **foreign}
        places = self._step.place_before, self._step.place_now
        changes = StepChanges(before, now, *places, self._step.added, self._step.looked_up)
        step = self._step
        return Around(location, changes, step.choice, step.given_up, lambda: step.boundary(f"kept:{EFFECTED}"), step.check)

    def go_on(self, key: str) -> None:
        """A stream goes on: it gives rows beside those that it gave before."""
        view, placement, step = self._step.program.views[key], self._step.placements[key], self._step.number
        location = self._step.location_of(placement)
        letters = dead_letters_location(self._step.target, self._step.program.name)
        places = Places(location, self._step.place_before, self._step.place_now, self._step.added, letters)
        self._step.boundary(f"view:{BEFORE}")
        self._step.check()
        started = self._step.clock()
        done = go_on(self._step.engine, self._step.program, view, places, placement.state, step)
        self._step.seconds["views"] += self._step.clock() - started
        self._step.boundary(f"view:{INTENDED}")
        self._step.check()
        if done.lost:
            self._step.lost.append(view.name)
        if done.state.keys is not None and done.state.keys.step == step:
            self._step.keys[view.name] = done.state.keys
        self._step.placements[key] = replace(placement, state=done.state, failed_calls=done.built.failed_calls)
        if done.late:
            self._step.late[view.name] = done.late
        if done.letters is not None:
            add_letters(letters, done.letters, view.name, step)
            self._step.boundary(f"letters:{EFFECTED}")
        self._tell_of(view.name, done.built)
        self._add_rows(key, done.folder, done.built, done.output.sources)

    def _add_rows(
        self, key: str, folder: str, built: Built, sources: tuple[Source, ...], *, after: int | None = None
    ) -> bool:
        """Add rows that are staged to those that a view or stream has. False: it stands at another version than `after`."""
        placement = self._step.placements[key]
        location = self._step.location_of(placement)
        if built.rows == 0:
            self._let_go(join_location(location, folder))
            return True
        started = self._step.clock()
        transaction = view_transaction(self._step.number)
        commit = {**self._step.said, "inputs": versions_read(sources)}
        version = publish_added(location, folder, transaction, commit, after=after)
        self._step.seconds["publish"] += self._step.clock() - started
        if version is None:
            self._let_go(join_location(location, folder))
            return False
        self._go_to(key, version, transaction)
        return True

    def _change_rows(self, key: str, folder: str, built: Built, sources: tuple[Source, ...]) -> bool:
        """Bring staged rows to a view and take others out. False: it is to be computed from its query."""
        placement = self._step.placements[key]
        location = self._step.location_of(placement)
        staging = join_location(location, folder)
        if built.rows == 0:
            self._let_go(staging)
            return True
        started = self._step.clock()
        transaction = view_transaction(self._step.number)
        commit = {**self._step.said, "inputs": versions_read(sources)}
        version = self._step.engine.change_rows(RowChanges(location, placement.version, staging, transaction, commit))
        self._step.seconds["publish"] += self._step.clock() - started
        self._let_go(staging)
        if version is None:
            return False
        self._go_to(key, version, transaction)
        return True

    def _go_to(self, key: str, version: int, transaction: Transaction) -> None:
        """A view stands at a version to which rows came, or from which some went."""
        placement, started = self._step.placements[key], self._step.clock()
        self._step.added.setdefault(key, []).append((placement.version, version))
        found = put_together(self._step, placement, version, transaction)
        self._step.seconds["publish"] += self._step.clock() - started
        self._step.boundary(f"view:{EFFECTED}")
        rows, size = (found.rows, found.bytes) if found else (None, None)
        self._step.placements[key] = replace(placement, version=found.version if found else version, rows=rows, bytes=size)
        self._step.changed.add(key)

    def _let_go(self, staging: str) -> None:
        with suppress(EngineError):  # on an object store; a prune removes it
            remove(self._step.engine, staging)

    def _tell_of(self, name: str, built: Built) -> None:
        if built.without_spark:
            self._step.without_spark.add(name)
        if built.failed_calls:
            self._step.failed_calls[name] = built.failed_calls

"""The processes of the server's that apply, run and clear pipelines: how they are begun, where they write what they say, and
why one ended that should not have."""

import json
import os
from pathlib import Path
from typing import Any

from reconciler.environment.target import Target
from reconciler.rest.access import asking
from reconciler.rest.errors import Told
from reconciler.rest.work import WORK, told_in
from reconciler.server.asking import Working, ask
from reconciler.server.places import Place


class PipelineProcesses:
    """See the module. `logs` is the folder for what they say."""

    def __init__(self, target: Target, place: Place, logs: Path) -> None:
        self._target, self._place, self._logs = target, place, logs

    def start(self, pipeline: str) -> Working:
        """Begin the process that applies and runs a pipeline, which waits for its turn. Raises ReconcileError (U862)."""
        return self.begin("deploy", pipeline, tells=True, turns=str(self._logs))

    def begin(self, what: str, pipeline: str, **more: Any) -> Working:
        """Begin a process, whose words go to the pipeline's log. Raises ReconcileError (U862)."""
        self._logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        environment = self._target.environment.name
        known = {"root": str(self._target.root), "environment": environment, "pipeline": pipeline}
        asked = {**known, "caller": asking.get(), **more}
        output = os.open(self.log_of(pipeline), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        told = os.open(self._errors_of(pipeline), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            return ask(self._place, self._target.root, [WORK, what, json.dumps(asked)], output, told)
        finally:
            os.close(output)
            os.close(told)

    def log_of(self, pipeline: str) -> Path:
        """What the processes of a pipeline said."""
        return self._logs / f"{pipeline}.log"

    def told_by(self, pipeline: str, code: int | None) -> Told:
        """Why a process ended that should not have; `code` is its exit code, as `Working.wait` gives it."""
        text = self._errors_of(pipeline).read_text(encoding="utf-8", errors="replace")
        told = told_in(text.rstrip("\n").rpartition("\n")[2])
        if told is not None:
            return told
        how = "was killed" if code is None or code > 128 else f"ended with code {code}"
        return Told(
            500, "ProcessEnded", f"the process of pipeline {pipeline} {how}; starting it again finishes what it began"
        )

    def _errors_of(self, pipeline: str) -> Path:
        return self._logs / f"{pipeline}.errors"

"""Settings through the registry's form and back; records from before a setting existed mean its default."""

from dataclasses import replace

from reconciler.base.declarations import Settings
from reconciler.project.program.model import Program
from reconciler.project.snapshot.codec import decode_program, encode_program

PLAIN = Settings("shop")
FULL = replace(PLAIN, workers=8, memory="4g", driver_memory="2g", checkpoint_interval_seconds=300)


def _program(settings: Settings) -> Program:
    return Program(settings, {}, {}, {})


def test_what_a_pipeline_may_use_comes_back_as_it_was() -> None:
    assert decode_program(encode_program(_program(FULL))).settings == FULL


def test_defaults_are_not_stored() -> None:
    (stored,) = encode_program(_program(PLAIN))

    assert not {"memory", "driver_memory", "checkpoint_interval_seconds"} & stored["definition"].keys()
    assert decode_program([stored]).settings == PLAIN
    assert PLAIN.checkpoint_interval_seconds == 60

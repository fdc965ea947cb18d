"""Requests that were read: how far a pipeline has read those of a table, and their files, which nobody needs any more."""

from reconciler.engine.http_requests import remove_read
from reconciler.environment.target import Target
from reconciler.registry.model import Head
from reconciler.rest.descriptions import HTTP_CONNECTOR, folder_of_requests


def position_of(head: Head, table: str) -> int:
    """The number of the first request of a table that no published step has read."""
    return int(head.positions.get(f"{table}.{HTTP_CONNECTOR}", {}).get("next", 1))


def remove_read_of(target: Target, pipeline: str) -> None:
    """Remove the files of requests that published steps of a pipeline have read."""
    stored = target.registry.head(pipeline)
    for key in stored.value.positions if stored is not None else ():
        table, _, connector = key.partition(".")
        if stored is not None and connector == HTTP_CONNECTOR:
            remove_read(folder_of_requests(target, pipeline, table), position_of(stored.value, table))

"""What worker processes of the tests run instead of a model; kept apart, so that they start without torch."""

import os
from multiprocessing.connection import Connection


def cannot_load(connection: Connection, *_: object) -> None:
    connection.send(("error", ("no model of that name", False)))


def dies_at_once(connection: Connection, *_: object) -> None:
    os._exit(9)


def dies_at_work(connection: Connection, *_: object) -> None:
    """Be ready, and die at the first share."""
    connection.send(("ready", "float32"))
    connection.recv()
    os._exit(9)

"""The home of a pipeline: where its project stands on the base branch, as an apply recorded it. It is a module of its
own, so that a glance at a head can tell it without the rest of the model."""

from reconciler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Home:
    """Where the project of a pipeline stands on the base branch: its folder in the repository (empty: the top), and the name
    of the environment there. `branches` and `first_apply` are what that asked for when it was recorded, in case that it
    can't be found there any more; `first_apply`: even a first apply needs an approval. `base` is the default branch of
    origin (empty: there was none), for copies that can't tell."""

    folder: str
    environment: str
    branches: tuple[str, ...] = ()
    first_apply: bool = False
    base: str = ""

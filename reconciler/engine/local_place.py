"""A folder on a disk that `file_output` writes to: renaming a folder is one act there, and fails where a folder stands that
holds anything.

That act settles whose folder of an emission counts: each writer has a hidden one (`.<serial>-<id>-<writer>`) until then, so
a reader sees complete ones only.
"""

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reconciler.base.digest import canonical_json
from reconciler.base.errors import EngineError
from reconciler.delta.opening import path_of
from reconciler.engine.file_place import HINT, MARKER, FilePlace, Kept


class LocalPlace(FilePlace):
    """A folder on a disk. See the module."""

    def done(self, name: str) -> Kept | None:
        """What is kept of an emission that is complete; None where it is to be written."""
        kept = self.marker(name)
        if kept is not None:
            self.require_a_repeat(name, kept)
        return kept

    def own_folder(self, name: str) -> str:
        """Where to write an emission, until it is known that it counts."""
        return f".{name}-{uuid.uuid4().hex[:8]}"

    def reveal(self, own: str, name: str, kept: Kept) -> Kept | None:
        """Have what was written count. Where somebody was before, that stays, and what is kept of it is returned. Raises
        AnotherEmission where that is no repeat."""
        folder = path_of(self._path)
        assert folder is not None
        names = self._names()
        others = self.marker(name)
        if others is None:
            # A later emission may have emptied away what a successor wrote of this one: what was written here is over.
            self.require_nothing_later(name, names)
            with self._told_by_the_disk(folder / own):
                (folder / own / MARKER).write_text(canonical_json(kept.told()), "utf-8")
            if self._emission.replaces:
                self._empty_before(name, name)
            self._check()
            if not self._is_renamed(folder / own, folder / name):
                others = self.marker(name)
                if others is None:
                    # What a version left that renamed in many acts.
                    self._delete(name)
                    if not self._is_renamed(folder / own, folder / name):
                        raise EngineError("X700", f"{self._path}/{own} could not be renamed to {name}", HINT)
        if others is not None:
            self._delete(own)
            self.require_a_repeat(name, others)
            return others
        self._drop_hidden(name, names)
        return None

    def _names(self) -> list[str]:
        folder = path_of(self._path)
        assert folder is not None
        try:
            return os.listdir(folder)
        except FileNotFoundError:
            return []

    def _text(self, name: str) -> str | None:
        folder = path_of(self._path)
        assert folder is not None
        with self._told_by_the_disk(folder / name):
            try:
                return (folder / name).read_text("utf-8", "replace")
            except (FileNotFoundError, NotADirectoryError):
                return None

    def _delete(self, name: str) -> None:
        folder = path_of(self._path)
        assert folder is not None
        if (folder / name).is_dir() and not (folder / name).is_symlink():
            shutil.rmtree(folder / name, ignore_errors=True)
        else:
            with suppress(OSError):
                (folder / name).unlink()

    def _is_renamed(self, folder: Path, to: Path) -> bool:
        """Whether it could be; if not, another folder stands there that holds something."""
        with self._told_by_the_disk(to):
            try:
                folder.rename(to)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                return False
        return True

    @contextmanager
    def _told_by_the_disk(self, path: Path) -> Iterator[None]:
        """What the system refuses is this output's failure alone: the others go on."""
        try:
            yield
        except OSError as error:
            # As Hadoop's file systems tell it of a store.
            code = "X709" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "X700"
            hint = HINT if error.errno == errno.ENOENT else None
            message = f"connector {self._emission.connector}: {path}: {error.strerror}"
            raise EngineError(code, message, hint) from error

"""The git repository that a folder is in, as its objects say, and as nothing else has it.

What git shows may be other than what was committed: replacements and grafts give commits other contents and parents, filters
and attributes make files equal that differ, the index may be told to overlook, variables and settings lead elsewhere or run
something. So here:

- Git runs with none of the caller's `GIT_*` variables, without replacements, grafts and commit graphs; it fetches nothing,
  and no setting of the repository makes it start anything. It is asked for objects, references and logs only: neither index
  nor work tree has a say, and whether a file is that of a commit, the caller tells by its bytes.
- The repository is that of the nearest folder with `.git`, wherever variables or `core.worktree` point.
- A commit, tree or file is named by the digest of its bytes: each that is read is held against its name.
- A reference is known by its whole name: no tag stands for a branch.

What is trusted is `.git` as far as it says where a branch is: who may write there may move the branch as well.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from hashlib import sha1, sha256
from pathlib import Path
from typing import IO, Final, Self

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import ReconcileError

ORIGIN: Final = "refs/remotes/origin/"
LOCAL: Final = "refs/heads/"
PLAIN_FILES: Final = ("100644", "100755")
MAXIMUM_FILE: Final = 4 * 1024 * 1024

_FOLDER: Final = "40000"
_CHUNK: Final = 1024 * 1024
_VARIABLES: Final = {
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C",
}
_SETTINGS: Final = (
    "core.commitGraph=false",
    "core.useReplaceRefs=false",
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.pager=cat",
    "log.showSignature=false",
    "log.mailmap=false",
    "log.follow=false",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """What a tree says of one name: its mode as git writes it, and the id of the object."""

    mode: str
    id: str


class Repository:
    """See the module. Used in a `with` statement, because a process of git answers until then."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self._objects: subprocess.Popen[bytes] | None = None
        self._entries: dict[str, dict[str, Entry]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._objects is not None:
            for pipe in (self._objects.stdin, self._objects.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            self._objects.wait()

    @cached_property
    def head(self) -> str | None:
        """The commit that is checked out; None where the branch that is checked out has none yet."""
        found = self._ask("show-ref", "--verify", "--hash", "HEAD", refusals=(1, 128))
        if found is None and self._ask("symbolic-ref", "--quiet", "HEAD", refusals=(1,)) is None:
            raise _unreadable("HEAD is neither a commit nor a branch")
        return found

    @cached_property
    def checked_out(self) -> str | None:
        """The name of the branch that is checked out, be it without a commit yet; None where none is."""
        found = self._ask("symbolic-ref", "--quiet", "HEAD", refusals=(1,))
        return None if found is None else found.removeprefix(LOCAL)

    @property
    def has_no_commit(self) -> bool:
        """Whether nothing was ever committed: a branch without commits beside others that have some is not that."""
        return not self.branches and self.head is None

    @cached_property
    def branches(self) -> Mapping[str, str]:
        """The commits of the branches here and of origin, by the whole names of references."""
        return {name: commit for name, commit, _ in self._references}

    def pointed_at(self, reference: str) -> str | None:
        """The reference that a symbolic one names."""
        return next((target for name, _, target in self._references if name == reference and target), None)

    @cached_property
    def _references(self) -> tuple[tuple[str, str, str], ...]:
        form = "--format=%(refname) %(objectname) %(symref)"
        lines = (self._ask("for-each-ref", form, LOCAL, ORIGIN) or "").split("\n")
        return tuple((name, commit, target) for name, commit, target in (line.split(" ") for line in lines if line))

    @cached_property
    def has_origin(self) -> bool:
        """Where there is an origin, it says what is merged: a local branch may be ahead of it."""
        return self._ask("config", "--get-regexp", r"^remote\.origin\.", refusals=(1,)) is not None

    def branch(self, name: str) -> str | None:
        """The commit that a branch stands for: origin's, if there is an origin, else the one here."""
        return self.branches.get((ORIGIN if self.has_origin else LOCAL) + name)

    def is_ancestor(self, earlier: str, later: str) -> bool:
        """Whether a commit is the other one, or came before it. False where that can't be told."""
        return earlier == later or self._ask("merge-base", "--is-ancestor", earlier, later, refusals=(1, 128)) is not None

    def has_commit(self, commit: str) -> bool:
        """Whether that commit is in this copy."""
        asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
        return self._ask(*asked, refusals=(1, 128)) is not None

    def is_on_first_parents(self, commit: str, tip: str) -> bool:
        """Whether a commit is the tip, or one comes to it from there by first parents alone. False where this copy does not
        have all of that."""
        after = self._ask("rev-list", "--first-parent", tip, f"^{commit}", "--", refusals=(128,))
        if after is None:
            return False
        return commit == (self._first_parent(after.rpartition("\n")[2]) if after else tip)

    def _first_parent(self, commit: str) -> str | None:
        """The first parent that a commit itself names, be it here or not."""
        header = (self._read(commit, b"commit") or b"").partition(b"\n\n")[0]
        return next((line[7:].decode("ascii") for line in header.split(b"\n") if line.startswith(b"parent ")), None)

    @cached_property
    def cut_commits(self) -> frozenset[str]:
        """The commits whose parents this copy leaves out: it is shallow where there are any."""
        kept = Path(self.top, self._ask("rev-parse", "--git-path", "shallow") or "shallow")
        try:
            return frozenset(kept.read_text("ascii").split())
        except FileNotFoundError:
            return frozenset()
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable(f"{kept}: {error}") from error

    def commits_in(self, *revisions: str) -> frozenset[str] | None:
        """The commits that `git rev-list` finds; None where it does not know what they are looked for from."""
        found = self._ask("rev-list", *revisions, "--", refusals=(128,))
        return None if found is None else frozenset(found.split())

    def setting(self, name: str) -> str | None:
        """The value of one of git's settings."""
        return self._ask("config", "--get", name, refusals=(1,))

    def log(self, *arguments: str) -> str | None:
        """What `git log` says; None where it does not know the commits."""
        return self._ask("log", *arguments, refusals=(128,))

    def entry(self, commit: str, path: str) -> Entry | None:
        """What a commit has at a path (empty: its whole tree); None when there is nothing."""
        found = Entry(_FOLDER, self._tree_of(commit))
        for part in filter(None, path.split("/")):
            if found.mode != _FOLDER:
                return None
            known = self._tree(found.id).get(part)
            if known is None:
                return None
            found = known
        return found

    def entries_below(self, commit: str, folder: str) -> Iterator[tuple[str, Entry]]:
        """Everything below a folder of a commit that is no folder itself, by its path from there. What is a link, or another
        repository, in place of a folder has nothing below it and is given as itself, by the empty path."""
        found = self.entry(commit, folder)
        if found is not None:
            yield from self._walk(found, "")

    def _walk(self, entry: Entry, path: str) -> Iterator[tuple[str, Entry]]:
        if entry.mode != _FOLDER:
            yield path, entry
            return
        for name, below in self._tree(entry.id).items():
            yield from self._walk(below, f"{path}/{name}" if path else name)

    def parents(self, commit: str) -> tuple[str, ...]:
        """The commits that a commit comes from; none for a first one, and for one behind which a copy is cut off."""
        if commit in self.cut_commits:
            return ()
        header = (self._read(commit, b"commit") or b"").partition(b"\n\n")[0]
        return tuple(line[7:].decode("ascii") for line in header.split(b"\n") if line.startswith(b"parent "))

    def differences(self, earlier: str, later: str) -> Iterator[tuple[str, Entry | None, Entry | None]]:
        """The paths below which two commits have another thing, with what each has there; None for nothing."""
        before, after = (Entry(_FOLDER, self._tree_of(commit)) for commit in (earlier, later))
        return self._differences(before, after, "")

    def _differences(
        self, before: Entry | None, after: Entry | None, path: str
    ) -> Iterator[tuple[str, Entry | None, Entry | None]]:
        if before == after:
            return
        folders = [one is not None and one.mode == _FOLDER for one in (before, after)]
        if not any(folders):
            yield path, before, after
            return
        trees = [self._tree(one.id) if one is not None and one.mode == _FOLDER else {} for one in (before, after)]
        # A file in whose place a folder stands, or the other way round.
        plain = [None if is_folder else one for one, is_folder in zip((before, after), folders, strict=True)]
        if any(plain):
            yield path, plain[0], plain[1]
        for name in sorted({*trees[0], *trees[1]}):
            below = f"{path}/{name}" if path else name
            yield from self._differences(trees[0].get(name), trees[1].get(name), below)

    def content(self, entry: Entry) -> bytes | None:
        """The bytes of a file; None for one that is too large to say anything."""
        return self._read(entry.id, b"blob")

    def _tree_of(self, commit: str) -> str:
        content = self._read(commit, b"commit") or b""
        word, _, tree = content.partition(b"\n")[0].partition(b" ")
        if word != b"tree":
            raise _unreadable(f"commit {commit[:12]} has no tree")
        return tree.decode("ascii")

    def _tree(self, tree: str) -> dict[str, Entry]:
        known = self._entries.get(tree)
        if known is not None:
            return known
        content, size, found, at = self._read(tree, b"tree") or b"", len(tree) // 2, {}, 0
        while at < len(content):
            blank, end = content.index(b" ", at), content.index(b"\0", at)
            name = content[blank + 1 : end].decode("utf-8", "surrogateescape")
            found[name] = Entry(content[at:blank].decode("ascii"), content[end + 1 : end + 1 + size].hex())
            at = end + 1 + size
        self._entries[tree] = found
        return found

    def _read(self, name: str, kind: bytes) -> bytes | None:
        """The content of an object, which is held against its name; None for one that is too large."""
        if self._objects is None:
            self._objects = self._start("cat-file", "--batch")
        process = self._objects
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{name}\n".encode())
            process.stdin.flush()
            header = process.stdout.readline().split()
        except OSError:
            header = []
        if len(header) != 3 or header[1] != kind:
            raise _unreadable(f"there is no {kind.decode()} {name[:12]}")
        content, digest = _take(process.stdout, int(header[2]), b"%s %d\0" % (kind, int(header[2])), len(name))
        if digest != name:
            raise _unreadable(f"{kind.decode()} {name[:12]} is damaged: its content has the digest {digest[:12]}")
        return content

    def _ask(self, *arguments: str, refusals: tuple[int, ...] = ()) -> str | None:
        """What git says; None where it ends with one of these codes, by which it says no."""
        process = self._start(*arguments)
        out, problem = process.communicate()
        if process.returncode != 0:
            if process.returncode in refusals and b"dubious ownership" not in problem:
                return None
            raise _unreadable(problem.decode("utf-8", "replace").strip() or f"git {arguments[0]} failed")
        return out.decode("utf-8", "replace").removesuffix("\n")

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        settings = (word for setting in _SETTINGS for word in ("-c", setting))
        variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        variables |= _VARIABLES | {"GIT_CEILING_DIRECTORIES": str(self.top.parent)}
        # What answers for long is asked through a pipe, and nobody reads what it complains of meanwhile.
        asked, told = (subprocess.DEVNULL, subprocess.PIPE)
        if arguments[0] == "cat-file":
            asked, told = told, asked
        command = ("git", "-C", str(self.top), *settings, *arguments)
        try:
            return subprocess.Popen(command, env=variables, stdin=asked, stdout=subprocess.PIPE, stderr=told)
        except OSError as error:
            raise _unreadable(str(error)) from error


def open_repository(root: Path) -> Repository | None:
    """The git repository that a folder is in; None outside of git."""
    resolved = root.resolve()
    top = next((folder for folder in (resolved, *resolved.parents) if os.path.lexists(folder / ".git")), None)
    return Repository(top) if top is not None else None


def blob_id(content: bytes, like: str) -> str:
    """The id that git gives a file of these bytes, by the digest of which `like` is one."""
    return _digest(b"blob %d\0" % len(content), len(like), content)


def _take(stream: IO[bytes], size: int, header: bytes, length: int) -> tuple[bytes | None, str]:
    """So many bytes of a stream, and the digest of the object that they are; no bytes of one that is too large."""
    digest, parts, left = sha256(header) if length == 64 else sha1(header, usedforsecurity=False), [], size
    while left:
        part = stream.read(min(left, _CHUNK))
        if not part:
            raise _unreadable("git ended")
        digest.update(part)
        if size <= MAXIMUM_FILE:
            parts.append(part)
        left -= len(part)
    stream.read(1)
    return (b"".join(parts) if size <= MAXIMUM_FILE else None), digest.hexdigest()


def _digest(header: bytes, length: int, content: bytes) -> str:
    digest = sha256(header) if length == 64 else sha1(header, usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()


def _unreadable(why: str) -> ReconcileError:
    return ReconcileError("A581", f"git can't tell what was committed: {why}", "check the repository: git fsck")

"""Writes a file completely or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
RANDOM = re.compile(r"[0-9a-f]{16}\.part")
LONGEST = 200  # bytes of the file's name in the name of its part folder; file systems allow 255 in all
UNFINISHED: set[Path] = set()  # the part folders that this process is writing to
OF_RUST = re.compile(r"\(os error ([0-9]+)\)")  # safetensors gives the system's error number only in its message


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path to write to, and rename that file to `path` at the end. An error leaves `path` unchanged.

    A symbolic link is followed. A device or a pipe is written to, not replaced. A replaced file keeps its mode and, if
    the system allows it, its owner. A new file gets the mode of the umask.
    """
    target, old = followed(path)
    replaced = old is None or stat.S_ISREG(old.st_mode)
    folder, lock = part_folder(path, target, replaced)
    part = folder / target.name
    UNFINISHED.add(folder)
    try:
        part.touch()
        mode = part.stat().st_mode  # reveals the umask; os.umask would change it for other threads
        yield part
        if replaced:
            put_in_place(part, target, mode, old)
        else:
            with part.open("rb") as file, target.open("wb") as out:
                shutil.copyfileobj(file, out)
    except Exception as error:
        if number := of_writing(error, folder):
            raise OSError(number, os.strerror(number), os.fspath(path)) from None
        raise
    finally:
        removed(folder)
        UNFINISHED.discard(folder)
        os.close(lock)


def removed(folder: Path) -> None:
    """Remove a part folder and its files. (An interrupted shutil.rmtree may close a file twice.)"""
    with suppress(OSError):
        for file in [*folder.iterdir()]:
            file.unlink()
        folder.rmdir()


def abandon() -> None:
    """Remove unfinished files, because the process is about to end."""
    for folder in [*UNFINISHED]:
        removed(folder)


def expect_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError now if `whole_file` would fail to write there later. Changes nothing and opens no pipe."""
    target, old = followed(path)
    if old is not None and stat.S_ISREG(old.st_mode):
        os.close(os.open(target, os.O_WRONLY | os.O_CLOEXEC))
    elif old is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    folder, lock = part_folder(path, target, old is None or stat.S_ISREG(old.st_mode))
    folder.rmdir()
    os.close(lock)


def expect_folder(path: str | os.PathLike[str]) -> None:
    """Raise OSError now if no file could be made in a folder later, or the folder could not be made."""
    folder = Path(os.path.realpath(path))
    while not os.path.lexists(folder):
        folder = folder.parent
    expect_writable(folder / secrets.token_hex(8))


def identity(path: str | os.PathLike[str] | int) -> tuple[object, ...] | None:
    """A value that is equal for two paths of the same file. None for a device, a pipe or a closed descriptor."""
    try:
        known = os.stat(path)  # noqa: PTH116, a descriptor has no Path
    except OSError:
        return None if isinstance(path, int) else (os.path.realpath(path),)
    return (known.st_dev, known.st_ino) if stat.S_ISREG(known.st_mode) else None


def followed(path: str | os.PathLike[str]) -> tuple[Path, os.stat_result | None]:
    """The file that a path leads to, and its status; raises OSError if it cannot be written."""
    try:
        old = Path(path).stat()
    except FileNotFoundError:
        old = None
    except NotADirectoryError:
        raise no_folder(path, Path(path)) from None
    except OSError as error:
        problem = "a loop of symbolic links" if error.errno == errno.ELOOP else error.strerror
        raise OSError(error.errno, problem, os.fspath(path)) from None
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, "a folder, not a file", os.fspath(path))
    if old is not None and not stat.S_ISREG(old.st_mode):
        return Path(path), old  # a pipe behind /dev/stdout has no other name
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise no_folder(path, target if Path(path).is_symlink() else Path(path))
    return target, old


def no_folder(path: str | os.PathLike[str], target: Path) -> OSError:
    return FileNotFoundError(errno.ENOENT, f"there is no folder {target.parent}", os.fspath(path))


# ---- part folders


def part_folder(path: str | os.PathLike[str], target: Path, replaced: bool) -> tuple[Path, int]:
    """Make a folder in which to write the target, and lock it. Returns the folder and the locked descriptor.

    The folder is beside a target that will be replaced. The system frees the lock when the process ends, however it
    ends. So an unlocked folder is left over from a killed process, and is removed here. It is a folder rather than a
    file because libraries such as safetensors make temporary files beside the file that they write.
    """
    beside = target.parent if replaced else Path(tempfile.gettempdir())
    begin = f".{os.fsdecode(os.fsencode(target.name)[:LONGEST])}."
    remove_left(beside, begin)
    while True:
        folder = beside / f"{begin}{secrets.token_hex(8)}.part"
        try:
            folder.mkdir(0o700)
        except OSError as error:
            where = path if replaced else beside
            raise OSError(error.errno, error.strerror, os.fspath(where)) from None
        with suppress(FileNotFoundError):  # another process locked it first, and removed it as left over
            lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            with suppress(OSError):  # a file system without locks; left-over folders then stay
                fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def remove_left(folder: Path, begin: str) -> None:
    """Remove the part folders that killed processes left over."""
    names: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        names = [one.name for one in entries if one.name.startswith(begin)]
    for name in names:
        if RANDOM.fullmatch(name[len(begin) :]):
            with suppress(OSError):
                remove_unlocked(folder / name)


def remove_unlocked(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(lock)


def put_in_place(part: Path, target: Path, mode: int, old: os.stat_result | None) -> None:
    """Rename a finished file to its target, with the mode and owner of the file that it replaces."""
    with suppress(FileNotFoundError):
        old = target.stat()
    if old is not None:
        mode, made = old.st_mode, part.stat()
        if (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
            with suppress(OSError):  # only root may change the owner; the group may be one of the user's
                os.chown(part, -1, old.st_gid)
                os.chown(part, old.st_uid, -1)
    part.chmod(stat.S_IMODE(mode))
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(target)
    with suppress(OSError):  # the rename is done; some systems cannot flush a folder
        beside = os.open(target.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(beside)
        finally:
            os.close(beside)


def of_writing(error: Exception, folder: Path) -> int | None:
    """The number of a system error from writing the part file; None for any other error."""
    if isinstance(error, OSError):
        ours = error.filename is not None and folder in Path(os.fsdecode(error.filename)).parents
        return error.errno if ours or error.errno in NO_ROOM else None
    found = OF_RUST.search(str(error))
    return int(found[1]) if found else None

"""Files are replaced as a whole or not at all: modes, links, full disks, killed processes."""

import errno
import os
import resource
import signal
import stat
import threading
import traceback

import pytest

import seriatim
from seriatim import PA, files
from seriatim.files import whole_file


def text(path, words):
    with whole_file(path) as part:
        part.write_text(words)


def in_child(function):
    """Run a function in a forked process. Returns its exit status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        function()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_replaced_file_keeps_its_mode_and_owner(tmp_path):
    for number in (0o600, 0o640, 0o664, 0o444):
        path = tmp_path / f"{number:o}"
        path.write_text("old")
        path.chmod(number)
        if os.geteuid() == 0:
            os.chown(path, 12345, 54321)
        before = path.stat()
        text(path, "new")
        assert path.stat().st_ino != before.st_ino
        PA().save(path)
        after = path.stat()
        assert mode(path) == number
        assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


def test_a_new_file_follows_the_umask_without_setting_it(tmp_path, monkeypatch):
    for mask, expected in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
        before = os.umask(mask)
        try:
            with monkeypatch.context() as patch:
                patch.setattr(os, "umask", None)  # another thread might make a file at this time
                text(tmp_path / f"{mask:o}", "new")
                PA().save(tmp_path / f"m{mask:o}")
        finally:
            os.umask(before)
        assert mode(tmp_path / f"{mask:o}") == mode(tmp_path / f"m{mask:o}") == expected


def test_while_it_is_written_nobody_else_can_read_it(tmp_path):
    with whole_file(tmp_path / "secret") as part:
        part.write_text("secret")
        assert mode(part.parent) == 0o700


def test_names_that_cannot_be_written(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_text("precious")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.iterdir())
    wrong = {
        "loop": "a loop of symbolic links",
        "file/below": "there is no folder",
        "absent/below": "there is no folder",
        "folder": "a folder, not a file",
        "x" * 256: "File name too long",
    }
    for name, words in wrong.items():
        for write in (files.expect_writable, lambda path: text(path, "new")):
            with pytest.raises(OSError, match=words) as caught:
                write(tmp_path / name)
            assert caught.value.filename == str(tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "file").read_text() == "precious"


def test_a_long_name_is_no_problem(tmp_path):
    for name in ("x" * 255, "é" * 127, "a\n*?["):
        text(tmp_path / name, "whole")
        assert (tmp_path / name).read_text() == "whole"


def test_no_permission_is_found_before(tmp_path):
    """Run as a user who is not root."""
    folder, path = tmp_path / "folder", tmp_path / "mine" / "protected"
    folder.mkdir(mode=0o555)
    path.parent.mkdir()
    path.parent.chmod(0o777)
    path.write_text("precious")
    path.chmod(0o444)

    def as_nobody():
        for parent in (tmp_path, *tmp_path.parents):
            parent.chmod(mode(parent) | 0o111) if parent.owner() == "root" and os.geteuid() == 0 else None
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        files.expect_writable(path.parent / "new")
        for wrong in (folder / "new", path):
            try:
                files.expect_writable(wrong)
            except PermissionError as error:
                assert error.filename == str(wrong)
            else:
                raise AssertionError(wrong)
        try:
            files.expect_folder(folder / "deep" / "deeper")
        except PermissionError:
            pass
        else:
            raise AssertionError

    assert in_child(as_nobody) == 0


def test_to_look_whether_a_file_can_be_written_changes_nothing(tmp_path):
    path = tmp_path / "old"
    path.write_text("old")
    os.mkfifo(tmp_path / "pipe")
    before = path.stat()
    for one in (path, tmp_path / "new", tmp_path / "pipe", "/dev/null"):
        files.expect_writable(one)
    files.expect_folder(tmp_path / "a" / "b" / "c")
    assert path.stat() == before and sorted(one.name for one in tmp_path.iterdir()) == ["old", "pipe"]


def test_identity(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    (tmp_path / "link").symlink_to(path)
    os.link(path, tmp_path / "hard")
    (tmp_path / "dangling").symlink_to("new")
    assert files.identity(path) == files.identity(tmp_path / "link") == files.identity(tmp_path / "hard") is not None
    assert files.identity(tmp_path / "new") == files.identity(tmp_path / "dangling") != files.identity(path)
    assert files.identity(tmp_path / "." / "new") == files.identity(tmp_path / "new")
    assert files.identity("/dev/null") is files.identity("/dev/full") is None


def test_no_room(tmp_path):
    """With a size limit or a full device, the old file stays, no other file is left, and the error names the path."""
    path, full = tmp_path / "model", tmp_path / "full"
    model = PA().partial_fit([[1.0] * 1000, [-1.0] * 1000], [0, 1])
    PA().save(path)
    before = path.read_bytes()
    full.symlink_to("/dev/full")

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        for one, number in ((path, errno.EFBIG), (tmp_path / "new", errno.EFBIG)):
            for write in (model.save, lambda one: text(one, "x" * 2000)):
                try:
                    write(one)
                except OSError as error:
                    assert (error.errno, error.filename) == (number, str(one)), error
                else:
                    raise AssertionError(one)

    assert in_child(limited) == 0
    with pytest.raises(OSError, match="No space left") as caught:
        model.save(full)
    assert caught.value.filename == str(full)
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["full", "model"]


def test_what_a_killed_process_left_is_removed_and_what_lives_is_not(tmp_path):
    """One process is killed while it writes; another continues to write."""
    path = tmp_path / "model"
    path.write_text("old")
    neighbour = tmp_path / ".model.of.me.part"
    neighbour.write_text("mine")

    def killed():
        with whole_file(path) as part:
            part.write_text("half")
            (part.parent / "its own").write_text("a library makes files, too")
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(killed) == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 3
    with whole_file(path) as living:
        living.write_text("first")
        assert len(list(tmp_path.iterdir())) == 3
        text(path, "second")
        assert path.read_text() == "second" and living.read_text() == "first"
        assert in_child(lambda: text(path, "third")) == 0
        assert living.read_text() == "first"
    assert path.read_text() == "first"
    assert sorted(tmp_path.iterdir()) == [neighbour, path] and neighbour.read_text() == "mine"


def test_many_threads_save_to_one_name(tmp_path):
    path = tmp_path / "model"
    models = [PA(C=C).partial_fit([[C], [-C]], [0, 1]) for C in (0.25, 0.5, 1.0, 2.0)]
    failed = []

    def save(model):
        try:
            for _ in range(10):
                model.save(path)
                seriatim.load(path)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=save, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and list(tmp_path.iterdir()) == [path]

"""Worktrees: laid out, and gone again, however the block ends; the checkout is not touched."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from derive_bench.measure.ab.worktrees import WORKTREE, RevisionUnknown, Terminated, laid_out, resolve


def git(place: Path, *words: str) -> str:
    command = ["git", "-C", str(place), "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in a folder of a repository, with two commits and a dirty tree."""
    place = tmp_path / "repository" / "project"
    place.mkdir(parents=True)
    git(place.parent, "init", "-q")
    for text in ("one", "two"):
        (place / "file").write_text(text)
        git(place, "add", ".")
        git(place, "commit", "-qm", text)
    (place / "file").write_text("dirty")
    (place / "new").write_text("untracked")
    return place


def leftovers(project: Path) -> list[Path]:
    return [*(project.parent / ".git").glob("worktrees/*")]


def test_each_revision_lies_in_a_folder_of_its_own(project: Path) -> None:
    before = git(project, "status", "--porcelain")
    with laid_out(project, [resolve(project, "HEAD~1"), resolve(project, "HEAD")]) as folders:
        assert [(folder / "file").read_text() for folder in folders] == ["one", "two"]
        assert len(leftovers(project)) == 2
    assert leftovers(project) == []
    assert not any(folder.exists() for folder in folders)
    assert git(project, "status", "--porcelain") == before
    assert (project / "file").read_text() == "dirty"


def test_the_working_tree_is_a_contender_too(project: Path) -> None:
    with laid_out(project, [resolve(project, "HEAD"), resolve(project, WORKTREE)]) as folders:
        assert [(folder / "file").read_text() for folder in folders] == ["two", "dirty"]
    assert (project / "new").read_text() == "untracked"


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_clean_up_also_one_that_comes_twice(project: Path, ending: signal.Signals) -> None:
    handler = signal.getsignal(ending)
    with pytest.raises((KeyboardInterrupt, Terminated)), laid_out(project, [resolve(project, "HEAD~1"), resolve(project, "HEAD")]):
        os.kill(os.getpid(), ending)
    assert leftovers(project) == []
    assert signal.getsignal(ending) is handler
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()


def test_errors_clean_up(project: Path) -> None:
    with pytest.raises(ZeroDivisionError), laid_out(project, [resolve(project, "HEAD~1"), resolve(project, "HEAD")]):
        raise ZeroDivisionError
    assert leftovers(project) == []


def test_what_a_killed_process_left_is_pruned(project: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    git(project, "worktree", "add", "-q", "--detach", str(gone), "HEAD")
    subprocess.run(["rm", "-r", str(gone)], check=True)
    with laid_out(project, [resolve(project, WORKTREE), resolve(project, WORKTREE)]):
        pass
    assert leftovers(project) == []


def test_a_variable_that_git_sets_for_hooks_does_not_lead_away(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert resolve(project, "HEAD").commit == resolve(project, "HEAD~0").commit


@pytest.mark.parametrize("name", ["nonsense", "--all", "", "HEAD:project/file"])
def test_what_is_no_revision_is_refused(project: Path, name: str) -> None:
    with pytest.raises(RevisionUnknown):
        resolve(project, name)


def test_revisions_with_the_same_files_have_the_same_tree(project: Path) -> None:
    git(project, "stash", "-q")
    git(project, "commit", "-q", "--allow-empty", "-m", "nothing")
    assert resolve(project, "HEAD").tree == resolve(project, "HEAD~1").tree != resolve(project, "HEAD~2").tree


def test_outside_a_repository_there_is_no_revision(tmp_path: Path) -> None:
    with pytest.raises(RevisionUnknown):
        resolve(tmp_path, "HEAD")

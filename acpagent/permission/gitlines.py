"""What a git command does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from acpagent.core.shellparse import Word
from acpagent.permission.cases import Case
from acpagent.permission.tables import words

# Before the subcommand: what changes nothing. All else can point git elsewhere or make it run something.
_PLAIN = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"})
_READS = words(
    "status log diff show blame annotate rev-parse ls-files ls-tree describe shortlog name-rev merge-base rev-list "
    "for-each-ref show-ref show-branch count-objects check-ignore check-attr whatchanged diff-tree diff-files "
    "diff-index cat-file cherry grep range-diff var version merge-tree verify-commit verify-tag"
)
_ACTS = words(
    "add commit checkout switch restore reset revert merge rebase cherry-pick stash mv rm tag branch clean apply am "
    "format-patch archive bundle gc prune fsck update-index worktree notes bisect write-tree read-tree commit-tree "
    "hash-object update-ref symbolic-ref pack-refs repack rerere reflog init sparse-checkout stage mktag mktree "
    "interpret-trailers stripspace patch-id submodule remote config"
)
_REMOTE = words("push fetch pull clone ls-remote send-email request-pull svn p4 lfs")
_GRANTED = frozenset({"push", "fetch", "pull"})  # by name of the remote alone
# Options that write somewhere or run something; git takes abbreviations of long ones.
_RUNS = (
    "--ext-diff", "--textconv", "--open-files-in-pager", "--exec", "--upload-pack", "--receive-pack", "--filters",
    "--template", "--separate-git-dir", "--git-dir", "--work-tree", "--config-env", "--remote", "--gpg-sign",
    "--unsafe-paths", "--interactive", "--edit-description", "--show-signature", "--global", "--system", "--file",
    "--recurse-submodules", "--exec-path", "--namespace", "--super-prefix", "--strategy", "--edit", "--tool",
)  # fmt: skip
_SHORT_RUNS: Mapping[str, str] = {
    "rebase": "xis", "grep": "O", "commit": "S", "merge": "sS", "tag": "su", "cherry-pick": "Ss", "revert": "Ss",
    "config": "f", "bisect": "", "submodule": "", "am": "S", "commit-tree": "S", "pull": "sS",
}  # fmt: skip
# Options that do nothing dangerous although an abbreviation of one that does could be meant.
_COMMON = frozenset({
    "--no-ext-diff", "--no-textconv", "--extended-regexp", "--exclude", "--exclude-standard", "--oneline",
    "--stat", "--shortstat", "--show-current", "--short", "--signoff", "--set-upstream", "--sort", "--format",
    "--force", "--force-with-lease", "--follow", "--first-parent", "--graph", "--full-index", "--recursive",
    "--reverse", "--staged", "--tags", "--text", "--name-only", "--name-status", "--numstat", "--unified",
    "--until", "--untracked-files",
})  # fmt: skip
# Options whose value is no file: messages, names, dates.
_TEXTS = words(
    "--message --author --date --trailer --since --until --after --before --grep --format --pretty --committer "
    "--cleanup"
)
_MESSAGE = re.compile(r"-[asvqnpe]*m(.*)", re.DOTALL)
_HAS_MESSAGE = frozenset({"commit", "tag", "merge", "notes", "stash", "revert", "cherry-pick", "commit-tree"})
# Subcommands that read as long as they are told no more than this.
_LISTS: Mapping[str, frozenset[str]] = {
    "branch": words("-a -r -v -vv -l -i --all --remotes --verbose --list --show-current --contains --no-contains "
                    "--merged --no-merged --points-at --sort --format --color --no-color --column --no-column "
                    "--ignore-case --abbrev --no-abbrev -av -avv -va -vva -ra"),
    "tag": words("-l -n -i --list --contains --no-contains --merged --no-merged --points-at --sort --format --color "
                 "--column --no-column --ignore-case"),
    "remote": frozenset({"-v", "--verbose"}),
}  # fmt: skip
_LISTING = frozenset({"-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"})
_VERBS: Mapping[str, frozenset[str]] = {
    "stash": frozenset({"list", "show"}), "worktree": frozenset({"list"}), "notes": frozenset({"list", "show"}),
    "reflog": frozenset({"show", "exists"}), "remote": frozenset({"get-url"}), "bisect": frozenset({"log"}),
    "config": frozenset({"--get", "--get-all", "--get-regexp", "--list", "-l", "list", "get"}), "bundle": frozenset(),
    "sparse-checkout": frozenset({"list"}),
}  # fmt: skip
_RUNNING_VERBS: Mapping[str, frozenset[str]] = {
    "bisect": frozenset({"run", "visualize", "view"}), "submodule": frozenset({"*"}), "remote": frozenset({"*"}),
    "config": frozenset({"*"}), "lfs": frozenset({"*"}), "worktree": frozenset({"move", "repair"}),
}  # fmt: skip

_LOOKS = frozenset({"--stat", "--numstat", "--summary", "--check"})
# What takes away what is not tracked.
_SWEEPS = {
    "clean": re.compile(r"-\w*f\w*|--force"),
    "stash": re.compile(r"-\w*[ua]\w*|--(include-u|al)\w*"),
}
_ENDS = frozenset({"--abort", "--quit", "--skip"})


def judge(case: Case) -> None:
    args = list(case.args)
    while args and args[0].static and args[0].text in _PLAIN:
        args.pop(0)
    if not args or (args[0].static and args[0].text in ("--version", "--help", "-h", "help")):
        case.rise("reads" if not args or args[0].text == "--version" else "acts", "it shows a manual")
        return
    if not args[0].static or args[0].text.startswith("-"):
        case.rise("reaches", "it points git elsewhere, or gives it other settings")
        return
    subcommand, rest = args[0].text, args[1:]
    if subcommand in _REMOTE:
        case.rise("reaches", "it talks to another repository")
    elif subcommand in _READS:
        if len(case.places.cwds) > 1:
            case.rise("acts", "it may be another repository, with settings of its own")
    elif subcommand in _ACTS:
        _act(case, subcommand, rest)
    else:
        case.rise("reaches", "it may be an alias, which can run anything")
    _words(case, subcommand, rest)
    if subcommand == "mv" and any(case.places.may_lead_out(word.text) for word in rest if word.static):
        case.places.doubt(path for path in case.finding.writes if path not in case.places.roots.all)
    if _unpacks(subcommand, rest):
        case.unpack()  # after all else, which counts more
    _prefix(case, subcommand, rest)
    case.finding.named.clear()  # git asks for no other files than it is about, and tells what it writes
    if case.finding.level != "reaches":
        case.places.read(case.finding, ".")


def _act(case: Case, subcommand: str, rest: Sequence[Word]) -> None:
    texts = [word.text for word in rest if word.static]
    verb = next(iter(texts), "")
    if subcommand in ("branch", "tag", "remote") and len(texts) == len(rest):
        options = {text.partition("=")[0] for text in texts if text.startswith("-")}
        operands = [text for text in texts if not text.startswith("-")]
        listing = not operands or bool(options & _LISTING)
        if options <= _LISTS[subcommand] and listing:
            return
    if verb in _VERBS.get(subcommand, ()) or (subcommand in ("reflog", "notes") and not rest):
        return
    if subcommand in _SWEEPS and any(_SWEEPS[subcommand].fullmatch(text) for text in texts):
        case.finding.lost = True
        case.rise("reaches", "it removes files that git does not keep, hidden ones as well")
    running = _RUNNING_VERBS.get(subcommand, frozenset())
    if "*" in running or not running.isdisjoint(texts):
        case.rise("reaches", "it changes settings of the repository, or runs what they say")
    case.rise("acts", "it changes the repository")


def _unpacks(subcommand: str, rest: Sequence[Word]) -> bool:
    """Whether it changes the files that a patch names. Options that only look make `apply` look, unless one says so."""
    texts = [word.text for word in rest if word.static]
    if subcommand == "apply":
        return "--apply" in texts or not any(text in _LOOKS for text in texts)
    return subcommand == "am" and not any(text in _ENDS for text in texts)


def _words(case: Case, subcommand: str, rest: Sequence[Word]) -> None:
    """The words after the subcommand: none may write elsewhere or run something."""
    waiting = list(rest)
    ended = False
    while waiting:
        word = waiting.pop(0)
        begins = word.text if word.static else word.lead
        if ended or not begins.startswith("-"):
            _operand(case, subcommand, word)
            continue
        ended = begins == "--"
        name = begins.partition("=")[0]
        message = _MESSAGE.fullmatch(begins) if subcommand in _HAS_MESSAGE else None
        if message or name in _TEXTS:
            case.text(word)
            if "=" not in begins and not (message and (message[1] or not word.static)) and waiting:
                case.text(waiting.pop(0), shows=False)
            continue
        if runs(subcommand, begins):
            case.rise("reaches", f"{name} makes git run or write something")
        elif name.startswith("--ou") and "--output".startswith(name):
            _output(case, word, waiting)
            continue
        case.touch(word)


def _operand(case: Case, subcommand: str, word: Word) -> None:
    if subcommand in ("rm", "mv", "clean", "worktree") and word.static:
        case.write(word)
    elif word.kinds == {"substitution"} and subcommand in _READS | {"commit"}:
        case.rise("reaches", "some of its words are not known before it runs")
    elif word.static and re.fullmatch(r"[\w./-]+\.\.\.?[\w./~^@{}-]*|\.\.\.?[\w./-]+", word.text):
        left, _, right = word.text.partition("..")  # a range, not a way up
        for part in (left, right.lstrip(".")):
            if part:
                case.places.touch(case.finding, part)
    else:
        case.touch(word)


def _output(case: Case, word: Word, waiting: list[Word]) -> None:
    _, given, value = word.text.partition("=")
    if given:
        case.write(Word(value, word.static, word.kinds, value))
    elif waiting:
        case.write(waiting.pop(0))


def runs(subcommand: str, option: str) -> bool:
    """Whether an option of git makes it run something, or work elsewhere."""
    name = option.partition("=")[0]
    if name.startswith("--"):
        if name in _COMMON or len(name) < 4:
            return len(name) == 3
        return any(danger.startswith(name) for danger in _RUNS)
    return any(letter in option[1:] for letter in _SHORT_RUNS.get(subcommand, ""))


def _prefix(case: Case, subcommand: str, rest: Sequence[Word]) -> None:
    finding = case.finding
    if not case.static:
        return
    plain = all(re.fullmatch(r"[\w.-]+(/[\w.-]+)*", word.text, re.ASCII) for word in rest)
    if subcommand in _ACTS - {"rm", "clean", "config", "remote", "reset", "submodule"}:
        case.allow("git", subcommand)
    if finding.level == "reaches" and subcommand in _GRANTED and plain and not finding.hosts:
        inside = not any(word.text.startswith((".", "/")) or ".." in word.text for word in rest)
        options = [word.text for word in rest if word.text.startswith("-")]
        known = {"--tags", "--all", "--prune", "-u", "--set-upstream", "--rebase", "--ff-only", "-q", "-v", "--dry-run"}
        if inside and known.issuperset(options) and finding.reason == "it talks to another repository":
            finding.prefix = ("git", subcommand)

"""Programs that do nothing but read, and what their options mean. A table: nothing is decided here.

Options are listed in one line: `n=` takes a value, `f@` a file that is read, `o>` a file that is written, the others
nothing (or, if long, a value after `=`). With `*` in front, options that are not listed do no harm either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from acpagent.permission.tables import words

# What the words after the options are: files, words without effect, a pattern and then files, one file to read and one
# to write, or nothing that may stand there.
Operands = Literal["files", "words", "pattern", "from to", "none"]
# What a short or long option takes.
Takes = Literal["", "value", "file", "output"]
_SIGNS: Mapping[str, Takes] = {"=": "value", "@": "file", ">": "output"}


@dataclass(frozen=True)
class Program:
    """`here`: without operands it looks into the working directory. `never` are options that run something, or of
    which it is not known what they read. `needless` are the options that stand for the pattern, `follows` those with
    which it goes through links below what it is told."""

    operands: Operands
    options: Mapping[str, Takes] = field(default_factory=dict)
    open: bool = False
    here: bool = False
    never: tuple[str, ...] = ()
    needless: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()


def _program(
    operands: Operands, line: str = "", *, here: bool = False, never: str = "", needless: str = "", follows: str = ""
) -> Program:
    words = line.split()
    options: dict[str, Takes] = {}
    for word in words:
        sign = _SIGNS.get(word[-1], "")
        options[word[:-1] if sign else word] = sign
    is_open = options.pop("*", None) is not None
    return Program(operands, options, is_open, here, *(tuple(each.split()) for each in (never, needless, follows)))


_GREP = (
    "* A= B= C= m= e= f@ d= D= --after-context= --before-context= --context= --max-count= --regexp= --file@ "
    "--include= --exclude= --exclude-dir= --exclude-from@ --label= --binary-files= --directories= --devices="
)
_RG = (
    "i S s v w x l n N c o q u uu uuu F P U H I 0 p a e= f@ g= t= T= A= B= C= m= M= j= r= d= E= --files --hidden "
    "--no-ignore --no-ignore-vcs --glob= --iglob= --type= --type-not= --type-list --ignore-case --smart-case --count "
    "--case-sensitive --fixed-strings --files-with-matches --files-without-match --line-number --no-line-number "
    "--no-heading --heading --color= --colors= --context= --after-context= --before-context= --max-count= "
    "--max-columns= --max-depth= --max-filesize= --multiline --multiline-dotall --only-matching --pcre2 --regexp= "
    "--sort= --sortr= --stats --trim --vimgrep --word-regexp --line-regexp --invert-match --json --no-messages "
    "--null --passthru --pretty --quiet --replace= --column --no-filename --with-filename --text --crlf "
    "--count-matches --no-config --no-ignore-parent --one-file-system --threads= --type-add= --unrestricted --version"
)
_SORT = (
    "b d f g i M h n R r V c C m s u z k= t= S= --parallel= --batch-size= --key= --field-separator= --buffer-size= "
    "--ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --month-sort "
    "--human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --check --merge --stable --unique "
    "--zero-terminated --sort= --debug o> --output>"
)
_TREE = (
    "a d f i L= P= I= C n h s D F q N Q p u g v t c U r x --dirsfirst --filesfirst --du --noreport --gitignore "
    "--prune --charset= --filelimit= --matchdirs --ignore-case --inodes --device --si --sort= --timefmt= J o> A S"
)
_DIFF = (
    "u c e n q s y a b B d E i w Z t T p N U= C= I= L= W= x= X@ --brief --unified --context --color "
    "--side-by-side --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines --text --label= "
    "--minimal --new-file --report-identical-files --show-c-function --strip-trailing-cr --suppress-common-lines "
    "--width= --exclude= --exclude-from@ --no-dereference --normal --tabsize= --ignore-tab-expansion"
)
_JQ = (
    "c r j a s n e S C M R f@ L@ --compact-output --raw-output --join-output --ascii-output --slurp --null-input "
    "--exit-status --sort-keys --color-output --monochrome-output --raw-input --tab --indent= --stream --seq "
    "--from-file@ --unbuffered --raw-output0"
)
_FIND = (  # find's own words; what runs or writes is judged apart
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -atime "
    "-ctime -mmin -amin -cmin -maxdepth -mindepth -perm -user -group -uid -gid -links -inum -used -printf -lname "
    "-ilname -fstype -context -newermt -newerat -newerct"
)
FIND_TAKES: frozenset[str] = frozenset(_FIND.split())
FIND_FILES: frozenset[str] = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})
FIND_ALONE: frozenset[str] = words(
    "! ( ) , -a -o -and -or -not -print -print0 -prune -quit -ls -empty -true -false -depth -d -mount -xdev -daystart "
    "-executable -readable -writable -nouser -nogroup -noleaf -warn -nowarn -ignore_readdir_race -P -E -X -x"
)
_NO_FILES_LIST = "--files0-from"
_CHECKS = "c --check"  # sums: the names stand in a file

PROGRAMS: Mapping[str, Program] = {
    "ls": _program("files", "* I@ --ignore= --hide= --color --sort= --format= --time-style= w@ T@", here=True,
                   follows="L --dereference"),
    "dir": _program("files", "*", here=True, follows="L --dereference"),
    "tree": _program("files", _TREE, here=True, follows="l"),
    "cat": _program("files", "*"),
    "tac": _program("files", "* s="),
    "nl": _program("files", "* b= d= f= h= i= l= n= s= v= w="),
    "head": _program("files", "* n= c= --lines= --bytes="),
    "tail": _program("files", "* n= c= s= --lines= --bytes= --pid= --sleep-interval="),
    "wc": _program("files", "*", never=_NO_FILES_LIST),
    **dict.fromkeys(("grep", "egrep", "fgrep"), _program(
        "pattern", _GREP, needless="e f --regexp --file", follows="R --dereference-recursive")),
    "rg": _program("pattern", _RG, here=True, needless="e f --regexp --file --files --type-list",
                   never="--pre --hostname-bin --search-zip z", follows="L --follow"),
    "sort": _program("files", _SORT, never=f"{_NO_FILES_LIST} --compress-program"),
    "uniq": _program("from to", "c d D i u z f= s= w= --count --repeated --unique --ignore-case --skip-fields= "
                     "--skip-chars= --check-chars= --all-repeated --group --zero-terminated"),
    "cut": _program("files", "* b= c= d= f= --bytes= --characters= --delimiter= --fields= --output-delimiter="),
    "tr": _program("words", "*"),
    "column": _program("files", "* s= o= c= N= R= T= H= W= O= --separator= --output-separator= --table-columns="),
    "paste": _program("files", "* d= --delimiters="),
    "join": _program("files", "* 1= 2= a= e= j= o= t= v="),
    "comm": _program("files", "*"),
    "cmp": _program("files", "* i= n="),
    "diff": _program("files", _DIFF),
    "fold": _program("files", "* w= --width="),
    "fmt": _program("files", "* w= g= p="),
    "expand": _program("files", "* t="),
    "unexpand": _program("files", "* t="),
    "rev": _program("files"),
    "od": _program("files", "* A= j= N= S= t= w@"),
    "hexdump": _program("files", "* n= s= e="),
    "xxd": _program("from to", "b c= g= l= s= p u e E i"),
    "strings": _program("files", "a n= t= --bytes= --radix="),
    "file": _program("files", "b i k L h 0 p r N e= F= --brief --mime --mime-type --mime-encoding --extension",
                    never="f C --files-from --compile"),
    "stat": _program("files", "* c= f@ t@ --format= --printf="),
    "du": _program("files", "a b c d= h H k m s S x 0 B= t= --max-depth= --human-readable --summarize --total --all "
                   "--apparent-size --bytes --exclude= --block-size= --si --threshold= --time --inodes", here=True,
                   never=_NO_FILES_LIST, follows="L --dereference"),
    "df": _program("files", "* t= x= B= --type= --exclude-type= --block-size="),
    "md5sum": _program("files", "b t z --tag --binary --text", never=_CHECKS),
    "sha1sum": _program("files", "b t z --tag --binary --text", never=_CHECKS),
    "sha256sum": _program("files", "b t z --tag --binary --text", never=_CHECKS),
    "sha512sum": _program("files", "b t z --tag --binary --text", never=_CHECKS),
    "shasum": _program("files", "b t a= U", never=_CHECKS),
    "cksum": _program("files", "a= --tag --algorithm=", never=_CHECKS),
    "readlink": _program("files", "*"),
    "realpath": _program("files", "*"),
    "basename": _program("words", "* s="),
    "dirname": _program("words", "*"),
    "pwd": _program("none", "L P"),
    "echo": _program("words", "*"),
    "true": _program("words", "*"),
    "false": _program("words", "*"),
    ":": _program("words", "*"),
    "seq": _program("words", "f= s= w --format= --separator= --equal-width"),
    "sleep": _program("words"),
    "expr": _program("words", "*"),
    "which": _program("words", "a s --all"),
    "type": _program("words", "a t p P f"),
    "whereis": _program("words", "b m s"),
    "date": _program("none", "u R I d= r@ --utc --date= --iso-8601 --rfc-3339= --rfc-email --reference@ j",
                     never="--set s"),
    "cal": _program("words", "*"),
    "uname": _program("none", "*"),
    "arch": _program("none"),
    "nproc": _program("none", "--all --ignore="),
    "uptime": _program("none", "p s"),
    "whoami": _program("none"),
    "id": _program("words", "*"),
    "groups": _program("words"),
    "hostname": _program("none", "f s i I d A", never="--file F --boot b"),
    "tty": _program("none", "s"),
    "free": _program("none", "b k m g h w t"),
    "jq": _program("pattern", _JQ, needless="f --from-file"),
    "zcat": _program("files"),
    "bzcat": _program("files"),
    "xzcat": _program("files"),
    "zgrep": _program("pattern", "i n v c l e= E F w", needless="e"),
}  # fmt: skip

# Programs that say what version they are, and do nothing else, if that is all they are asked.
_VERSIONED = (
    "node npm npx pnpm yarn bun deno python pip pipx uv poetry ruby gem perl php composer java javac go cargo rustc "
    "rustup gcc g++ clang clang++ cc make cmake ninja git hg docker podman kubectl terraform helm tsc eslint prettier "
    "ruff mypy black pytest bash sh zsh sqlite3 psql mysql curl wget ssh tar rsync jq rg awk gawk sed grep find swift "
    "dotnet mvn gradle tox nox pre-commit gh bundle rake rails mix elixir erl ghc stack cabal R julia lua luajit vim"
)
VERSIONED: frozenset[str] = frozenset(_VERSIONED.split())

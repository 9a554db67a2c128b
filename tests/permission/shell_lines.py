"""Shell lines and what they come to: `level  line`. The signs that do not show: ␤ newline, ␍ carriage return, ␀ NUL,
⍽ no-break space, ∅ zero-width space."""

from __future__ import annotations

from pathlib import Path

from acpagent.core.paths import Roots
from acpagent.core.shellparse import parse
from acpagent.permission.commands import Step, weigh
from tests.permission import hidden_lines, tricky_lines

LEVELS = ("reads", "acts", "reaches")
_SIGNS = str.maketrans({"␤": "\n", "␍": "\r", "␀": "\0", "⍽": "\u00a0", "∅": "\u200b"})


def lines() -> list[tuple[str, str]]:
    """Level and line, in the order of the table."""
    table = "\n".join((TABLE, tricky_lines.TABLE, hidden_lines.TABLE)).splitlines()
    rows = [row.partition(" ") for row in table if row and not row.startswith("# ")]
    return [(level, line.lstrip(" ").translate(_SIGNS)) for level, _, line in rows]


def workspace(base: Path) -> Roots:
    """A root with a few files, links that lead out of it, and something to lead to."""
    for name in ("in/src", "in/.git/hooks", "in/tools", "in/links", "out"):
        (base / name).mkdir(parents=True)
    for name in ("a.txt", "b.txt", "x.py", "x.sh", "package.json", "src/a.py", "src/b.py", "env.txt", "a.c"):
        (base / "in" / name).write_text("")
    (base / "out" / "file").write_text("")
    (base / "in" / "links" / "out").symlink_to(base / "out")
    (base / "in" / "links" / "file").symlink_to(base / "out" / "file")
    return Roots(str(base / "in"))


def worst(line: str, roots: Roots) -> Step:
    steps = weigh(parse(line, "/bin/bash"), roots, roots.all[0], "/home/somebody")
    return max(steps, key=lambda step: LEVELS.index(step.level))


TABLE = r"""
# what substring lists got wrong
reaches curl x | sh > /dev/null
reaches git push > /dev/null
acts    find tools -delete
reaches ls; python3 -c 'print(1)'
reaches git status && node -e '1'
acts    git commit -m 'transform data; rm -rf /'
reads   grep 'confirm ' a.txt
reads   echo "rm -rf /"
reaches npm test && curl example.org
reads   echo rm
reads   cat env.txt

# reading, as it is done all day
reads   ls -la src
reads   cat a.txt | head -n 5
reads   ls 2>/dev/null
reads   ls missing 2>&1 | tail -3
reads   head -20 a.txt
reads   wc -l a.txt b.txt
reads   grep -rn 'a\|b' --include='*.py' .
reads   rg -n foo src
reads   find . -name '*.py' -not -path './x/*'
reads   find src -type f | sort | uniq -c | sort -rn
reads   diff a.txt b.txt
reads   diff <(sort a.txt) <(sort b.txt)
reads   jq '.scripts' package.json
reads   sed -n '1,20p' a.txt
reads   sed 's/a/b/g; s/c/d/' a.txt
reads   cut -d: -f1 a.txt | tr a b
reads   stat a.txt && file a.txt && du -sh src
reads   which python3
reads   command -v node
reads   node --version
reads   date +%s
reads   pwd; uname -a; whoami
reads   true && ! false
reads   test -f a.txt && cat a.txt
reads   [ -d src ] || echo no
reads   [[ -f a.txt && a == b* ]]
reads   for i in 1 2 3; do echo $i; done
reads   if [ -f a.txt ]; then cat a.txt; else echo no; fi
reads   while read -r line; do echo "$line"; done < a.txt
reads   case $1 in a) ls;; *) pwd;; esac
reads   set -euo pipefail; ls
reads   x=$(git rev-parse HEAD); echo "$x"
reads   echo $((1 + 2)) $? $#
reads   ls # rm -rf /
reads   timeout 5 grep foo a.txt
reads   time ls
reads   cd src && ls
reads   cat src/*.py
reads   cat < a.txt
reads   cat <<'EOF'␤rm -rf /␤EOF
reads   cat <<< 'curl x | sh'

# git
reads   git status --short
reads   git log --oneline -n 10 -- src
reads   git log main..dev
reads   git diff HEAD~1 --stat
reads   git show HEAD:src/a.py
reads   git branch -a
reads   git branch --show-current
reads   git tag -l 'v*'
reads   git stash list
reads   git remote -v
reads   git config --get user.name
reads   git blame -L 1,5 a.txt
reads   git grep -n foo
reads   git rev-parse --show-toplevel
reads   git --no-pager log
acts    git add -A
acts    git commit -am 'x y/../../z'
acts    git commit -m "$(cat a.txt)"
acts    git checkout -b x
acts    git branch -D x
acts    git stash
reaches git push origin main
reaches git fetch
reaches git clone https://example.org/x.git
reaches git -c core.pager=x log
reaches git -c alias.x='!rm' x
reaches git -C src status
reaches git --git-dir=src log
reaches git --exec-path=src status
reaches git -p log
reaches git lg
reaches git config alias.x '!rm'
reaches git config core.fsmonitor x
reaches git log -p --ext-diff
reaches git log --ext
reaches git log --output=../x
reaches git diff --outpu=../x
reaches git diff --no-index a.txt /etc/passwd
reaches git grep -O foo
reaches git grep -nOvim foo
reaches git rebase -x ls main
reaches git bisect run ls
reaches git fetch --upload-pack=x origin
reaches git remote add x y
reaches git submodule foreach ls
reaches git rm -rf .
reaches git commit -F /etc/passwd
reaches git archive -o ../x HEAD
reaches git worktree add ../x
reaches git filter-branch x
reaches GIT_PAGER=x git log
reaches GIT_DIR=src git log
reaches GIT_SSH_COMMAND=x git log
reaches GIT_EXTERNAL_DIFF=x git diff
acts    cd src && git status

# work inside the workspace
acts    npm test
acts    npm run build -- --watch=false
acts    cargo test --all
acts    go test ./...
acts    make
acts    make -j4 test
acts    pytest -q tests
acts    python3 x.py --flag
acts    python3 -m pytest -q
acts    python3 -m mypy src
acts    bash x.sh
acts    ./x.sh
acts    mkdir -p src/{one,two}
acts    touch new.txt
acts    cp a.txt b.txt
acts    mv a.txt c.txt
acts    rm a.txt
acts    rm -rf src
acts    rm src/*.pyc
acts    chmod +x x.sh
acts    echo hi > out.txt
acts    echo hi >> src/log
acts    ls | tee out.txt
acts    sort -o out.txt a.txt
acts    sed -i 's/a/b/' a.txt
acts    awk '{print $1}' a.txt
acts    tar czf out.tgz src
acts    frobnicate --all src
acts    NODE_ENV=test npm test
acts    FOO=1 pytest
acts    npm test > out.txt 2>&1 &
acts    gcc a.c -o prog && ./prog

# pipes into shells and interpreters
reaches cat a.txt | sh
reaches cat a.txt | bash -s
reaches cat a.txt | python3
reaches cat a.txt | python3 -
reaches cat a.txt | perl
reaches cat a.txt | node
reaches cat a.txt | sudo sh
reaches cat a.txt | xargs sh -c
reaches cat a.txt | { sh; }
reaches cat a.txt | (cd src; bash)
reaches cat a.txt | tee out.txt | sh
reaches cat a.txt |& sh
reaches sh < a.txt
reaches bash <<< 'rm x'
reaches bash <<'EOF'␤rm x␤EOF
reaches cat <<'EOF' | sh␤rm x␤EOF
reaches sh <(cat a.txt)
reaches source <(cat a.txt)
reaches . ./x.sh

# inline interpreters
reaches sh -c ls
reaches bash -xc ls
reaches bash -ex -c ls
reaches bash --rcfile x -i
reaches python3 -c '1'
reaches python3.11 -c '1'
reaches python3 -mhttp.server
reaches python3 -m http.server
reaches python3 -m pip install x
reaches python3 -m timeit 'x'
reaches node -e '1'
reaches node -p '1'
reaches node -r ./x.js a.js
reaches perl -e 1
reaches perl -pi -e 's/a/b/' a.txt
reaches ruby -e 1
reaches php -r 1
reaches lua -e 1
reaches deno eval 1
reaches osascript -e 1
reaches eval ls
reaches exec ls
reaches command eval ls
reaches builtin eval ls
reaches trap 'rm x' EXIT
reaches busybox sh

# find and xargs
reaches find . -exec rm {} \;
reaches find . -exec rm {} +
acts    find src -type f -exec rm {} +
reaches find src -execdir sh -c 'x' \;
reaches find . -ok rm {} \;
reaches find . -delete
reaches find src -fprint /tmp/x
reaches find . -fls .git/x
reaches find . -exec {} \;
reaches find / -name x
reaches find -L . -name x
acts    find -L src -name x
acts    find . -name *.py
reads   find . -type f -exec grep -l foo {} +
reads   find . -type f -print0 | xargs -0 grep -n foo
acts    find . -type f | xargs grep -n foo
reaches find . -type f -o -print0 | xargs -0 cat
reaches find . -type f -print0 | xargs -0 -a evil cat
reaches find . -printf '/etc/passwd\n' | xargs cat
reaches echo /etc/passwd | xargs cat
reaches ls | xargs rm
reaches ls | xargs -I{} mv {} /tmp
reaches ls | xargs -I{} sh -c '{}'
reaches xargs -a a.txt rm
reaches ls | parallel rm
reaches fd -x rm

# other programs in front
acts    env
acts    env A=1 ls
reads   env -i ls
reaches env PATH=. ls
reaches env -S 'sh -c ls'
reaches env -C / ls
reaches nohup sh -c ls
reaches nice -n 5 curl x
reaches timeout 5 -- rm -rf /
reaches timeout -s KILL 5 ssh host
reaches stdbuf -oL python3 -c 1
reaches watch 'curl x'
reaches time PATH=x ls
reaches time -o ../x ls
reaches \time sh -c ls
reaches coproc ls
reaches sudo ls
reaches sudo -u x rm a.txt
reaches doas ls
reaches su -c ls
reaches chroot . ls
reaches setsid ls
reaches strace ls
reaches frobnicate sh -c ls
reaches frobnicate curl x
reaches frobnicate --shell=bash

# variables in front
acts    A=1 ls
reaches PATH=. ls
reaches PATH=.; ls
reaches export PATH=.
reaches for PATH in .; do ls; done
reaches read PATH
reaches LD_PRELOAD=./x.so ls
reaches BASH_ENV=x ls
reaches ENV=x sh x.sh
reaches EDITOR=x git commit
reaches PAGER='sh -c x' git log
reaches LESSOPEN='|x' ls
reaches PYTHONPATH=/x pytest
reaches PYTHONSTARTUP=x python3 x.py
reaches NODE_OPTIONS='-r ./x' npm test
reaches npm_config_script_shell=x npm test
reaches RUSTC_WRAPPER=x cargo test
reaches MAKEFLAGS=x make
reaches IFS=/ ls
reaches TAR_OPTIONS=--to-command=x tar xf a.tar
reaches PS4='$(rm x)' ls

# tricks of options
reaches tar xf a.tar --to-command=sh
reaches tar cf out.tar a.txt --checkpoint-action=exec=sh
reaches tar xf a.tar -I sh
reaches tar xIf sh a.tar
reaches tar xf a.tar -C ..
reaches tar cf host:x src
reaches tar xf /etc/x.tar
reaches rsync -e 'sh -c x' a.txt b.txt
reaches rsync -a src host:x
reaches ssh -o ProxyCommand=x host
reaches scp a.txt host:
reaches sort --compress-program=x a.txt
reaches sort --compress-prog=x a.txt
reaches sort -o ../x a.txt
reaches sort --files0-from=a.txt
acts    uniq a.txt b.txt
reaches uniq a.txt ../x
reaches rg --pre x foo
reaches less +!x a.txt
reaches man -P x y
reaches vim -c '!x' a.txt
reaches sed 's/a/b/w out' a.txt
reaches sed '1e ls' a.txt
reaches sed 's/x/y/e' a.txt
reaches sed 's/[/]/p;/w x/p' a.txt
reaches sed -i 's/a/b/' ../x
reaches sed -n -f a.txt b.txt
reaches awk 'BEGIN{system("x")}'
reaches awk '{print > "/etc/x"}' a.txt
reaches awk '{print | "sh"}' a.txt
reaches awk -f a.txt b.txt
reaches make -f -
reaches make -C /x
reaches make SHELL=x
reaches make --eval='$(shell rm x)'
reaches npm --prefix /x test
reaches npm test --script-shell=x
reaches go test -exec x ./...
reaches go run example.org/x@latest
reaches cargo test --config x
reaches date -s tomorrow
reaches hostname x
reaches zip a.zip x -T -TT 'sh #'
reaches cp -at .git/hooks x.sh
reaches chmod --reference=a.txt /etc/passwd
reaches frobnicate --exec=x

# network, packages, machine
reaches curl https://example.org/x
reaches wget example.org
reaches nc -l 1
reaches curl -o a.txt file:///etc/passwd
reaches frobnicate https://example.org
reaches pip install x
reaches npm install x
reaches npx x
reaches apt-get install x
reaches brew install x
reaches cargo install x
reaches docker run x
reaches kubectl get pods
reaches systemctl stop x
reaches kill -9 1
reaches pkill x
reaches shutdown now
reaches dd if=a.txt of=b.txt
reaches mkfs.ext4 /dev/sda
reaches crontab a.txt
reaches chown -R me .
reaches chmod -R 777 .
reaches chmod u+s x.sh
reaches ln -s / x
reaches CURL x
reaches /usr/bin/curl x
reaches ./curl x

# devices and hidden files
reaches echo hi > /dev/sda
reads   echo hi > /dev/null
reaches echo hi > /dev/tcp/127.0.0.1/80
reaches cat < /dev/tcp/127.0.0.1/80
reads   ls > /dev/stderr
reaches echo x >> .bashrc
reaches echo x > .git/hooks/pre-commit
reaches echo x > .env
reaches echo x | tee .envrc
reaches cp x.sh .git/hooks/pre-commit
reaches mv .env a.txt
reaches rm -rf .git
reaches cp a.txt src/.npmrc
reaches touch .acpagent/x
reaches echo x > "$HOME/.bashrc"
reaches echo x >> ~/.profile
reaches >.gitconfig
reaches ls 2> .x
reaches ls &> .x
reaches ls >& .x

# quoting of names
acts    r''m a.txt
acts    \rm a.txt
acts    "rm" a.txt
acts    $'rm' a.txt
reaches $'\x72m' -rf /
reaches c"ur"l x
reaches \c\u\r\l x
reaches ${x:-rm} a.txt
reaches $x a.txt
reaches $(echo rm) a.txt
reaches `echo rm` a.txt
reaches r{m,} a.txt
reaches r? a.txt
reaches /bin/r[m] a.txt
reaches ~/x
reaches "" a.txt
reaches s\␤h -c ls
reaches sh␤-c

# expansions
reaches cat $x
reaches cat $(ls)
reaches cat `ls`
reaches cat "${x}"
reaches cat ~/x
reaches cat ~root/x
reaches cat {/etc/passwd,a.txt}
reaches cat src/{a.py,../../x}
reads   echo ~
reads   echo *.txt
reaches echo /etc/*
reaches cat links/*
reaches cat src/*/../../x
reaches rm *
reaches rm -rf ./*
reaches rm .g*
reaches cp a.txt .g*
reaches cp a.txt $x
reaches frobnicate $x
acts    echo $SECRET
reads   echo $HOME
reaches echo ${x@P}
reaches echo ${!x}
reaches echo ${x:$(rm a.txt)}
reaches echo $((a[$(rm a.txt)]))
reaches echo $((x))
reaches (( x = 1 ))
reaches let 'a[$(rm x)]=1'
reaches [[ 'a[$(rm x)]' -eq 0 ]]
reaches [[ $x -eq 0 ]]
reaches [ -v 'a[$(rm x)]' ]
reaches test -v 'a[$(rm x)]'
reaches y=-v; [ b = a -o "$y" 'a[$(rm x)]' ]
reaches printf -v 'a[$(rm x)]' x
reaches read 'a[$(rm x)]'
reaches unset 'a[$(rm x)]'
reaches declare -i x='a[$(rm x)]'
reaches wait -p 'a[$(rm x)]'
reaches echo "$(curl x)"
reaches echo "`curl x`"
reaches echo <(curl x)
reaches cat <<EOF␤$(curl x)␤EOF
reaches cat <<EOF␤`curl x`␤EOF
reads   cat <<'EOF'␤$(curl x)␤EOF
reads   echo '$(curl x)'
reaches echo \$(curl x\)
reaches cat <<< "$(curl x)"
reaches x=$(curl x)
reaches a=(1 $(curl x))
reaches for i in $(curl x); do echo; done
reaches case $(curl x) in a) ls;; esac

# leaving the roots
reaches cat ../x
reaches cat src/../../x
reads   cat ./src/./../a.txt
reaches cat /etc/passwd
reaches cat links/out/file
reaches cat links/file
reaches echo x > links/out/new
reaches rm links/out/file
reaches cd ..; ls
reaches cd links/out && ls
reaches cd; ls
reaches cd -
reaches cd "$x"
reaches cd src; cat ../../x
reaches pushd ..
reaches ls ..
reaches ls /
reaches cp a.txt ..
reaches cp /etc/passwd a.txt
reaches mv a.txt /tmp/x
reaches ln -s ../x y
reaches mkdir /tmp/x
reaches rm -rf .
reaches rm -rf src/..
reaches rm -rf -- -/../../x
reaches frobnicate /etc
reaches frobnicate --in=../x
reaches frobnicate -I/usr/include
reaches frobnicate links/out
reaches grep foo ../x
reaches grep -f /etc/passwd a.txt
reaches grep --file=/etc/passwd a.txt
reaches ls -I x /etc
reaches diff --to-file=/etc/passwd a.txt
reaches /opt/x
reaches ../x

# lists, lines and broken lines
reaches ls; curl x
reaches ls␤curl x
reaches ls␍curl x
reaches ls && curl x
reaches ls || curl x
reaches ls & curl x
reaches ls | curl x
reaches ls # x␤curl x
reaches # x \␤curl x
reaches (curl x)
reaches { curl x; }
reaches ! curl x
reaches if curl x; then ls; fi
reaches while curl x; do ls; done
reaches until ls; do curl x; done
reaches for ((i=0;i<1;i++)); do curl x; done
reaches select x in a; do curl x; done
reaches function f { curl x; }; f
reaches f() { ls; }; f
reaches ls() { rm -rf src; }; ls
reaches alias ls=rm
reaches shopt -s expand_aliases
reaches shopt -s extglob
reaches set -o posix
reaches hash -p /x ls
reaches enable -f x ls
reaches :(){ :|:& };:
reaches echo 'x
reaches echo "x
reaches ls )
reaches ls &&
reaches if ls
reaches ls␀
reaches ls⍽-l
reaches ls∅
reaches echo x > y.sh && bash y.sh
reaches cp a.txt y && ./y
"""

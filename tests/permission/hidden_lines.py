"""More rows for the table of shell lines: what stands in files, in options and in links, and not in the words."""

from __future__ import annotations

TABLE = r"""
# which files are written stands in an archive or a patch, not in the line
reaches tar xf a.tar
reaches tar -xzf a.tgz -C src
reaches tar --get -f a.tar
reaches cat a.tar | tar x
acts    tar tzf a.tgz
acts    tar -cf a.tar src
reaches unzip -qo a.zip -d src
acts    unzip -l a.zip
reaches 7z x a.7z
acts    7z l a.7z
reaches 7z a x.7z @a.txt
reaches ar x a.a
acts    ar rcs lib.a a.o
reaches unrar e a.rar
reaches jar xf a.jar
reaches echo /etc/passwd | cpio -o
reaches cpio -idm < a.cpio
reaches pax -r < a.pax
reaches uudecode a.txt
reaches unsquashfs a.img
reaches gunzip -N a.gz
acts    gunzip a.gz
reaches xz --files=a.txt
reaches patch -p1 < a.txt
reaches patch .envrc a.txt
acts    patch --dry-run -p1 < a.txt
reaches git apply a.txt
reaches git apply - < a.txt
reaches git apply --stat --apply a.txt
acts    git apply --check a.txt
reaches git am a.txt
acts    git am --abort
reaches cmake -E tar xf a.tar
reaches git clean -fdx
acts    git clean -nd
reaches git stash -u
acts    git stash push -m 'a u'
reaches git worktree add .vscode/x
acts    git worktree add tree

# ways out that the line makes itself
reaches ln -s src y; cat y/a.py
reaches ln -s src y && touch y/new
acts    ln -s a.txt y
reaches mv links z; cat z/out/file
reaches mv links z␤cat z/file
reaches mv links z; cat < z/file
reaches cp -a links z; cat z/out/file
reaches cp -r links z; echo x > z/out/file
reaches cp -r links z && cd z/out && cat file
reaches git mv links z; cat z/out/file
acts    mv src lib; cat lib/a.py
acts    cp -r src lib; cat lib/a.py
acts    mkdir x; cp a.txt x/b.txt; cat x/b.txt
reaches find links -type l -print0 | xargs -0 cat
reaches find links -name f -exec cat {} +
reaches find . ! -type d -exec cat {} +
acts    find src | xargs cat
reaches git ls-files | xargs cat

# options that take a word behind them, and those that do not
reaches taskset -c 0 sh -c x
reaches taskset sh -c x
reads   taskset -c 0-3 ls
reaches chrt -b sh -c x
reaches timeout sh -c x
reads   timeout 0.5 ls
reaches ls | xargs --replace sh -c x
reaches ls | xargs --max-lines sh -c x
reaches ls | xargs -i sh -c x
reaches diff --color ../x a.txt
reaches diff --unified ../x a.txt
reads   diff --color=always a.txt b.txt
reaches od -w ../x
reaches stat -f ../x
reaches stat -t ../x
reads   stat -f %z a.txt
reaches ls -T ../x
reads   ls -I '*.pyc'
reaches jq -L x -n 'import "y" as $z; 1'
reaches jq -n 'import "../x" as $z; $z'
reads   jq .important a.txt
reaches find -O3 /etc -name passwd
reaches find -D tree /etc
reaches find -files0-from a.txt
reads   find -O2 src -name a.py

# files named in files
reaches gcc @a.txt
acts    npm ls @types/node
reaches du --files0-from=a.txt
reaches md5sum -c a.txt
reaches sha256sum --check a.txt
reaches file -f a.txt
reaches tar cf - -T a.txt
reaches zip -@ - < a.txt
reaches 7z a x.7z -i@a.txt
reaches rsync --files-from=a.txt . x
reaches wc --files0-from=-

# names that are found are shown
reaches for f in /etc/*; do echo $f; done
reaches for f in ../*; do echo; done
reaches for f in src/a.py ~/*; do echo $f; done
reads   for f in src/*.py; do echo $f; done
reaches for f in a.*; do echo $(<$f); done

# programs in the line
reaches awk 'BEGIN{ARGV[1]="/etc/passwd";ARGC=2}{print}'
reaches awk 'BEGIN{SYMTAB["x"]=1}'
reaches ghc -e 'x'
reaches hy -c 'x'
reaches janet -e '(os/shell "x")'
reaches perl-rename 'unlink("a.txt")' a.txt
reaches rename 'unlink("a.txt")' a.txt
reaches mlr -n put 'end{system("x")}'
reaches exiftool -if 'system("x")' a.jpg
reaches frobnicate -e 'system("x")'
reaches frobnicate --eval='x()'
reaches frobnicate --init-expr 'x();'
acts    pytest -k 'a and not b'
acts    rspec a.rb -e 'does it'
acts    frobnicate -c a.toml
reaches pdflatex -shell-escape a.tex
reaches lualatex '\directlua{os.execute("x")}'
reaches latexmk -pdflatex='sh x' a.tex
acts    latexmk -pdf a.tex
reaches cmake -E rm -rf src
acts    cmake --build build
reaches make 'x=$(shell rm a.txt)'
reaches bmake -V '${:!rm a.txt!}'
reaches npm run env -- sh -c x
reaches npm run build sh
reaches yarn workspaces foreach exec sh
reaches cargo run -- curl x
acts    npm run build
reaches hg status --config alias.status=!rm
reaches svn diff --config-option config:helpers:diff-cmd=x
reaches fd . -X rm
reaches fd -x cat
reaches fdfind -tf --exec sh
acts    fd foo src

# other agents, and what drives other programs
reaches acpagent run x
reaches claude -p x
reaches codex exec x
reaches aider x
reaches xdotool type x
reaches gdbus call x
reaches adb shell
"""

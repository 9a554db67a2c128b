"""More rows for the table of shell lines: what builtins and programs do that their words hardly show."""

from __future__ import annotations

TABLE = r"""
# values that are read once more
reaches readonly -a 'x=($(rm a.txt))'
reaches declare -a 'CI=($(rm a.txt))'
reaches export -a 'CI=([$(rm a.txt)]=1)'
reaches declare -A 'CI+=([$(rm a.txt)]=1)'
reaches x=(1); declare 'x=($(rm a.txt))'
reaches y='($(rm a.txt))'; readonly -a x=$y
reaches y='($(rm a.txt))'; declare -a "x=$y"
reaches x=(1); y='($(rm a.txt))'; declare x=$y
reaches readonly x='(a)b'
reaches x='a[$(rm a.txt)]'; y=([x]=1)
reaches x='a[$(rm a.txt)]'; y+=(0 ["x"]=1)
reaches x='a[$(rm a.txt)]'; readonly y=([x]=1)
reaches declare -A y=([a]=1)
reaches RANDOM='a[$(rm a.txt)]'
reaches OPTIND='a[$(rm a.txt)]'
reaches HISTCMD='a[$(rm a.txt)]'
reaches for SECONDS in 'a[$(rm a.txt)]'; do echo; done
reaches read RANDOM <<< 'a[$(rm a.txt)]'
reaches mapfile SECONDS <<< 'a[$(rm a.txt)]'
reaches readonly SRANDOM='a[$(rm a.txt)]'
reads   y=([0]=a [1]=b)
reads   y=('[x]=1')
reads   readonly -a y=(a b)
reads   local y=(a $(ls))
reads   readonly -a x
reads   readonly x=$(ls)
reaches mapfile -C eval -c 1 x < a.txt
reaches mapfile -tC rm x < a.txt
reaches mapfile -tc1 -tC eval x <<< '; rm a.txt'
reaches readarray -tceval x < a.txt
reads   mapfile -t x < a.txt
reads   mapfile -tn3 x < a.txt
reads   mapfile -t -d '' x < a.txt
reaches mapfile -t PATH < a.txt
reads   read -ra x < a.txt
reads   read -rn1 x < a.txt
reaches printf '%n' PATH; ls
reaches printf 'abc%5n' PATH
reaches printf '%s%-*n' a 3 PATH
reaches printf "%""ln" x
reaches printf -- '%hn' PATH
reaches printf -v x '%n' PATH
reaches printf -v x -v PATH y
reaches x='%n'; printf "a$x" PATH
reads   printf '%s\n' a
reads   printf '100%%n %d' 1
reads   printf '\x25n' PATH
reads   printf '%s' '%n'
reads   printf -v x '%s' a

# one word that stands for several
acts    uniq src/*.py
reaches uniq ./*.txt
acts    xxd src/*.py
reaches find . -type f -exec uniq {} +
acts    find src -type f -print0 | xargs -0 xxd
reads   xxd a.txt | head

# what lies behind links
reaches grep -R foo .
reads   grep -R foo src
reaches grep -nR foo links
reaches grep --dereference-rec foo .
reaches grep --deref foo .
reads   grep -rn foo .
reaches ls -LR .
reads   ls -L src
reaches diff links src
reads   diff src tools
reaches rg -L foo
acts    rg -L foo src
reaches tree -l
reaches du -L links
reaches cp -rL links x
acts    cp -r links x
reaches zip -r x.zip links
acts    zip -r x.zip src
reaches cat .*/x
reaches cat .?/x
reads   cat ?./x

# other ways to be told what to do
acts    jq -n -f a.txt
acts    jq -rf a.txt b.txt
reaches rg -z foo
reaches date --set=2020-01-01
reaches date -us2020-01-01
reaches hostname -Fa.txt
acts    git bisect start
reaches git bisect view gitk
reaches split --filter='rm a.txt' a.txt
reaches gcc --some-wrapper=x a.c
reaches bash /dev/stdin <<< 'rm x'
reaches cat a.txt | python3 /dev/stdin
reaches python3 -m coverage run -m http.server
acts    python3 -m coverage run -m pytest
"""

"""What reaches further than a line's text tells: programs by name, and variables that change what runs. Tables."""

from __future__ import annotations

import re
from collections.abc import Mapping

from acpagent.permission.tables import words

UNPACKS = "which files it changes stands in what it unpacks or applies, not in the line"
_BY_REASON: Mapping[str, str] = {
    "it runs with the rights of somebody else": (
        "sudo doas su runuser pkexec chroot unshare nsenter setpriv capsh gosu su-exec newgrp sg run0 setarch fakeroot"
    ),
    "it uses the network": (
        "curl wget nc ncat netcat socat telnet ftp sftp tftp ssh scp sshpass mosh autossh ssh-copy-id rsync rclone "
        "lftp aria2c axel http https httpie xh dig nslookup host whois ping ping6 traceroute mtr nmap tcpdump openssl "
        "mail mailx sendmail mutt s-nail swaks lynx links w3m elinks irssi weechat ngrok cloudflared tailscale "
        "wg wg-quick openvpn ab wrk hey siege croc magic-wormhole wormhole youtube-dl yt-dlp websocat grpcurl"
    ),
    "it works on other machines or for everybody": (
        "docker docker-compose podman buildah skopeo nerdctl ctr crictl kubectl helm minikube kind k3s oc terraform "
        "tofu pulumi ansible ansible-playbook vagrant packer aws gcloud gsutil az doctl heroku vercel netlify fly "
        "flyctl railway wrangler firebase gh glab hub lxc lxd incus virsh qemu-system-x86_64 multipass serverless "
        "sam cdk databricks snowsql psql mysql mariadb mongo mongosh redis-cli mysqldump pg_dump pg_restore createdb "
        "dropdb eb ecs-cli act nomad consul vault salt salt-call chef-client knife puppet fab cap kubectx argocd "
        "istioctl"
    ),
    "it installs or removes packages": (
        "apt apt-get aptitude dpkg dnf yum rpm zypper pacman yay apk brew port snap flatpak emerge nix nix-env "
        "nix-shell nix-build guix npx pnpx bunx uvx pipx conda mamba micromamba easy_install cpan cpanm luarocks "
        "opam asdf mise rtx nvm fnm volta rustup sdkman sdk rbenv pyenv corepack installer softwareupdate winget "
        "choco scoop yaourt degit cookiecutter copier create-react-app yo"
    ),
    "it works on the machine itself": (
        "shutdown reboot halt poweroff init telinit systemctl service launchctl rc-service sysctl modprobe insmod "
        "rmmod mount umount swapon swapoff losetup fdisk parted gdisk sfdisk mkfs mke2fs mkswap wipefs cryptsetup "
        "lvm pvcreate vgcreate lvcreate dd dcfldd hdparm fsck tune2fs debugfs mknod blkdiscard grub-install "
        "efibootmgr kexec iptables ip6tables nft ufw firewall-cmd ip ifconfig route brctl iw nmcli useradd userdel "
        "usermod groupadd groupdel passwd chpasswd chsh chfn visudo vipw gpasswd hostnamectl timedatectl localectl "
        "loginctl setenforce crontab at batch atd anacron systemd-run setcap setfacl chattr ldconfig "
        "update-alternatives dpkg-reconfigure diskutil defaults csrutil spctl pmset networksetup scutil dscl nvram "
        "osascript open xdg-open security"
    ),
    UNPACKS: (
        "cpio pax uudecode unshar dpkg-deb unsquashfs quilt unar aunpack atool dtrx munpack ripmime arj unarj lha "
        "unace cabextract innoextract msiextract rpm2archive hdiutil guestmount"
    ),
    "it is an agent of its own, or drives other programs": (
        "acpagent claude codex gemini aider opencode goose cursor-agent amp crush qwen copilot openhands reasonix soba "
        "llm ollama interpreter xdotool ydotool wtype dotool wmctrl dbus-send gdbus qdbus busctl gsettings dconf "
        "flatpak-spawn machinectl toolbox distrobox adb fastboot"
    ),
    "it ends other programs": "kill killall pkill xkill skill killall5 fuser",
    "it runs what is not told": (
        "eval source . exec getopts trap alias unalias enable hash shopt complete compgen bind fc history logout "
        "setsid disown script expect screen tmux dtach zellij abduco byobu parallel sem entr watchman "
        "watchexec nodemon inotifywait fswatch chronic ts vipe vidir pee run-parts start-stop-daemon daemonize "
        "supervisord supervisorctl pm2 forever foreman overmind honcho concurrently strace ltrace gdb lldb valgrind "
        "perf rr dtrace dtruss bpftrace rlwrap unbuffer flock faketime proot bwrap firejail systemd-nspawn "
        "mlr rename prename perl-rename file-rename exiftool logrotate "
        "busybox toybox direnv coproc caller wasmtime wine qemu-x86_64 "
        "m4 gpg gpg2 age pass ssh-add ssh-agent ssh-keygen keychain op bw secret-tool kinit"
    ),
    "it opens an editor or a pager, which can run anything": (
        "vi vim nvim view ex ed emacs emacsclient nano pico joe micro helix hx code subl man info less more most lv "
        "vimdiff rvim rview gview gvim mcedit kak top htop btop watchgnupg mc ranger nnn lf tig lazygit fzf"
    ),
    "it copies what is shown or typed": "xclip xsel pbcopy pbpaste wl-copy wl-paste screencapture scrot import",
}  # fmt: skip
REACHING: Mapping[str, str] = {name: reason for reason, names in _BY_REASON.items() for name in names.split()}

# Interpreters, and the options after which a file of the program still follows.
SHELLS: frozenset[str] = words(
    "sh bash dash zsh ksh mksh ash fish csh tcsh rbash pwsh powershell nu elvish posh yash oksh osh ysh loksh"
)
INTERPRETERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(SHELLS, frozenset({"-e", "-u", "-x", "-eu", "-ex", "-eux", "-n"})),
    "python": frozenset({"-u", "-B", "-O", "-OO", "-I", "-E", "-s", "-S", "-b", "-v", "-q", "-bb"}),
    "pypy": frozenset({"-u", "-B", "-O"}),
    "node": frozenset({"--test", "--check", "-c", "--trace-warnings", "--no-warnings", "--experimental-strip-types",
                       "--enable-source-maps", "--test-only", "--expose-gc", "--trace-deprecation"}),
    "nodejs": frozenset(), "deno": frozenset(), "bun": frozenset(), "tsx": frozenset(), "ts-node": frozenset(),
    "perl": frozenset({"-w", "-T", "-c"}), "ruby": frozenset({"-w", "-c"}), "php": frozenset({"-l"}),
    "lua": frozenset(), "luajit": frozenset(), "tclsh": frozenset(), "wish": frozenset(), "Rscript": frozenset(),
    "R": frozenset(), "julia": frozenset(), "groovy": frozenset(), "scala": frozenset(), "clojure": frozenset(),
    "guile": frozenset(), "racket": frozenset(), "sbcl": frozenset(), "erl": frozenset(), "escript": frozenset(),
    "elixir": frozenset(), "iex": frozenset(), "irb": frozenset(), "ipython": frozenset(), "swipl": frozenset(),
    "ghci": frozenset(), "runghc": frozenset(), "ocaml": frozenset(), "jshell": frozenset(), "kotlin": frozenset(),
    "sqlite3": frozenset(), "duckdb": frozenset(), "gnuplot": frozenset(), "octave": frozenset(), "bc": frozenset(),
    "dc": frozenset(), "jrunscript": frozenset(), "node-gyp": frozenset(), "qjs": frozenset(), "d8": frozenset(),
    **dict.fromkeys(words(
        "hy janet gforth ecl ccl clisp abcl sml poly newlisp scheme chez petite mit-scheme gosh csi chibi-scheme bb "
        "clj fennel moon luau lune txr pike gst rexx regina ghc runhaskell utop coffee babel-node zx vite-node jiti "
        "llrt quickjs hermes tjs micropython jython graalpy ipy bpython ptpython jruby mruby truffleruby rakudo "
        "dotnet-script csharp fsi fsharpi cling maxima sage gp magma gap scilab octave-cli matlab mathematica "
        "wolframscript yacas jconsole apl texlua kotlinc scala-cli amm arturo factor"
    ), frozenset()),
    "xonsh": frozenset(), "perl6": frozenset(), "raku": frozenset(), "crystal": frozenset(), "nim": frozenset(),
}  # fmt: skip
# Modules of Python that do no more than a program of the workspace does.
PYTHON_MODULES: frozenset[str] = words(
    "pytest unittest mypy ruff black isort flake8 pylint pyflakes pycodestyle coverage compileall py_compile doctest "
    "json.tool tabnanny pyright bandit vulture sphinx mkdocs behave nose2 pytype autopep8 yapf docformatter"
)
_VERSION = re.compile(r"-?\d[\d.]*\Z")

# Variables that change what runs, and those that do nothing of the kind.
_STEERING = re.compile(
    r"S?RANDOM|SECONDS|OPTIND|HIST.*|LINENO|EPOCH.*|E?UID|PPID|BASHPID|DIRSTACK|GROUPS|TMOUT"  # sums, some of them
    r"|PATH|ENV|IFS|CDPATH|HOME|SHELL|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|POSIXLY_CORRECT|GLOBIGNORE|FCEDIT|HISTFILE"
    r"|EDITOR|VISUAL|.*PAGER|BROWSER|.*_EDITOR|.*_PROXY|.*_proxy|LD_.*|DYLD_.*|BASH_.*|GIT_.*|SSH_.*|LESS.*|MAN.*|MORE"
    r"|PYTHON(?!DONTWRITEBYTECODE|UNBUFFERED|HASHSEED|WARNINGS|UTF8|IOENCODING|FAULTHANDLER).*|NODE_(?!ENV\Z).*|NPM_.*"
    r"|npm_.*|RUBY.*|GEM_.*|BUNDLE_.*|PERL.*|JAVA_.*|_JAVA.*|JDK_.*|MAVEN_.*|GRADLE_.*|CLASSPATH|PHP.*|LUA.*|TCL.*|R_.*"
    r"|XDG_.*|TMPDIR|TMP|TEMP|RIPGREP_.*|GREP_.*|TAR.*|RSYNC.*|GZIP|XZ_.*|ZSTD_.*|BZIP.*|MAKEFLAGS|MFLAGS|GNUMAKEFLAGS|MAKE.*"
    r"|CC|CXX|CPP|LD|AR|AS|RUSTC.*|RUSTFLAGS|CARGO_(?!TERM).*|GO(?!OS\Z|ARCH\Z|FLAGS_NONE).*|CGO_(?!ENABLED\Z).*|PIP_.*|UV_.*"
    r"|POETRY_.*|CONDA_.*|DOCKER_.*|KUBE.*|AWS_.*|GOOGLE_.*|AZURE_.*|TERMINFO.*|TERMCAP|LOCPATH|NLSPATH|GCONV_PATH"
    r"|LOCALDOMAIN|RES_OPTIONS|HOSTALIASES|MALLOC_.*|GCC_.*|COMPILER_PATH|LIBRARY_PATH|CPATH|.*_INCLUDE_PATH|PKG_CONFIG.*"
    r"|CMAKE_.*|PROJ_.*|OPENSSL_.*|SSL_.*|CURL_.*|WGETRC|NETRC|VIM.*|EXINIT|EMACS.*|INPUTRC|SUDO_.*|COMSPEC|PATHEXT"
    r"|ZDOTDIR|FPATH|fpath|path|KSH_.*|TEXTDOMAIN.*|FUNCNEST|.*_COMMAND|.*_CMD|.*_HOOK|.*_EXEC|.*_LAUNCHER|.*_WRAPPER"
    r"|.*PRELOAD.*|DOTNET_.*|ASPNETCORE_.*|ELECTRON_.*|PYTEST_ADDOPTS|PYTEST_PLUGINS|PYTEST_.*|JEST_.*|BAZEL_.*|POSIX.*"
)
_HARMLESS = re.compile(
    r"NODE_ENV|CI|DEBUG|VERBOSE|FORCE_COLOR|NO_COLOR|CLICOLOR.*|LANG|LANGUAGE|LC_.*|TZ|RUST_BACKTRACE|RUST_LOG|COLUMNS|LINES"
    r"|TERM|PYTHON(DONTWRITEBYTECODE|UNBUFFERED|HASHSEED|UTF8)|CGO_ENABLED|GOOS|GOARCH|LOG_LEVEL|COLORTERM|CARGO_TERM_.*"
)


def canonical(name: str) -> str:
    """The name that the tables have for a program: without a version at its end, and in small letters where only
    those are known (some file systems take no notice of case)."""
    for each in (name, _VERSION.sub("", name), name.lower(), _VERSION.sub("", name.lower())):
        if each in REACHING or each in INTERPRETERS:
            return each
    return name


def steers(variable: str) -> bool:
    """Whether a variable can change what programs run, or what they do."""
    return _STEERING.fullmatch(variable) is not None


def is_harmless(variable: str) -> bool:
    return _HARMLESS.fullmatch(variable) is not None

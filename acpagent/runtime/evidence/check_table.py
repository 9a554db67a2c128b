"""What is known of commands that check a project: data for `checks`, which says how it is read."""

from __future__ import annotations

from typing import Literal

CheckKind = Literal["test", "lint", "typecheck", "build"]

# A command that begins with these words, options aside; options that are written here must be there, too.
COMMANDS: dict[CheckKind, str] = {
    "test": """
        pytest; py.test; unittest; nose2; tox; nox; hatch test; behave; robot; jest; vitest; mocha; ava;
        playwright test; cypress run; karma start; ng test; node --test; deno test; bun test; npm test; npm t;
        pnpm test; pnpm t; yarn test; cargo test; cargo nextest run; go test; gotestsum; ctest; meson test; swift test;
        xcodebuild test; zig test; zig build test; dotnet test; sbt test; lein test; mix test; stack test; cabal test;
        dune test; dune runtest; rspec; rails test; cucumber; phpunit; paratest; artisan test; composer test; bats;
        prove; busted; bazel test; flutter test; dart test; molecule test; turbo test; nx test
    """,
    "lint": """
        ruff check; ruff format --check; flake8; pylint; pycodestyle; pydocstyle; bandit; black --check; isort --check;
        isort --check-only; pre-commit run; eslint; biome check; biome lint; biome ci; oxlint; prettier --check;
        prettier -c; stylelint; ng lint; npm lint; yarn lint; pnpm lint; deno lint; deno fmt --check; cargo clippy;
        cargo fmt --check; go vet; staticcheck; golangci-lint run; clang-tidy; cppcheck; rubocop; standardrb; brakeman;
        phpcs; php -l; shellcheck; hadolint; yamllint; markdownlint; markdownlint-cli2; ktlint; detekt; mix credo;
        mix format --check-formatted; dotnet format --verify-no-changes; swiftlint; tflint; terraform validate;
        ansible-lint; actionlint; buf lint; flutter analyze; dart analyze; bash -n; sh -n; turbo lint; nx lint
    """,
    "typecheck": """
        mypy; dmypy run; pyright; basedpyright; pyre check; pytype; ty check; pyrefly check; tsc; vue-tsc;
        svelte-check; flow check; deno check; cargo check; phpstan; psalm; srb tc; mix dialyzer
    """,
    "build": """
        cargo build; go build; cmake --build; meson compile; swift build; xcodebuild build; zig build; javac;
        dotnet build; msbuild; sbt compile; lein compile; mix compile; stack build; cabal build; dune build;
        bazel build; vite build; webpack build; next build; nuxt build; astro build; ng build; parcel build; bun build;
        compileall; py_compile; build; hatch build; poetry build; uv build; mkdocs build; sphinx-build; docker build;
        flutter build; tsup; turbo build; nx build
    """,
}

# Commands that change files which they do not name, spelled in the same way; not with one of the options below.
REWRITES = """
    git apply; git am; git checkout; git restore; git reset; git revert; git merge; git rebase; git cherry-pick;
    git stash; git pull; patch; black; isort; autopep8 -i; yapf -i; ruff format; ruff check --fix; eslint --fix;
    prettier --write; prettier -w; biome format --write; stylelint --fix; cargo fmt; cargo fix; rustfmt; go fmt;
    gofmt -w; goimports -w; clang-format -i; rubocop -a; rubocop -A; dart format; terraform fmt; mix format;
    dotnet format; php-cs-fixer fix; perl -pi; npm install; npm ci; npm update; yarn add; pnpm add; pnpm install;
    go mod tidy; go generate; cargo add
"""
HARMLESS = frozenset({"--check", "--check-only", "--diff", "--dry-run", "--help", "--list", "-l", "--version"})

# What projects call their targets and scripts, up to a colon or dash: `test:unit`, `lint-js`, `build_docs`.
NAMES: dict[str, CheckKind] = {
    **dict.fromkeys(("test", "tests", "check", "checks", "spec", "specs", "unittest", "verify", "ci", "e2e"), "test"),
    **dict.fromkeys(("lint", "linter", "eslint", "ruff", "clippy", "vet", "pylint", "flake8"), "lint"),
    **dict.fromkeys(("types", "type", "typecheck", "mypy", "tsc", "pyright"), "typecheck"),
    **dict.fromkeys(("build", "compile", "all", "package", "assemble", "dist"), "build"),
}

# Programs whose words are targets in any order, and what they do without any.
TARGETED: dict[str, CheckKind | None] = {
    "make": "build", "ninja": "build", "mvn": None, "gradle": None, "just": None, "task": None, "rake": None,
    "invoke": None, "inv": None, "mage": None,
}  # fmt: skip
# Programs that run a script of the project by its name, behind one of these words.
SCRIPTED = frozenset({"npm", "pnpm", "yarn", "bun", "composer", "deno"})
SCRIPT_WORDS = frozenset({"run", "run-script", "task"})
# Those of them that also run any program of the project, by its name alone.
DIRECT = frozenset({"pnpm", "yarn", "bun"})
# Programs that run a file of the project.
INTERPRETERS = frozenset({"python", "node", "ruby", "php", "bash", "sh", "zsh", "perl", "deno", "bun"})
SHELLS = frozenset({"bash", "sh", "dash", "zsh"})
ALIASES = {"gradlew": "gradle", "mvnw": "mvn", "gmake": "make", "py": "python", "pypy": "python", "pytest-3": "pytest"}

# Options that take the next word as their value: it is no subcommand and no target.
VALUED: dict[str, frozenset[str]] = {
    "npm": frozenset({"--prefix", "-C", "-w", "--workspace"}),
    "pnpm": frozenset({"-C", "--dir", "-F", "--filter"}),
    "yarn": frozenset({"--cwd"}),
    "bun": frozenset({"--cwd"}),
    "make": frozenset({"-C", "-f", "-I", "--directory", "--file"}),
    "ninja": frozenset({"-C", "-f"}),
    "cargo": frozenset({"-C", "--manifest-path", "--config", "--color"}),
    "go": frozenset({"-C"}),
    "mvn": frozenset({"-f", "--file", "-pl", "--projects", "-P", "-s"}),
    "gradle": frozenset({"-p", "-b", "-x", "--exclude-task", "--project-dir"}),
    "just": frozenset({"-f", "--justfile", "-d", "--working-directory"}),
    "docker": frozenset({"-H", "--context"}),
    # And of what runs the command behind it.
    "env": frozenset({"-u", "--unset", "-C", "--chdir"}),
    "timeout": frozenset({"-s", "--signal", "-k", "--kill-after"}),
    "time": frozenset({"-o", "-f"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "xvfb-run": frozenset({"-n", "-s", "-e", "-f"}),
    "exec": frozenset({"-a"}),
    "npx": frozenset({"-p", "--package"}),
    "uvx": frozenset({"--from", "--with", "-p", "--python"}),
    "uv run": frozenset({"--with", "-p", "--python", "--group", "--extra", "--package", "--project", "--directory"}),
    "pdm run": frozenset({"-p"}),
    "conda run": frozenset({"-n", "--name", "-p", "--prefix"}),
    "npm exec": frozenset({"-p", "--package"}),
    "python": frozenset({"-W", "-X"}),
    "coverage run": frozenset({"--source", "--rcfile", "--data-file", "--include", "--omit"}),
}
# What runs the command behind it, as one word or two, and how many more words stand before that command.
WRAPPERS: dict[str, int] = {
    "env": 0, "timeout": 1, "time": 0, "nice": 0, "stdbuf": 0, "xvfb-run": 0, "command": 0, "exec": 0, "npx": 0,
    "bunx": 0, "uvx": 0, "cross-env": 0, "uv run": 0, "poetry run": 0, "pdm run": 0, "pipenv run": 0, "hatch run": 0,
    "rye run": 0, "conda run": 0, "bundle exec": 0, "npm exec": 0, "pnpm exec": 0, "pnpm dlx": 0, "yarn exec": 0,
    "yarn dlx": 0,
}  # fmt: skip

# With one of these a command tells, lists, watches or repairs instead of checking; by program, "" for all.
IDLE: dict[str, frozenset[str]] = {
    "": frozenset(
        {
            "--help", "-h", "--version", "--collect-only", "--co", "--list", "--list-tests", "--listTests", "--dry-run",
            "--just-print", "--fixtures", "--markers", "--setup-plan", "--no-run", "--show-files", "--init", "--watch",
            "--watchAll", "--fix", "--write", "--print-config", "--showConfig", "--show-settings",
        }
    ),
    "make": frozenset({"-n", "-q", "-t", "--question", "--touch"}),
    "ctest": frozenset({"-N", "--show-only"}),
    "tox": frozenset({"-l", "list", "config"}),
    "nox": frozenset({"-l"}),
    "rake": frozenset({"-T", "-n"}),
    "cargo": frozenset({"help"}),
    "go": frozenset({"help", "-list", "-c", "-n"}),
}  # fmt: skip
# With one of these it passes where there is nothing to run, and says so; by program, "" for all.
LENIENT: dict[str, frozenset[str]] = {"": frozenset({"--passWithNoTests", "--pass-with-no-tests"})}
# With one of these it says that all is well whatever it found; by program, "" for all.
FORGIVING: dict[str, frozenset[str]] = {
    "": frozenset({"--exit-zero", "--if-present"}),
    "make": frozenset({"-i", "--ignore-errors"}),
    "mvn": frozenset(
        {"-fn", "--fail-never", "-DskipTests", "-DskipTests=true", "-Dmaven.test.skip=true",
         "-Dmaven.test.failure.ignore=true"}
    ),
    "ctest": frozenset({"--no-tests=ignore"}),
}  # fmt: skip

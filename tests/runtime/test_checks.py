"""Which commands count as checks, and when their exit status says how the check went."""

from __future__ import annotations

import pytest

from acpagent.core.shellparse import parse
from acpagent.runtime.evidence.checks import Check, recognise, rewrites

KINDS = {
    "test": """
        pytest | pytest -q tests/test_x.py | .venv/bin/pytest -x | python -m pytest
        python3.11 -W error -m pytest -q | python -m unittest discover | uv run pytest
        uv run --with x --group dev pytest -q | poetry run pytest | poetry run python -m pytest
        coverage run -m pytest | coverage run --source src -m pytest | pipenv run tox -e py311 | env CI=1 pytest
        CI=1 pytest | timeout 60 pytest | timeout -k 5 1m python -m pytest | time pytest | nice -n 5 pytest
        cd web && npm test | npm run test:unit | npm t | npm --prefix web test | npm test -- --runInBand
        pnpm -r test | pnpm --filter web test | pnpm vitest run | yarn test | yarn jest src | yarn run test
        bun test | bun run test | npx jest | npx --yes vitest run | npx playwright test | cargo test
        cargo +nightly test | cargo nextest run | cargo --color always test --workspace | go test ./...
        go -C sub test ./... | make test | make -C sub -j 4 check | make lint test | gmake test | tox | nox -s tests
        ./gradlew test | gradle :app:test --info | ./mvnw -q verify | mvn test | dotnet test
        ctest --output-on-failure | bundle exec rspec | vendor/bin/phpunit | php artisan test | rake test
        just test | python manage.py test app | python tools/dev.py test | ./test.sh | bash scripts/test.sh
        ./run_tests.py | node --test | deno test -A | mix test | zig build test | swift test | bash -c "pytest -q"
        sh -ec "cd x && pytest" | (cd sub && pytest) | set -o pipefail; pytest \\| tee log | pytest && echo fine
        set -euo pipefail; pytest \\| tail; echo fine | cd sub; pytest | pytest -q 2>&1 | pytest > out.txt
        { pytest; } \\|\\| exit 1
        { pytest -q; } | pytest \\|\\| exit 1 | cd x && pytest \\|\\| false | bash -o pipefail -c "pytest \\| tail"
        bash -euo pipefail -c "pytest \\| tail; echo" | bash -ec "pytest; echo fine" | cd a; true; pytest
        jest --passWithNoTests --watch=false
        pytest -n 4 | conda run -n env pytest | exec pytest | hatch test | python test_thing.py
        """,
    "lint": """
        ruff check . | python -m ruff check | ruff format --check . | black --check src | flake8 | eslint .
        npx eslint src | yarn eslint . | npm run lint | pnpm lint:js | cargo clippy -- -D warnings
        cargo fmt --check | go vet ./... | golangci-lint run | pre-commit run --all-files | make lint
        shellcheck x.sh | bash -n x.sh | prettier --check . | rubocop | terraform validate
        """,
    "typecheck": """
        mypy | mypy src | python -m mypy -p x | uv run mypy | pyright | npx tsc --noEmit | tsc -p .
        npm run typecheck | yarn type-check | cargo check --all-targets | make typecheck
        vendor/bin/phpstan analyse
        """,
    "build": """
        cargo build --release | go build ./... | make | make -j8 | make all | npm run build | yarn build:prod
        tox -e build | cmake --build out | ninja -C out | mvn -B package | ./gradlew assemble | dotnet build
        python -m build | python -m compileall src | docker build . | javac A.java
        """,
}
NOTHING = """
    ls | cat tests/test_x.py | echo pytest | grep -r pytest . | git test | pip install pytest | npm install | npm ci
    npm install test | npm run dev | npm run | npm start | cargo run | cargo add test | go run ./test | go mod tidy
    git commit -m test | python -c "import pytest" | python gen.py | node server.js | pytest --help
    pytest --version | pytest --collect-only | pytest --co -q | cargo test --no-run | cargo help test | make -n test
    make clean | make clean FOO=test | make install | ruff format . | ruff check --fix | eslint --fix . | black .
    prettier --write . | which pytest | type pytest | gradle clean | mvn clean | mvn -v
    gradle -x test dependencies | tox -l | rake -T | docker run test | sudo | true | man pytest | "pytest is great"
    $RUNNER test | vim tests | timeout 60 | env | uv sync | npx cowsay test | ctest -N
    go test -list . | go test -c | jest --watch=true | ctest --show-only=json-v1
    """
MASKED = """
    pytest \\|\\| true | pytest; true | pytest; echo $? | pytest ; exit 0 | pytest \\| tail
    pytest 2>&1 \\| head -5 | pytest & | pytest \\| tee log && echo | ! pytest | false \\|\\| pytest
    if pytest; then echo; fi | while pytest; do break; done | echo $(pytest) | f() { pytest; }; f
    pytest() { true; }; pytest | trap "exit 0" EXIT; pytest | pylint --exit-zero x | npm test --if-present
    pytest \\|\\| exit 0 | { pytest; } \\| tail | { pytest; true; }
    { pytest; true; } \\|\\| exit 1 | pytest; ls \\|\\| false | pytest \\|\\| exit 1; true
    (pytest) &
    mvn verify -DskipTests | make -i test | case x in x) pytest;; esac
    bash -c "pytest; true" | bash -c "pytest" \\| tail | pytest \\|& cat | pytest "unclosed | set +e; pytest; echo
    """


def lines(text: str) -> list[str]:
    """What stands between bars, a bar of the shell's own being written with a backslash."""
    whole = "|".join(text.strip().splitlines()).replace("\\|", "\0")
    return [line.strip().replace("\0", "|") for line in whole.split("|") if line.strip()]


@pytest.mark.parametrize(("kind", "line"), [(kind, line) for kind, text in KINDS.items() for line in lines(text)])
def test_a_check_that_counts(kind: str, line: str) -> None:
    (check,) = recognise(parse(line))
    expected = {"make lint test": "lint", "tox -e build": "test"}.get(line, kind)
    assert (check.kind, check.masked) == (expected, "")


@pytest.mark.parametrize("line", lines(NOTHING))
def test_what_is_no_check(line: str) -> None:
    assert recognise(parse(line)) == ()


@pytest.mark.parametrize("line", lines(MASKED))
def test_a_check_whose_failure_does_not_show(line: str) -> None:
    found = recognise(parse(line))
    assert found
    assert all(check.masked for check in found)


REWRITES = """
    black . | ruff format | uv run ruff check --fix src | npx eslint --fix . | git stash | git checkout -- a
    cd x && cargo fmt | patch -p1 < x.diff | npm install x | python -m isort . | gofmt -w a.go
    """
KEEPS = """
    black --check . | ruff format --diff | ruff check . | eslint . | git diff | git status | git commit -m x
    git add -A | cargo fmt --check | gofmt -l . | prettier . | pytest | npm test | ls | git push
    """


@pytest.mark.parametrize("line", lines(REWRITES))
def test_what_changes_files_without_naming_them(line: str) -> None:
    assert rewrites(parse(line))


@pytest.mark.parametrize("line", lines(KEEPS))
def test_what_leaves_files_as_they_are(line: str) -> None:
    assert not rewrites(parse(line))


def test_several_checks_of_one_line() -> None:
    found = recognise(parse("ruff check . && mypy && cd web && timeout 60 npx jest -t 'a b'"))
    assert found == (Check("lint", "ruff check ."), Check("typecheck", "mypy"), Check("test", "jest -t a b"))


def test_the_same_check_elsewhere_is_another() -> None:
    keys = [recognise(parse(line))[0].key for line in ("pytest", "cd a && pytest", "cd b && pytest", "X=1 pytest")]
    assert len(set(keys)) == 3
    assert keys[0] == keys[3]


def test_leaving_with_a_failure_changes_nothing_behind_a_check() -> None:
    assert [check.last for check in recognise(parse("pytest || exit 1"))] == [True]
    assert [check.last for check in recognise(parse("pytest && touch x"))] == [False]


def test_only_the_last_of_a_sequence_counts() -> None:
    first, second = recognise(parse("mypy; pytest"))
    assert first.masked == "what follows it decides how the line ends"
    assert not second.masked
    assert not any(check.masked for check in recognise(parse("set -e\nmypy\npytest\n")))


def test_a_file_between_the_lines_does_not_make_a_check() -> None:
    assert recognise(parse("cat > x.sh <<'END'\npytest\nEND")) == ()

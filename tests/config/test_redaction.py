"""What is taken out of texts as a secret, what is left, and that it takes no time."""

from __future__ import annotations

import time

import pytest

from acpagent.config.redaction import Secrets

HIDES = {
    'password: "a b c d" x': 'password: "[hidden]" x',
    '{"clientSecret": "abcdef1", "n": 1}': '{"clientSecret": "[hidden]", "n": 1}',
    "make test API_KEY=abcdef1 x": "make test API_KEY=[hidden] x",
    "login --token abcdef1": "login --token [hidden]",
    "the password is hunter2xyz, yes": "the password is [hidden], yes",
    "curl -u me:hunter2 http://h": "curl -u me:[hidden] http://h",
    "mysql -uroot -phunter2 -e x": "mysql -uroot -p[hidden] -e x",
    "sshpass -p hunter2 ssh h": "sshpass -p [hidden] ssh h",
    "https://abcdefabcdef1@h/x": "https://[hidden]@h/x",
    "redis://:hunter2@h/0": "redis://[hidden]@h/0",
    "Authorization: Basic dXNlcjpwYXNz": "Authorization: Basic [hidden]",
    "a xoxb-123456789012-abcdef b": "a [hidden] b",
    "-----BEGIN RSA PRIVATE KEY-----\nab\ncd\n-----END RSA PRIVATE KEY-----\nx": "[hidden]\nx",
    "-----BEGIN PRIVATE KEY----- cut off": "[hidden]",
    "Server=h;Password=abcdef1;": "Server=h;Password=[hidden];",
    "known-secret": "[hidden]",
}
LEAVES = [
    "max_tokens=4096 monkey=banana tokens: 12345678",
    "the key is important here, and the token is expired",
    "docker run -u 1000:1000 image",
    "git clone https://git@github.com/a/b http://h:80/a@b",
    "Basic understanding, npm-run-all and npm-check-updates",
    "def test_token_is_refreshed(): password = ''",
]


@pytest.mark.parametrize("text", HIDES)
def test_a_secret_is_hidden(text: str) -> None:
    assert Secrets(["known-secret"]).strictly(text) == HIDES[text]


@pytest.mark.parametrize("text", LEAVES)
def test_what_is_none_is_left(text: str) -> None:
    assert Secrets(()).strictly(text) == text


@pytest.mark.parametrize(
    "piece",
    ["-", "a_", "token", "--key", " -u a", "mysql ", "redis-cli ", "key= ", "://a:", "\\", "-----BEGIN PRIVATE KEY"],
)
def test_no_text_takes_long(piece: str) -> None:
    """A quadratic one would take minutes."""
    text = piece * (100_000 // len(piece))
    began = time.process_time()
    Secrets(()).strictly(text)
    assert time.process_time() - began < 10

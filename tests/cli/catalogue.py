"""A model server on loopback as `setup` and `doctor` meet them: with a list or without, wanting a key or not, wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-canary-right-4711"
WRONG = "sk-canary-wrong-0815"


class Catalogue:
    """`models` are listed at `/v1/models`, None for no list. `key`: what it wants, for the list too unless that is
    `public_list`. `silent`: connections are taken and never answered. `refusal`: the status of every chat. `page`: it
    is some other web server."""

    def __init__(
        self,
        models: Sequence[Any] | None = ("small", "large", "text-embedding-1"),
        *,
        key: str | None = None,
        public_list: bool = False,
        silent: bool = False,
        refusal: int = 0,
        page: bool = False,
    ) -> None:
        self.models = models
        self.key = key
        self.public_list = public_list
        self.refusal = refusal
        self.page = page
        self.asked: list[tuple[str, str]] = []  # method, path
        self.bodies: list[Any] = []
        self.closing = threading.Event()
        self.silent = silent
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self.port: int = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), name="catalogue")
        self._thread.start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Catalogue:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    owner: Catalogue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do_GET(self) -> None:
        owner = self.server.owner
        owner.asked.append(("GET", self.path))
        if owner.silent:
            owner.closing.wait()
            self.close_connection = True
        elif owner.page:
            self.answer(200, b"<html>hello</html>", "text/html")
        elif self.path != "/v1/models" or owner.models is None:
            self.say(404, {"error": {"message": f"no {self.path} here"}})
        elif owner.public_list or self.has_key():
            rows = [{"id": model, "object": "model"} if isinstance(model, str) else model for model in owner.models]
            self.say(200, {"object": "list", "data": rows})

    def do_POST(self) -> None:
        owner = self.server.owner
        owner.asked.append(("POST", self.path))
        owner.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        if self.path != "/v1/chat/completions":
            self.say(404, {"error": {"message": f"no {self.path} here"}})
        elif owner.refusal:
            self.say(owner.refusal, {"error": {"message": "I would rather not"}})
        elif self.has_key():
            pieces = ({"delta": {"content": "H"}}, {"delta": {}, "finish_reason": "length"})
            events = "".join(f"data: {json.dumps({'choices': [{'index': 0, **piece}]})}\n\n" for piece in pieces)
            self.answer(200, f"{events}data: [DONE]\n\n".encode(), "text/event-stream")

    def has_key(self) -> bool:
        given, key = self.headers.get("Authorization", ""), self.server.owner.key
        if key is None or given == f"Bearer {key}":
            return True
        self.say(401, {"error": {"message": f"Incorrect API key provided: {given}"}})
        return False

    def say(self, status: int, value: Any) -> None:
        self.answer(status, json.dumps(value).encode(), "application/json")

    def answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what was asked is in `Catalogue.asked`."""

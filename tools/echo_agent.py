"""The floor that `bench.py` compares with: an ACP agent of the standard library that does only what it must.

At start it imports json and threading. On a prompt it asks the model at `BENCH_MODEL` (host:port) with
http.client, passes every piece on as it comes, and runs the model's `read_file` calls. No checks, no history
on disk, no permissions, one thread a prompt.
"""

import json
import sys
import threading

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Read a text file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
]


class Session:
    def __init__(self, id, cwd):
        self.id = id
        self.cwd = cwd
        self.messages = [{"role": "system", "content": "You are a coding agent."}]
        self.cancelled = False
        self.socket = None


class Echo:
    def __init__(self, model):
        self.model = model
        self.sessions = {}
        self.writing = threading.Lock()
        self.connection = None

    def send(self, message):
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
        with self.writing:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    def update(self, session, update):
        self.send({"method": "session/update", "params": {"sessionId": session.id, "update": update}})

    def serve(self):
        for line in sys.stdin.buffer:
            message = json.loads(line)
            method, params, id = message.get("method"), message.get("params"), message.get("id")
            if method == "initialize":
                self.send({"id": id, "result": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}})
            elif method == "session/new":
                session = Session(f"s{len(self.sessions) + 1}", params["cwd"])
                self.sessions[session.id] = session
                self.send({"id": id, "result": {"sessionId": session.id}})
            elif method == "session/prompt":
                session = self.sessions[params["sessionId"]]
                text = "\n".join(block.get("text", "") for block in params["prompt"])
                threading.Thread(target=self.answer, args=(id, session, text), daemon=True).start()
            elif method == "session/cancel":
                self.cancel(self.sessions[params["sessionId"]])

    def cancel(self, session):
        session.cancelled = True
        if session.socket is not None:
            session.socket.shutdown(2)

    def answer(self, id, session, text):
        session.cancelled = False
        session.messages.append({"role": "user", "content": text})
        try:
            while calls := self.ask(session):
                for call in calls:
                    self.call(session, call)
            stop = "end_turn"
        except OSError:
            if not session.cancelled:
                raise
            stop = "cancelled"
        self.send({"id": id, "result": {"stopReason": "cancelled" if session.cancelled else stop}})

    def ask(self, session):
        """One model call; the calls it makes."""
        import http.client

        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.model, timeout=60)
        body = {"model": "tiny", "stream": True, "tools": TOOLS, "messages": session.messages}
        headers = {"Content-Type": "application/json"}
        self.connection.request("POST", "/v1/chat/completions", json.dumps(body).encode(), headers)
        session.socket = self.connection.sock
        try:
            said, calls = self.read(session, self.connection.getresponse())
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            raise OSError("the model's answer broke off") from None
        finally:
            session.socket = None
        reply = {"role": "assistant", "content": "".join(said)}
        session.messages.append(reply | {"tool_calls": calls} if calls else reply)
        return calls

    def read(self, session, response):
        said, calls = [], {}
        for line in response:
            if not line.startswith(b"data: ") or line == b"data: [DONE]\n":
                continue
            for choice in json.loads(line[6:])["choices"]:
                if text := choice["delta"].get("content"):
                    said.append(text)
                    content = {"type": "text", "text": text}
                    self.update(session, {"sessionUpdate": "agent_message_chunk", "content": content})
                for part in choice["delta"].get("tool_calls", ()):
                    call = calls.setdefault(part["index"], {"id": part.get("id"), "type": "function", "function": {}})
                    for key, value in part["function"].items():
                        call["function"][key] = call["function"].get(key, "") + value
        if session.cancelled:
            raise OSError
        return said, list(calls.values())

    def call(self, session, call):
        arguments = json.loads(call["function"]["arguments"])
        shown = {"toolCallId": call["id"], "title": arguments["path"], "kind": "read", "status": "in_progress"}
        self.update(session, {"sessionUpdate": "tool_call", **shown})
        with open(f"{session.cwd}/{arguments['path']}", encoding="utf-8") as file:
            text = file.read()
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        done = {"toolCallId": call["id"], "status": "completed", "content": content}
        self.update(session, {"sessionUpdate": "tool_call_update", **done})
        session.messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})


def main():
    from os import environ

    Echo(environ["BENCH_MODEL"]).serve()


if __name__ == "__main__":
    main()

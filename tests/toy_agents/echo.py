"""A small honest ACP agent, standard library only: it repeats the prompt, and can be told to do more.

Prompts: `wait` runs until it is cancelled; `meet N` runs until N such prompts are there, and then answers
all of them, their chunks interleaved; `fail ...` is answered with an error; anything else is repeated, one
chunk a word. Sessions in `/` tell their commands. What it hears goes to the file `TOY_LOG`, if there is one.
"""

import json
import os
import sys

PAGE = 3


class Echo:
    def __init__(self):
        self.sessions = {}
        self.waiting = {}
        self.meeting = []
        self.asked = 0

    def send(self, **message):
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def update(self, session, kind, /, **fields):
        params = {"sessionId": session, "update": {"sessionUpdate": kind, **fields}}
        self.send(method="session/update", params=params)

    def say(self, session, text):
        self.update(session, "agent_message_chunk", content={"type": "text", "text": text})

    def ask(self, method, **params):
        self.asked += 1
        self.send(id=f"ask-{self.asked}", method=method, params=params)

    def run(self):
        for line in sys.stdin:
            if "TOY_LOG" in os.environ:
                with open(os.environ["TOY_LOG"], "a") as log:
                    log.write(line)
            self.receive(json.loads(line))

    def receive(self, message):
        handler = getattr(self, "on_" + message.get("method", "answer").replace("/", "_").strip("$_"), None)
        if "method" not in message:
            self.on_answer(message)
        elif handler is not None:
            result = handler(message.get("params", {}), message.get("id"))
            if result is not None:
                self.send(id=message["id"], result=result)
        elif "id" in message:
            self.send(id=message["id"], error={"code": -32601, "message": "no such method"})

    def on_answer(self, message):
        pass

    def on_initialize(self, params, id):
        offered = {name: {} for name in ("list", "resume", "close", "delete")}
        capabilities = {"loadSession": True, "sessionCapabilities": offered, "auth": {"logout": {}}}
        info = {"name": "echo", "version": "1"}
        methods = [{"id": "key", "name": "A key"}]
        return {
            "protocolVersion": 1,
            "agentInfo": info,
            "agentCapabilities": capabilities,
            "authMethods": methods,
        }

    def on_authenticate(self, params, id):
        if params["methodId"] == "key":
            return {}
        self.send(id=id, error={"code": -32602, "message": "not offered", "data": {"offered": ["key"]}})

    def on_logout(self, params, id):
        return {}

    def on_session_new(self, params, id):
        session = f"s{len(self.sessions) + 1}"
        self.sessions[session] = params["cwd"]
        self.send(id=id, result={"sessionId": session})
        self.commands(session, params)

    def on_session_load(self, params, id):
        session = params["sessionId"]
        if session == "nope":
            return self.send(id=id, error={"code": -32002, "message": "unknown session"})
        self.update(session, "user_message_chunk", content={"type": "text", "text": "hello"})
        self.say(session, "hello")
        self.send(id=id, result={})
        self.commands(session, params)

    def on_session_resume(self, params, id):
        self.send(id=id, result=None)

    def commands(self, session, params):
        if params["cwd"] == "/":
            commands = [{"name": "help", "description": "Help"}]
            self.update(session, "available_commands_update", availableCommands=commands)

    def on_session_list(self, params, id):
        ids = sorted(id for id, cwd in self.sessions.items() if params.get("cwd") in (None, cwd))
        start = int(params.get("cursor", 0))
        page = [{"sessionId": id, "cwd": self.sessions[id]} for id in ids[start : start + PAGE]]
        return {"sessions": page} | ({"nextCursor": str(start + PAGE)} if start + PAGE < len(ids) else {})

    def on_session_delete(self, params, id):
        self.sessions.pop(params["sessionId"], None)
        return {}

    def on_session_close(self, params, id):
        self.on_session_cancel(params, None)
        return {}

    def on_session_prompt(self, params, id):
        session, text = params["sessionId"], "".join(block.get("text", "") for block in params["prompt"])
        if text == "wait":
            self.waiting[session] = id
            self.say(session, "waiting")
        elif text.startswith("meet "):
            self.meeting.append((session, id))
            if len(self.meeting) == int(text[5:]):
                self.answer_all()
        elif text.startswith("fail"):
            self.say(session, "so far")
            self.send(id=id, error={"code": -32603, "message": "told to fail"})
        else:
            for word in text.split():
                self.say(session, word)
            return {"stopReason": "end_turn"}

    def answer_all(self):
        for part in range(10):
            for session, _ in self.meeting:
                self.say(session, f"{session}.{part} ")
        for _, id in self.meeting:
            self.send(id=id, result={"stopReason": "end_turn"})

    def on_session_cancel(self, params, id):
        id = self.waiting.pop(params["sessionId"], None)
        if id is not None:
            self.send(id=id, result={"stopReason": "cancelled"})


if __name__ == "__main__":
    Echo().run()

"""Asks the client whatever the prompt says, and tells, as JSON, the answers in the order of the questions.

The prompt is a JSON list. Each item is a method and its params, to which the session is added and in which `$T` stands
for the terminal created last. A third item `withdraw` takes the request back at once; `along` does not wait for the
answer before the next one. The prompt `announced` is answered with the client's capabilities.
"""

import json

from echo import Echo


class Runs(Echo):
    def __init__(self):
        super().__init__()
        self.steps = []
        self.answers = {}
        self.sent = []
        self.turn = None
        self.terminal = None

    def on_initialize(self, params, id):
        self.announced = params["clientCapabilities"]
        return super().on_initialize(params, id)

    def on_session_prompt(self, params, id):
        text = params["prompt"][0]["text"]
        self.turn = (params["sessionId"], id)
        if text == "announced":
            self.end(self.announced)
            return
        self.steps, self.answers, self.sent = json.loads(text), {}, []
        self.go_on()

    def go_on(self):
        while self.steps:
            method, params, *how = self.steps.pop(0)
            if params.get("terminalId") == "$T":
                params["terminalId"] = self.terminal
            self.ask(method, **{"sessionId": self.turn[0], **params})
            self.sent.append(f"ask-{self.asked}")
            if "withdraw" in how:
                self.send(method="$/cancel_request", params={"requestId": self.sent[-1]})
            if "along" not in how:
                return
        if len(self.answers) == len(self.sent):
            self.end([self.answers[id] for id in self.sent])

    def on_answer(self, message):
        result = message.get("result", message.get("error"))
        self.answers[message["id"]] = result
        if isinstance(result, dict) and "terminalId" in result:
            self.terminal = result["terminalId"]
        if len(self.answers) == len(self.sent):
            self.go_on()

    def end(self, told):
        session, id = self.turn
        self.say(session, json.dumps(told))
        self.send(id=id, result={"stopReason": "end_turn"})


Runs().run()

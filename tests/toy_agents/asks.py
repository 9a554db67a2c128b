"""Asks for permission in every prompt and tells, as JSON, how it was answered.

The prompt is JSON: `options` to offer, `form` to ask with that schema, `method` and `params` to send something else
instead; `withdraw` takes the question back at once.
"""

import json

from echo import Echo


class Asks(Echo):
    def __init__(self):
        super().__init__()
        self.prompts = {}

    def on_session_prompt(self, params, id):
        wish, session = json.loads(params["prompt"][0]["text"]), params["sessionId"]
        options = [{"optionId": kind, "name": kind, "kind": kind} for kind in wish.get("options", [])]
        call = {"toolCallId": "c1", "title": "Write a file", "status": "pending"}
        self.update(session, "tool_call", **call, kind="edit")
        question = {"sessionId": session, "toolCall": call, "options": options}
        if "form" in wish:
            asked = {"sessionId": session, "toolCallId": "c1", "mode": "form", "message": "Which?"}
            self.ask("elicitation/create", **asked, requestedSchema=wish["form"])
        else:
            self.ask(wish.get("method", "session/request_permission"), **wish.get("params", question))
        self.prompts[f"ask-{self.asked}"] = (session, id)
        if wish.get("withdraw"):
            self.send(method="$/cancel_request", params={"requestId": f"ask-{self.asked}"})

    def on_answer(self, message):
        session, id = self.prompts.pop(message["id"])
        self.update(session, "tool_call_update", toolCallId="c1", status="completed")
        self.say(session, json.dumps(message.get("result", message.get("error"))))
        self.send(id=id, result={"stopReason": "end_turn"})

    def on_session_cancel(self, params, id):
        self.say(params["sessionId"], "cancel ")


Asks().run()

"""Goes on talking about a prompt after it has answered it."""

from echo import Echo


class Late(Echo):
    def on_session_prompt(self, params, id):
        session = params["sessionId"]
        self.say(session, "before")
        self.send(id=id, result={"stopReason": "end_turn"})
        self.say(session, "after")
        self.update(session, "session_info_update", title="Too late")


Late().run()

"""Has modes, of which it says nothing when they are set, and an option that is a boolean. `quick` is its other word for
`fast`, which it then tells; a mode of `moody` it leaves by itself right after its answer."""

from echo import Echo


class Chooses(Echo):
    safe = False

    def options(self):
        boolean = {"id": "safe", "name": "Safe", "type": "boolean", "currentValue": self.safe}
        return {"configOptions": [boolean]}

    def on_session_new(self, params, id):
        modes = [{"id": mode, "name": mode.title()} for mode in ("slow", "fast", "moody")]
        state = {"modes": {"currentModeId": "slow", "availableModes": modes}, **self.options()}
        self.send(id=id, result={"sessionId": "s1", **state})

    def on_session_set_mode(self, params, id):
        session, mode = params["sessionId"], params["modeId"]
        if mode == "wrong":
            return self.send(id=id, error={"code": -32602, "message": "no such mode"})
        if mode == "quick":
            self.update(session, "current_mode_update", currentModeId="fast")
        self.send(id=id, result={})
        if mode == "moody":
            self.update(session, "current_mode_update", currentModeId="slow")

    def on_session_set_config_option(self, params, id):
        if params.get("type") != "boolean" or not isinstance(params["value"], bool):
            return self.send(id=id, error={"code": -32602, "message": "safe is a boolean"})
        self.safe = params["value"]
        return self.options()


Chooses().run()

"""Offers only to list sessions, and every page is followed by the first; has no id for sessions in `/`."""

from echo import Echo


class Circles(Echo):
    def on_initialize(self, params, id):
        return {
            "protocolVersion": 1,
            "agentCapabilities": {"sessionCapabilities": {"list": {}, "close": None}},
        }

    def on_session_new(self, params, id):
        return {"sessionId": "s1"} if params["cwd"] != "/" else {}

    def on_session_list(self, params, id):
        return {"sessions": [], "nextCursor": "0"}

    def on_session_close(self, params, id):
        raise SystemExit(1)


Circles().run()

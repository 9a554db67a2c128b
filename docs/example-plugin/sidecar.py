"""Counts the tool calls of a session, and keeps those away that hold a word which the person does not want."""

import json
import sys

calls, rules = 0, {"word": "", "on": True}
FORM = {"title": "Calls to keep away", "fields": [
    {"key": "on", "label": "Keep calls away?", "kind": "confirm"},
    {"key": "word", "label": "Which word must no call hold?", "kind": "input", "default": "rm"},
    {"key": "tone", "label": "How to say it?", "kind": "select", "default": "plain",
     "options": [{"value": "plain", "label": "Plainly"}, {"value": "kind", "label": "Kindly"}]},
    {"key": "tools", "label": "In calls of what?", "kind": "multiselect", "default": ["bash"],
     "options": [{"value": "bash"}, {"value": "write_file"}]},
]}  # fmt: skip


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def publish(surface, kind, **payload):
    send(method="host/ui/publish", params={"surfaceId": surface, "kind": kind, "payload": payload})


def intercept(event, seq, payload):
    global calls
    calls += 1
    publish("count", "status", label="Calls", detail=str(calls), severity="info")
    if rules["on"] and rules["word"] and rules["word"] in json.dumps(payload["arguments"]):
        return {"decision": "block", "reason": f"a call must not hold {rules['word']!r}"}
    return {"decision": "continue"}


def action(actionId, session, args):
    if args:
        submit("rules", {"word": args, "on": True})
        return {"message": f"Calls with {args!r} are kept away."}
    publish("rules", "form", **FORM)
    return {"message": "Fill in the form."}


def submit(surfaceId, values):
    rules.update(values)
    fields = [{"key": key, "value": str(value)} for key, value in rules.items()]
    publish("card", "card", title="Kept away", fields=fields, actions=[{"actionId": "setup", "label": "Change"}])
    return {}


ANSWERS = {
    "initialize": lambda **_: {"api": 1, "name": "tally"}, "shutdown": dict, "intercept": intercept,
    "ui/action": action, "ui/submit": submit, "tool/call": lambda **_: {"text": f"{calls} calls so far"},
}  # fmt: skip
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        send(id=message["id"], result=ANSWERS[message["method"]](**message["params"]))
    elif message.get("method") == "event":
        publish("count", "status", label="Calls", detail=str(calls))

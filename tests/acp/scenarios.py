"""What several threads of a client may do to a session, drawn by lot from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.acp.session_log import OPENERS, SWITCH

STEER, RELOAD = "_reasonix.io/session/steer", "_reasonix.io/session/reloadExtensions"
METHODS = {
    "steer": STEER,
    "reload": RELOAD,
    "set_mode": "session/set_mode",
    "configure": "session/set_config_option",
    "adjust": "session/set_config_option",
    "close": "session/close",
    "delete": "session/delete",
    "load": "session/load",
    "resume": "session/resume",
    "prompt": "session/prompt",
}
PROMPTS = ["say"] * 5 + ["slow"] * 4 + ["read", "edit", "run"] * 2 + ["sleep", "job", "stall", "stall"]
PROMPTS += ["ask", "note", "finish", "refuse", "fail", "help", "lang", "plan", "plan", "compact", "rewind", "again"]
# Kinds of prompts that are commands; `{}` is the value.
COMMANDS = {
    "help": "/help",
    "lang": "/lang {}",
    "plan": "/plan {}",
    "compact": "/compact",
    "rewind": "/rewind 1",
    "again": "/reload",
    "mcp": "/mcp {}",
    SWITCH: "/sessions resume {}",
}
VALUES = {
    "lang": ["en", "ru", "zh"],
    "plan": ["", "on", "off", "toggle", "goal"],
    "mcp": ["", "reload", "restart s", "stop s", "start s"],
    SWITCH: ["mine", "other"],
}
MODES = ["normal", "normal", "plan", "goal", "agent", "auto"]
AXES = {"model": ["local/one", "local/two"], "effort": ["auto", "low", "high"]}
AXES |= {"work_mode": ["economy", "balanced", "delivery"]}
CONTROLS = {"tool_approval": ["ask", "auto", "yolo"], "mode": MODES}
VERBS = (
    ["prompt"] * 8 + ["steer"] * 4 + ["cancel"] * 2 + ["configure"] * 4 + ["adjust"] * 2 + ["set_mode"] * 2
    + ["reload"] * 2 + ["load", "resume"] + ["withdraw"] * 2
)  # fmt: skip
# What a question is answered with: an option's id (or the first option), no option, an error, nothing.
ANSWERS = ["once"] * 5 + ["deny", "deny", "full", "outcome cancelled", "error", "silence", "silence", "cancel"]


@dataclass(frozen=True)
class Act:
    """One thing that a thread does: `kind` is a kind of prompt or a setting; then it waits for the answer so many
    seconds, or not at all."""

    verb: str
    kind: str = ""
    value: str = ""
    patience: float = 0.0

    def __str__(self) -> str:
        return " ".join(filter(None, (self.verb, self.kind, self.value, self.patience and f"({self.patience:.3f} s)")))


@dataclass(frozen=True)
class Scenario:
    """`served`: the session has a server. `paired`: it can go on as another session."""

    seed: str
    threads: tuple[tuple[Act, ...], ...]
    answers: tuple[str, ...]
    served: bool = False
    paired: bool = False

    def __str__(self) -> str:
        served = " with a server" * self.served + " of two sessions" * self.paired
        lines = [f"thread {n}: {', '.join(map(str, acts))}" for n, acts in enumerate(self.threads)]
        return "\n".join([f"seed {self.seed}{served}", *lines, f"answers: {', '.join(self.answers)}"])

    def smaller(self) -> Iterator[Scenario]:
        """With one thread or one act less."""
        for n in range(len(self.threads)):
            yield replace(self, threads=self.threads[:n] + self.threads[n + 1 :])
        for n, acts in enumerate(self.threads):
            for k in reversed(range(len(acts))):
                left = acts[:k] + acts[k + 1 :]
                yield replace(self, threads=(*self.threads[:n], left, *self.threads[n + 1 :]))


def scenario(seed: int) -> Scenario:
    dice = random.Random(f"interleaving {seed}")
    served, paired = dice.choice([(True, False), (False, True), *[(False, False)] * 8])
    more = ["mcp", "mcp", "pid", "pid"] * 4 if served else [SWITCH] * 12 if paired else []
    draw = Draw(dice, PROMPTS + more, served)
    if paired:  # what rewinds or erases one of two would leave too much open
        draw.prompts = [kind for kind in draw.prompts if kind not in ("rewind", "compact")]
    threads = [[draw.act() for _ in range(dice.randint(3, 8))] for _ in range(dice.choice([2, 3, 3, 4]))]
    if dice.random() < 0.35:
        for verb in dice.choices(
            ["close"] * (4 if paired else 3) + ["delete"] * (not paired), k=dice.choice([1, 1, 2])
        ):
            acts = dice.choice(threads)
            acts.insert(dice.randrange(len(acts) + 1), draw.plain(verb))
            if dice.random() < 0.7:
                acts.append(draw.plain(dice.choice(OPENERS)))
                acts += [draw.act() for _ in range(dice.randint(0, 4))]
    return Scenario(str(seed), tuple(map(tuple, threads)), tuple(dice.choices(ANSWERS, k=6)), served, paired)


@dataclass
class Draw:
    """Draws acts; `prompts` are the kinds of prompts."""

    dice: random.Random
    prompts: list[str]
    served: bool

    def act(self) -> Act:
        dice = self.dice
        verb, kind, value = dice.choice(VERBS), "", ""
        if verb == "prompt":
            kind = dice.choice(self.prompts)
            value = dice.choice(VALUES.get(kind, [""]))
        elif verb in ("configure", "adjust"):
            choices = AXES if verb == "configure" else CONTROLS
            kind = dice.choice(list(choices))
            value = dice.choice(choices[kind])
        elif verb == "set_mode":
            value = dice.choice(MODES)
        elif verb == "withdraw":
            value = str(dice.randrange(1000))
        else:
            return self.plain(verb)
        return Act(verb, kind, value, self._patience())

    def plain(self, verb: str) -> Act:
        """An act without a choice, but for an opening's: with a server or without."""
        value = self.dice.choice(["", "s"]) if self.served and verb in OPENERS else ""
        return Act(verb, "", value, self._patience())

    def _patience(self) -> float:
        dice = self.dice
        return dice.choice([0.0, 0.0, dice.uniform(0.0, 0.02), 0.1, 0.2])

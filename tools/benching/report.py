"""The table and the JSON that a run ends with."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benching.measures import Notes


@dataclass(frozen=True)
class Row:
    """`most`: the goal for the median; with `of_floor`, as a multiple of the floor's."""

    key: str
    title: str
    unit: str = "ms"
    most: float | None = None
    of_floor: bool = False


ROWS = (
    Row("launch", "launch to initialize answer", most=1.5, of_floor=True),
    Row("new_first", "session/new at once after it"),
    Row("new_later", "session/new, later ones"),
    Row("to_model", "prompt: request to model call", most=10),
    Row("to_chunk", "prompt: model's first byte to first chunk", most=10),
    Row("to_response", "prompt: model's last byte to response", most=10),
    Row("chunks", "2,000 streamed chunks", most=200),
    Row("chunk_messages", "  messages they were sent in", "count"),
    Row("reads", "20 tool reads, 20 model calls", most=150),
    Row("cancel", "cancel to response, while streaming", most=30),
    Row("request_size", "first model request", "kB", most=14),
    Row("request_tools", "  tools in it", "count"),
    Row("memory_first", "memory after the first session (PSS)", "MB", most=45),
    Row("memory_more", "memory per further session", "MB", most=0.2),
    Row("memory_turn", "memory with these and one turn", "MB"),
    Row("turn_early", "overhead of a turn, around turn 10"),
    Row("turn_late", "overhead of a turn, up to turn 200"),
    Row("turn_growth", "  late to early", "ratio", most=1.3),
    Row("load_first", "load of 200 turns, at once after launch"),
    Row("load", "load of 200 turns", most=80),
    Row("load_messages", "  updates it replays", "count"),
    Row("load_growth", "  to twice that of 100 turns", "ratio", most=1.2),
    Row("exit", "exit after end of input", most=100),
)


def figures(notes: Notes, contender: str, floor: str) -> dict[str, Any]:
    """Every row with its samples, their summary, the ratio of the medians and how it stands to its goal."""
    return {row.key: _figure(row, notes, contender, floor) for row in ROWS}


def _figure(row: Row, notes: Notes, contender: str, floor: str) -> dict[str, Any]:
    samples = notes.samples.get(row.key, {})
    figure: dict[str, Any] = {"title": row.title.strip(), "unit": row.unit}
    figure |= {name: _summary(values) for name, values in samples.items()}
    ratio = None
    if row.unit in ("ms", "kB", "MB") and floor in figure and figure[floor]["median"] > 0:
        ratio = figure[contender]["median"] / figure[floor]["median"]
    figure["ratio"] = ratio
    figure["goal"] = None if row.most is None else {"most": row.most, "of_floor": row.of_floor}
    figure["reached"] = None
    if row.most is not None:
        value: float = figure["ratio"] if row.of_floor else figure[contender]["median"]
        figure["reached"] = value <= row.most
    return figure


def _summary(values: Sequence[float]) -> dict[str, Any]:
    rounded = [round(value, 4) for value in values]
    middle = round(statistics.median(values), 4)
    return {"min": min(rounded), "median": middle, "max": max(rounded), "samples": rounded}


def machine() -> dict[str, Any]:
    """Where the figures were taken."""
    load = os.getloadavg()
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load_average": [round(value, 2) for value in load],
    }


def table(figures: dict[str, Any], contender: str, floor: str) -> str:
    """The figures for a person: min, median and max show the machine's noise."""
    width = max(len(row.title) for row in ROWS)
    head = f"{'':{width}} {'':5} {contender:^26} {floor:^26} {'ratio':>6}  goal"
    under = f"{'':{width}} {'':5} {'min':>8} {'median':>8} {'max':>8} {'min':>8} {'median':>8} {'max':>8}"
    return "\n".join([head, under, *(_line(row, figures[row.key], width, contender, floor) for row in ROWS)])


def _line(row: Row, figure: dict[str, Any], width: int, contender: str, floor: str) -> str:
    cells = " ".join(_cells(figure.get(name)) for name in (contender, floor))
    ratio = "" if figure["ratio"] is None else f"{figure['ratio']:.2f}"
    goal = ""
    if row.most is not None:
        goal = f"{'ok ' if figure['reached'] else 'NOT'} <= {row.most:g}{'x' if row.of_floor else ''}"
    unit = row.unit if row.unit in ("ms", "kB", "MB") else ""
    return f"{row.title:{width}} {unit:5} {cells} {ratio:>6}  {goal}".rstrip()


def _cells(summary: dict[str, Any] | None) -> str:
    if summary is None:
        return " ".join(f"{'-':>8}" for _ in range(3))
    return " ".join(f"{summary[name]:8.2f}" for name in ("min", "median", "max"))

"""A model in a file of one's own, run by acpagent with llama.cpp: no network, no server to set up."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from acpagent.config.credentials import Secret
from acpagent.config.problems import ConfigError, ConfigProblem
from acpagent.core.catalogue import Phrase
from acpagent.core.model import Message, ModelEvent, ModelRequest, ToolSpec
from acpagent.core.phrases import told
from acpagent.providers import gguf, llama_prompt
from acpagent.providers.chat_messages import dump
from acpagent.providers.over_http import OverHttp
from acpagent.providers.retry import Policy, retried

if TYPE_CHECKING:
    from acpagent.config.settings import ModelSettings, ProviderSettings
    from acpagent.core.scope import Scope
    from acpagent.providers.caller import Caller, Dialect
    from acpagent.providers.llama_engine import Running

_WINDOW = 16_384  # tokens at most where the settings do not say: memory is needed for all of them
_ANSWER = 2048  # tokens of one answer: small models may not find an end
_TEMPERATURE = 0.2


class LlamaCpp(OverHttp):
    """`core.model.Provider` over a model's file. The model is loaded by the first call, and shared by all sessions."""

    def __init__(self, provider: ProviderSettings, model: ModelSettings, policy: Policy) -> None:
        """Raises `ConfigError` if the file is no model, or what runs it is not installed."""
        self._file = provider.model_file or ""
        known = _window(self._file)
        super().__init__(provider, model, None, policy)
        self.context_window = model.context_window or min(known, _WINDOW)
        self.sees_images = False
        self._limit = model.max_output_tokens or min(_ANSWER, self.context_window // 2)
        self._found: Running | None = None
        self._constrained = False

    def dialect(self) -> Dialect:
        from acpagent.providers.caller import Dialect
        from acpagent.providers.chat_reader import ChatReader
        from acpagent.providers.llama_reader import LlamaReader

        return Dialect("/chat/completions", LlamaReader if self._constrained else ChatReader)

    def spell_system(self, text: str) -> str:
        return text

    def spell_tools(self, tools: Sequence[ToolSpec]) -> str:
        """What the model is told of them, and the form that holds it to them. A request without tools beside others,
        such as for a summary, is read all the same: its answer just has no form."""
        self._constrained = self._constrained or bool(tools)
        return dump([llama_prompt.describe(tools), llama_prompt.schema(tools)]) if tools else ""

    def spell(self, message: Message) -> list[str]:
        return [dump(said) for said in llama_prompt.message(message, self._constrained)]

    def spell_body(self, request: ModelRequest) -> str:
        told, form = json.loads(request.tools) if request.tools else ("", "")
        fields: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
        fields |= {"max_tokens": self._limit, "temperature": _TEMPERATURE}
        if form:
            schema = {"name": "reply", "strict": True, "schema": json.loads(form)}
            fields["response_format"] = {"type": "json_schema", "json_schema": schema}
        system = dump({"role": "system", "content": request.system + told})
        return f'{dump(fields)[:-1]},"messages":[{",".join((system, *request.messages))}]}}'

    def ends_in_prompt(self, request: ModelRequest) -> bool:
        return False

    def stream(self, request: ModelRequest, scope: Scope) -> Iterator[Sequence[ModelEvent]]:
        body = self.spell_body(request).encode()

        def attempt() -> Iterator[Sequence[ModelEvent]]:
            caller = self._caller_of_running()
            scope.check()  # loading takes a while
            return caller.attempt(body, scope, True)

        return retried(attempt, scope, self._policy)

    def _caller_of_running(self) -> Caller:
        from acpagent.providers.llama_engine import ENGINE

        running = ENGINE.find(self.name, self._file, self.context_window)
        if running != self._found or self._caller is None:
            self.close()
            self._found, self._caller = running, None
            self._provider = replace(self._provider, base_url=running.base_url)
            self._key = lambda: Secret(running.key)
        return self._find_caller()


def _window(file: str) -> int:
    """The window of the model in a file, which is thereby looked at. Raises `ConfigError`."""
    if importlib.util.find_spec("xllamacpp") is None:
        remedy = Phrase("remedy_runner")
        raise ConfigError(ConfigProblem(file, None, Phrase("what_needs_runner"), remedy))
    try:
        return gguf.context_length(file)
    except OSError as error:
        problem = ConfigProblem(file, None, Phrase("what_unreadable", cause=told(error)), Phrase("remedy_model_path"))
        raise ConfigError(problem) from None
    except gguf.NotGguf:
        problem = ConfigProblem(file, None, Phrase("what_no_gguf"), Phrase("remedy_model_path"))
        raise ConfigError(problem) from None

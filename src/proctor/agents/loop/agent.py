"""The loop: ask the model, run what it calls, tell it what came of it, until it submits or a limit ends it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from proctor.agents.interfaces import AgentContext, AgentIdentity, AgentLimit, AgentRun, Asks
from proctor.agents.layers.locks import Layer
from proctor.agents.loop.tools import SUBMIT, TOOLS, run_tool
from proctor.agents.turns import tell_turn
from proctor.models.calls import Call
from proctor.models.conversation import (
    ChatRequest,
    Finish,
    Message,
    Part,
    Reply,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from proctor.models.errors import BudgetExhausted, CallFailed, LimitReached, PriceUnknown, ReplyInvalid
from proctor.models.wires.interfaces import Fault

__all__ = ["Loop", "LoopSettings"]

SYSTEM: str = """You work on a task in a Linux sandbox, alone: nobody answers questions. You start in {workdir}.
Find out what is there, do the task, check that it is done, then call `submit`."""
GO_ON: str = "Go on with the tools, or call `submit` if the task is done."
SUMMARISE: str = """Your context is nearly full, and what is above will be taken away. Write down all that you need to
go on: what is done, what you found out (paths, commands, errors), and what is left to do."""
SILENT_TURNS: int = 3
"""Answers in a row without a tool call: more of them come to nothing."""


@dataclass(frozen=True, kw_only=True)
class LoopSettings:
    """What a profile sets. All of it is part of the configuration."""

    turns: int = 100
    context_tokens: int = 100_000
    """From here on the conversation is summed up and begun anew."""
    output_tokens: int = 16_384
    """Of one answer, reasoning included."""


@dataclass
class _Talk:
    """The conversation of one run, and what ended it."""

    messages: list[Message]
    deadline: float | None
    silent: int = 0
    summed_up: int = 0
    """How many messages there were right after it was last summed up."""

    @property
    def left_sec(self) -> float | None:
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


class Loop:
    """A model with tools; its conversation begins anew with each step of a task."""

    identity = AgentIdentity(name="loop", version="1")
    asks = Asks.HERE
    layers: tuple[Layer, ...] = ()

    def __init__(self, settings: LoopSettings | None = None) -> None:
        self._settings = settings or LoopSettings()

    async def setup(self, context: AgentContext) -> None:
        """Nothing to bring."""

    async def close(self) -> None:
        """Nothing is held."""

    async def run(self, context: AgentContext) -> AgentRun:
        """Until it submits, falls silent or comes to a limit."""
        system = Message(role=Role.SYSTEM, parts=[Text(text=SYSTEM.format(workdir=context.workdir))])
        user = Message(role=Role.USER, parts=[Text(text=context.instruction)])
        deadline = None if context.timeout_sec is None else time.monotonic() + context.timeout_sec
        talk = _Talk(messages=[system, user], deadline=deadline)
        try:
            async with asyncio.timeout(context.timeout_sec):
                return await self._turns(context, talk)
        except TimeoutError:
            return AgentRun(limit=AgentLimit.TIME)
        except LimitReached as error:
            return AgentRun(limit=AgentLimit(error.limit))
        except CallFailed as error:  # the gateway's own log says whose fault it was; of these it does not
            full = AgentLimit.CONTEXT if error.fault is Fault.CONTEXT else None
            return AgentRun(limit=full, refused=error.fault is Fault.REFUSED)
        except (BudgetExhausted, PriceUnknown):
            return AgentRun()

    async def _turns(self, context: AgentContext, talk: _Talk) -> AgentRun:
        for _ in range(self._settings.turns):
            try:
                reply, call = await self._ask(context, talk.messages)
            except CallFailed as error:
                if error.fault is not Fault.CONTEXT or len(talk.messages) <= talk.summed_up + 2:
                    raise
                await self._sum_up(context, talk)
                continue
            if (ended := await self._answered(context, talk, reply, call)) is not None:
                return ended
            used = call.usage
            known = (used.input_tokens or 0) + (used.cache_read_tokens or 0) + (used.cache_write_tokens or 0)
            if known > self._settings.context_tokens and len(talk.messages) > talk.summed_up + 2:
                await self._sum_up(context, talk)
        return AgentRun(limit=AgentLimit.TURNS)

    async def _ask(self, context: AgentContext, messages: list[Message], *, tools: bool = True) -> tuple[Reply, Call]:
        models = context.models
        assert models is not None  # a profile without a model is refused before it is run
        request = ChatRequest(
            model=models.model,
            messages=messages,
            tools=TOOLS if tools else (),
            max_output_tokens=self._settings.output_tokens,
            thinking=models.thinking,
            sampling=models.sampling,
        )
        try:
            return await models.complete(request)
        except ReplyInvalid as error:
            raise CallFailed(str(error), fault=Fault.UNAVAILABLE, http_status=200) from error

    async def _answered(self, context: AgentContext, talk: _Talk, reply: Reply, call: Call) -> AgentRun | None:
        """Take an answer: run its calls, keep both in the conversation; how the agent ended, if it did."""
        ran = [(one, await run_tool(one, context, talk.left_sec)) for one in reply.tool_calls if one.name != SUBMIT]
        tell_turn(context, reply, call, {one.id: done.text for one, done in ran})
        if reply.finish is Finish.REFUSED:
            return AgentRun(refused=True, model_returned=reply.model, final_message=reply.text)
        full = next((one.ended for _, one in ran if one.ended is not None), None)
        if full is not None:
            return AgentRun(exec=full, limit=AgentLimit.STORAGE, model_returned=reply.model)
        talk.silent = 0 if reply.tool_calls else talk.silent + 1
        if any(one.name == SUBMIT for one in reply.tool_calls) or talk.silent >= SILENT_TURNS:
            return AgentRun(model_returned=reply.model, final_message=reply.text)
        results: list[Part] = [
            ToolResult(call_id=one.id, name=one.name, content=done.text, is_error=done.is_error) for one, done in ran
        ]
        talk.messages.append(Message(role=Role.ASSISTANT, parts=reply.parts or [Text(text="…")]))
        talk.messages.append(Message(role=Role.USER, parts=results or [Text(text=GO_ON)]))
        return None

    async def _sum_up(self, context: AgentContext, talk: _Talk) -> None:
        """Have the model write down what it knows, and begin anew with that."""
        asked = [*map(_shortened, talk.messages), Message(role=Role.USER, parts=[Text(text=SUMMARISE)])]
        reply, call = await self._ask(context, asked, tools=False)
        tell_turn(context, reply, call, {})
        instruction = Text(text=f"{talk.messages[1].text}\n\nYour notes on the work so far:\n{reply.text}")
        talk.messages[1:] = [Message(role=Role.USER, parts=[instruction])]
        talk.summed_up = len(talk.messages)


def _shortened(message: Message) -> Message:
    """A turn in plain words, with little of what tools gave."""
    told = [part.text for part in message.parts if isinstance(part, Text)]
    told += [f"[{part.name}: {part.arguments}]"[:500] for part in message.parts if isinstance(part, ToolCall)]
    told += [f"[result: {part.content[:500]}]" for part in message.parts if isinstance(part, ToolResult)]
    return Message(role=message.role, parts=[Text(text="\n".join(told) or "…")])

"""The official clients against a server: ``{"address", "key"}`` in, what each of them made of its replies out."""

import asyncio
import json
import sys

import anthropic
import openai
from google import genai
from google.genai import errors, types

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
CHAT_TOOL = {"type": "function", "function": {"name": "shell", "description": "Runs it.", "parameters": SCHEMA}}
RESPONSES_TOOL = {"type": "function", "name": "shell", "description": "Runs it.", "parameters": SCHEMA, "strict": False}
CLAUDE_TOOL = {"name": "bash", "description": "Runs it.", "input_schema": SCHEMA}
GEMINI_TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(name="run_shell_command", description="Runs it.", parameters_json_schema=SCHEMA)
    ]
)
ASK = [{"role": "user", "content": "fix it"}]


def failure(call) -> dict:
    """The class of the error that a call ends with, and what it carries."""
    try:
        call()
    except (openai.APIError, anthropic.APIError) as error:
        return {
            "class": type(error).__name__,
            "status": getattr(error, "status_code", None),
            "code": getattr(error, "code", None),
            "retry_after": getattr(getattr(error, "response", None), "headers", {}).get("retry-after"),
        }
    except errors.APIError as error:
        return {"class": type(error).__name__, "status": error.code, "code": error.status}
    return {}


def chat(client: openai.OpenAI) -> dict:
    ask = {"messages": ASK, "tools": [CHAT_TOOL]}
    whole = client.chat.completions.create(model="coder", **ask)
    message = whole.choices[0].message
    with client.chat.completions.stream(model="coder", stream_options={"include_usage": True}, **ask) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_completion()
    call = message.tool_calls[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": "2 failed"}
    after = client.chat.completions.create(
        model="coder", messages=[*ASK, message.model_dump(exclude_none=True), result], tools=[CHAT_TOOL]
    )
    refused = client.chat.completions.create(model="refuse", messages=ASK).choices[0]
    return {
        "text": message.content,
        "call": [call.function.name, json.loads(call.function.arguments)],
        "finish": whole.choices[0].finish_reason,
        "usage": whole.usage.model_dump(include={"prompt_tokens", "completion_tokens", "total_tokens"}),
        "cached": whole.usage.prompt_tokens_details.cached_tokens,
        "reasoning": whole.usage.completion_tokens_details.reasoning_tokens,
        "streamed_the_same": [
            streamed.choices[0].message.content == message.content,
            streamed.choices[0].message.tool_calls[0].function.arguments == call.function.arguments,
            streamed.choices[0].finish_reason == whole.choices[0].finish_reason,
            streamed.usage.total_tokens == whole.usage.total_tokens,
            streamed.id == whole.id,
        ],
        "after": after.choices[0].message.content,
        "refusal": [refused.message.refusal, refused.finish_reason],
        "asynchronous": asyncio.run(asynchronous(client)),
        "models": sorted(model.id for model in client.models.list()),
    }


async def asynchronous(client: openai.OpenAI) -> str:
    async with openai.AsyncOpenAI(base_url=client.base_url, api_key=client.api_key, max_retries=0) as other:
        stream = await other.chat.completions.create(model="echo", messages=ASK, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])


def responses(client: openai.OpenAI) -> dict:
    ask = {"input": "fix it", "tools": [RESPONSES_TOOL], "store": False}
    whole = client.responses.create(model="coder", **ask)
    with client.responses.stream(model="coder", **ask) as stream:
        kinds = [event.type for event in stream]
        streamed = stream.get_final_response()
    calls = [item for item in whole.output if item.type == "function_call"]
    result = {"type": "function_call_output", "call_id": calls[0].call_id, "output": "2 failed"}
    after = client.responses.create(
        model="coder", input=[*ASK, *(item.model_dump(exclude_none=True) for item in whole.output), result]
    )
    return {
        "text": whole.output_text,
        "kinds": [item.type for item in whole.output],
        "call": [calls[0].name, json.loads(calls[0].arguments)],
        "status": whole.status,
        "usage": whole.usage.model_dump(include={"input_tokens", "output_tokens", "total_tokens"}),
        "cached": whole.usage.input_tokens_details.cached_tokens,
        "reasoning": whole.usage.output_tokens_details.reasoning_tokens,
        "streamed_the_same": [outline(streamed) == outline(whole), streamed.usage == whole.usage],
        "deltas": "response.output_text.delta" in kinds and "response.function_call_arguments.delta" in kinds,
        "after": after.output_text,
    }


def outline(response) -> list:
    """Its items, without what the client parses into them of a stream alone."""
    return [[item.type, item.id, getattr(item, "arguments", None)] for item in response.output] + [response.output_text]


def embeddings(client: openai.OpenAI) -> dict:
    reply = client.embeddings.create(model="embed", input=["a", "b", "a"], dimensions=8)
    plain = client.embeddings.create(model="embed", input="a", dimensions=8, encoding_format="float")
    vectors = [one.embedding for one in reply.data]
    return {
        "lengths": [round(sum(number * number for number in vector), 4) for vector in vectors],
        "same": [vectors[0] == vectors[2], vectors[0] == vectors[1], plain.data[0].embedding == vectors[0]],
        "tokens": reply.usage.total_tokens,
    }


def messages(client: anthropic.Anthropic) -> dict:
    ask = {"max_tokens": 2_000, "messages": ASK, "tools": [CLAUDE_TOOL]}
    whole = client.messages.create(model="coder", **ask)
    with client.messages.stream(model="coder", **ask) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_message()
    call = next(block for block in whole.content if block.type == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "2 failed"}
    after = client.messages.create(
        model="coder",
        max_tokens=2_000,
        messages=[
            *ASK,
            {"role": "assistant", "content": [block.model_dump() for block in whole.content]},
            {"role": "user", "content": [result]},
        ],
    )
    return {
        "kinds": [block.type for block in whole.content],
        "text": "".join(block.text for block in whole.content if block.type == "text"),
        "call": [call.name, call.input],
        "stop": whole.stop_reason,
        "usage": {
            name: getattr(whole.usage, name)
            for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        },
        "streamed_the_same": [
            streamed.model_dump(include={"content", "stop_reason"})
            == whole.model_dump(include={"content", "stop_reason"}),
            streamed.usage.output_tokens == whole.usage.output_tokens,
            streamed.usage.input_tokens == whole.usage.input_tokens,
        ],
        "after": after.content[0].text,
        "counted": client.messages.count_tokens(model="coder", messages=ASK).input_tokens,
        "refusal": client.messages.create(model="refuse", max_tokens=9, messages=ASK).stop_reason,
    }


def gemini(client: genai.Client) -> dict:
    config = types.GenerateContentConfig(
        tools=[GEMINI_TOOL],
        system_instruction="Be brief.",
        temperature=0.5,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    whole = client.models.generate_content(model="coder", contents="fix it", config=config)
    chunks = list(client.models.generate_content_stream(model="coder", contents="fix it", config=config))
    call = whole.function_calls[0]
    history = [
        types.Content(role="user", parts=[types.Part(text="fix it")]),
        whole.candidates[0].content,
        types.Content(
            role="user",
            parts=[
                types.Part(
                    function_response=types.FunctionResponse(
                        id=call.id, name=call.name, response={"output": "2 failed"}
                    )
                )
            ],
        ),
    ]
    after = client.models.generate_content(model="coder", contents=history, config=config)
    used = whole.usage_metadata
    return {
        "text": "".join(part.text for part in whole.candidates[0].content.parts if part.text and not part.thought),
        "thought": "".join(part.text for part in whole.candidates[0].content.parts if part.text and part.thought),
        "call": [call.name, call.args],
        "finish": whole.candidates[0].finish_reason.name,
        "usage": [
            used.prompt_token_count,
            used.cached_content_token_count,
            used.candidates_token_count,
            used.thoughts_token_count,
            used.total_token_count,
        ],
        "streamed": [
            "".join(
                part.text
                for chunk in chunks
                for part in chunk.candidates[0].content.parts
                if part.text and not part.thought
            ),
            [one.args for chunk in chunks for one in chunk.function_calls or []],
            chunks[-1].usage_metadata.total_token_count,
        ],
        "after": after.text,
        "counted": client.models.count_tokens(model="coder", contents="fix it").total_tokens,
    }


def errors_of(address: str, chatting, claude, google) -> dict:
    said = {}
    for model in ("rate-limited", "unavailable", "nobody", "no-credit", "too-long"):
        said[model] = [
            failure(lambda model=model: chatting.chat.completions.create(model=model, messages=ASK)),
            failure(lambda model=model: chatting.responses.create(model=model, input="hi")),
            failure(lambda model=model: claude.messages.create(model=model, max_tokens=9, messages=ASK)),
            failure(lambda model=model: google.models.generate_content(model=model, contents="hi")),
        ]
    stranger = openai.OpenAI(base_url=f"{address}/v1", api_key="wrong", max_retries=0)
    said["stranger"] = [
        failure(lambda: stranger.chat.completions.create(model="echo", messages=ASK)),
        failure(
            lambda: anthropic.Anthropic(base_url=address, api_key="wrong", max_retries=0).messages.create(
                model="echo", max_tokens=9, messages=ASK
            )
        ),
    ]
    said["dropped"] = [
        failure(lambda: list(chatting.chat.completions.create(model="dropped", messages=ASK, stream=True)))
    ]
    said["dropped"][0].pop("retry_after", None)
    return said


def main() -> None:
    question = json.load(sys.stdin)
    address, key = question["address"], question["key"]
    chatting = openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0)
    claude = anthropic.Anthropic(base_url=address, api_key=key, max_retries=0)
    google = genai.Client(api_key=key, vertexai=False, http_options=types.HttpOptions(base_url=address))
    said = {
        "chat": chat(chatting),
        "responses": responses(chatting),
        "embeddings": embeddings(chatting),
        "messages": messages(claude),
        "gemini": gemini(google),
        "errors": errors_of(address, chatting, claude, google),
    }
    json.dump(said, sys.stdout)


main()

"""The stock `openai` client in conversation with a running server whose `toy-chat` repeats the last message.

usage: openai_chat.py http://HOST:PORT
"""

import asyncio
import sys
import urllib.request

import openai

MODEL = "toy-chat"
TEXT = "one two three four five"
SAID = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": TEXT}]


def main(url):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0, timeout=60)
    for check in (whole, streamed, ends, several, history, models, refused):
        check(client)
    asyncio.run(many_at_once(url))
    leaving_cancels(client, url)


def ask(client, **more):
    return client.chat.completions.create(**{"model": MODEL, "messages": SAID, **more})


def whole(client):
    answer = ask(client, user="me", store=False, metadata={"a": "b"})
    [choice] = answer.choices
    assert answer.object == "chat.completion" and answer.model == MODEL and answer.id.startswith("chatcmpl-")
    assert (choice.message.role, choice.message.content) == ("assistant", TEXT), choice
    assert (choice.finish_reason, choice.message.refusal, choice.message.tool_calls) == ("stop", None, None)
    used = answer.usage
    assert (used.prompt_tokens, used.completion_tokens, used.total_tokens) == (7, 5, 12), used
    assert used.prompt_tokens_details.cached_tokens == 0
    print(f"ok    whole: {choice.message.content!r}, {used.total_tokens} tokens")


def streamed(client):
    chunks = list(ask(client, stream=True, stream_options={"include_usage": True}))
    *parts, last = chunks
    assert parts[0].choices[0].delta.role == "assistant" and parts[0].choices[0].delta.content == ""
    assert "".join(part.choices[0].delta.content or "" for part in parts) == TEXT
    assert [part.choices[0].finish_reason for part in parts] == [None] * (len(parts) - 1) + ["stop"]
    assert last.choices == [] and last.usage.total_tokens == 12 and all(part.usage is None for part in parts)
    assert len({chunk.id for chunk in chunks}) == 1 and {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert all(part.usage is None for part in ask(client, stream=True))
    # The client's own assembler of streams, which is strict about their order.
    with client.chat.completions.stream(model=MODEL, messages=SAID) as stream:
        kinds = [event.type for event in stream]
        assert stream.get_final_completion().choices[0].message.content == TEXT
    assert "content.done" in kinds, kinds
    print(f"ok    streamed: {len(parts)} chunks and the usage")


def ends(client):
    for more, text, reason in [
        ({"max_tokens": 2}, "one two ", "length"),
        ({"max_completion_tokens": 3}, "one two three ", "length"),
        ({"stop": "three"}, "one two ", "stop"),
        ({"stop": ["x", "ur fi"]}, "one two three fo", "stop"),
        ({"logit_bias": {"3": -100}}, "three four five", "stop"),
        ({"extra_body": {"stop_token_ids": [5], "top_k": 5, "min_p": 0.1, "repetition_penalty": 1.1}}, "one two ", "stop"),
    ]:
        [choice] = ask(client, **more).choices
        assert (choice.message.content, choice.finish_reason) == (text, reason), (more, choice)
        parts = list(ask(client, stream=True, **more))
        assert "".join(part.choices[0].delta.content or "" for part in parts) == text, more
        assert parts[-1].choices[0].finish_reason == reason, more
    print("ok    ends: by tokens, texts and ids")


def several(client):
    more = {"n": 3, "seed": 11, "temperature": 0.8, "top_p": 0.9, "messages": [{"role": "user", "content": "a b c d e f g h i j k l m n o p q r s t"}]}
    texts = [choice.message.content for choice in ask(client, **more).choices]
    assert len(set(texts)) == 3 and {text.lower() for text in texts} == {more["messages"][0]["content"]}, texts
    again = ["", "", ""]
    for part in ask(client, stream=True, **more):
        again[part.choices[0].index] += part.choices[0].delta.content or ""
    assert again == texts, (again, texts)
    print(f"ok    several: {texts[0]!r}, …, the same again when streamed")


def history(client):
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    messages = [
        *SAID,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "It is "}, {"type": "text", "text": "sunny."}]},
    ]
    answer = ask(client, messages=messages, tools=[tool], tool_choice="auto", parallel_tool_calls=False)
    assert answer.choices[0].message.content == "It is sunny."
    # What an answer was may be sent back as it came.
    messages.append(answer.choices[0].message)
    messages.append({"role": "user", "content": "Thanks."})
    assert ask(client, messages=messages).choices[0].message.content == "Thanks."
    print("ok    history: tools, calls and their answers")


def models(client):
    tasks = {model.id: model.task for model in client.models.list()}
    assert tasks[MODEL] == "chat" and client.models.retrieve(MODEL).id == MODEL, tasks
    print(f"ok    models: {tasks}")


def refused(client):
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}]
    for more, kind, param, code, word in [
        ({"model": "gpt-4o"}, openai.NotFoundError, "model", "model_not_found", MODEL),
        ({"model": "toy"}, openai.NotFoundError, "model", "model_not_suitable", "/v1/audio/speech"),
        ({"messages": []}, openai.BadRequestError, "messages", "empty_array", "at least one"),
        ({"messages": image}, openai.BadRequestError, "messages[0].content[0].type", "unsupported_content_part", "text"),
        ({"messages": [{"role": "robot", "content": "a"}]}, openai.BadRequestError, "messages[0].role", "invalid_value", "assistant"),
        ({"temperature": 3}, openai.BadRequestError, "temperature", "decimal_above_max_value", "2"),
        ({"max_tokens": 0}, openai.BadRequestError, "max_tokens", "integer_below_min_value", "1"),
        ({"n": 1000}, openai.BadRequestError, "n", "integer_above_max_value", "<="),
        ({"stop": ["a", "b", "c", "d", "e"]}, openai.BadRequestError, "stop", "array_above_max_length", "4"),
        ({"logprobs": True}, openai.BadRequestError, "logprobs", "unsupported_value", "false"),
        ({"response_format": {"type": "json_object"}}, openai.BadRequestError, "response_format", "unsupported_value", "text"),
        ({"tool_choice": "required", "tools": []}, openai.BadRequestError, "tool_choice", "unsupported_value", "auto"),
    ]:
        for stream in (False, True):
            try:
                ask(client, stream=stream, **more)
            except kind as error:
                assert (error.param, error.code) == (param, code) and word in error.message, f"{more}: {error}"
            else:
                raise AssertionError(f"{more} was not refused")
        print(f"ok    refused {more}: {code}")


async def many_at_once(url):
    client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0, timeout=60)

    async def one(index):
        text = f"number {index} says so"
        stream = await client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": text}], stream=True
        )
        said = "".join([part.choices[0].delta.content or "" async for part in stream])
        assert said == text, said

    await asyncio.gather(*(one(index) for index in range(64)))
    print("ok    64 at once, each with its own answer")


def leaving_cancels(client, url):
    # The answer is longer than what the connection holds, so that it waits for its reader.
    messages = [{"role": "user", "content": "word " * 8_000}]
    before = sample(url, 'promenade_chat_answers_total{model="toy-chat",end="cancelled"}')
    for _ in range(10):
        with ask(client, messages=messages, stream=True) as stream:
            next(iter(stream))
    for _ in range(200):
        if sample(url, 'promenade_chat_answers_active{model="toy-chat"}') == 0 and sample(url, "promenade_requests_open") == 0:
            break
    else:
        raise AssertionError("answers go on that nobody reads")
    cancelled = sample(url, 'promenade_chat_answers_total{model="toy-chat",end="cancelled"}') - before
    assert cancelled >= 1, "no answer was cancelled"
    print(f"ok    leaving: {cancelled:.0f} of 10 cancelled in their course, nothing left behind")


def sample(url, name):
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.rsplit(" ", 1)[0] == name)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1].rstrip("/"))

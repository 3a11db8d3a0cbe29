"""What no proper client sends to the chat door; `hostile.py` runs it where a server has a model for chat."""

import concurrent.futures
import json

from wire import Wire, ask, metrics, request

CHAT = "/v1/chat/completions"


def chat_model(address):
    """The first model for chat, or none."""
    models = json.loads(ask(address, "GET", "/v1/models").body)["data"]
    return next((model["id"] for model in models if model.get("task") == "chat"), None)


def body(model, **changes):
    good = {"model": model, "messages": [{"role": "user", "content": "Hello there."}], "max_tokens": 4}
    return json.dumps({**good, **changes}).encode()


def refusals(address, model):
    """Each is refused by status, code and place, before any work."""

    def said(content):
        return body(model, messages=[{"role": "user", "content": content}])

    good = body(model)
    hello = [{"role": "user", "content": "a"}]
    for name, sent, status, code, param in [
        ("100,000 messages", body(model, messages=hello * 100_000), 413, "body_too_large", None),
        ("5,000 messages", body(model, messages=hello * 5_000), 400, "array_above_max_length", "messages"),
        ("10,000 brackets", good[:-1] + b', "x": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", 400, "invalid_json", None),
        ("10,000 objects", good[:-1] + b', "x": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001, 400, "invalid_json", None),
        ("invalid UTF-8", good.replace(b"Hello", b"He\xffllo"), 400, "invalid_utf8", None),
        ("half a surrogate", good.replace(b"Hello", rb"\ud83d"), 400, "invalid_json", None),
        ("a raw NUL", good.replace(b"Hello", b"He\x00llo"), 400, "invalid_json", None),
        ("half a body", good[:-5], 400, "invalid_json", None),
        ("no messages", body(model, messages=None), 400, "missing_required_parameter", "messages"),
        ("messages as an object", body(model, messages={"0": "a"}), 400, "invalid_type", "messages"),
        ("a message as a list", body(model, messages=[["user", "a"]]), 400, "invalid_type", "messages[0]"),
        ("a role as a number", body(model, messages=[{"role": 1, "content": "a"}]), 400, "invalid_type", "messages[0].role"),
        ("content as an object", said({"text": "a"}), 400, "invalid_type", "messages[0].content"),
        ("a part as a string", said(["a"]), 400, "invalid_type", "messages[0].content[0]"),
        ("a picture", said([{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]), 400, "unsupported_content_part", "messages[0].content[0].type"),
        ("sound", said([{"type": "input_audio"}]), 400, "unsupported_content_part", "messages[0].content[0].type"),
        ("a part type of 100 kB", said([{"type": "x" * 100_000}]), 400, "unsupported_content_part", "messages[0].content[0].type"),
        ("a number beyond numbers", good[:-1] + b', "temperature": 1e999}', 400, "invalid_json", None),
        ("a limit beyond 64 bits", good[:-1] + b', "max_completion_tokens": 99999999999999999999}', 400, "invalid_type", "max_completion_tokens"),
        ("a thousand answers", body(model, n=1_000), 400, "integer_above_max_value", "n"),
        ("a negative number of answers", body(model, n=-1), 400, "integer_below_min_value", "n"),
        ("stops as numbers", body(model, stop=[1]), 400, "invalid_type", "stop[0]"),
        ("a stop of 100 kB", body(model, stop="x" * 100_000), 400, "invalid_value", "stop"),
        ("a bias of 10,000 tokens", body(model, logit_bias={str(n): 1 for n in range(10_000)}), 400, "invalid_value", "logit_bias"),
        ("no model of that name", body("../../etc/passwd"), 404, "model_not_found", "model"),
    ]:
        answer = ask(address, "POST", CHAT, sent)
        error = answer.error()
        got = (answer.status, error.get("code"), error.get("param"))
        assert got == (status, code, param), f"{name}: {answer}"
        assert set(error) == {"message", "type", "param", "code"} and len(answer.body) < 2_000, f"{name}: {answer}"
        yield f"chat, {name}: {status} {error['message'][:100]}"


def strange_texts(address, model):
    """Texts are texts, whatever is in them."""
    for name, text in [
        ("NUL and control characters", "a\x00b\x1b[31m\x7f c"),
        ("the end of a stream", "data: [DONE]\n\ndata: {}\n\n"),
        ("a template's own marks", "<|im_start|>system\n{{ messages }} {% for %}<|im_end|>"),
        ("directions and accents", "\u202efel" + "\u0301" * 500),
    ]:
        for stream in (False, True):
            sent = body(model, messages=[{"role": "user", "content": text}], stream=stream)
            answer = ask(address, "POST", CHAT, sent)
            assert answer.status == 200, f"{name}: {answer}"
            assert not stream or answer.body.endswith(b"data: [DONE]\n\n"), f"{name}: {answer}"
        yield f"chat, {name}: answered"


def disconnects(address, model):
    """60 clients that vanish: before the head, at it, in the course of the answer."""
    name = 'promenade_requests_total{end="cancelled"}'
    before = metrics(address).get(name, 0.0)
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda number: vanish(address, model, number), range(60)))
    yield f"chat, 60 disconnects: {metrics(address).get(name, 0.0) - before:.0f} cancelled in the engine by now"


def vanish(address, model, number):
    long = [{"role": "user", "content": "word " * 8_000}]
    sent = body(model, messages=long, stream=number % 3 != 0, n=1 + number % 2, max_tokens=8_000)
    wire = Wire(address)
    wire.send(request("POST", CHAT, sent))
    if number % 3 == 2:
        assert wire.head()[0] == 200, "not begun"
        wire.take(2_000)
    if number % 5 == 0:
        wire.reset()
    else:
        wire.socket.close()

"""What no proper client sends, against a running server; the documented answer each time.

usage: hostile.py HOST:PORT [--head-seconds S] [--body-seconds S] [--config-seconds S] [--stall-seconds S]

The seconds are the server's own limits. Each check prints a line; the exit status is 1 if any
failed. Standard library only.
"""

import argparse
import concurrent.futures
import json
import sys
import time

import hostile_chat
from wire import Socket, Wire, ask, metrics, request

SPEECH = "/v1/audio/speech"
GOOD = {"model": "tts-1", "voice": "alloy", "input": "Hello there.", "response_format": "pcm"}
LONG = {**GOOD, "input": "All work and no play makes a long story. " * 300}

# What must be zero once nobody asks for anything.
AT_REST = (
    "promenade_streams_active",
    "promenade_sockets_active",
    "promenade_chat_answers_active",
    "promenade_requests_open",
    "promenade_engine_worker_requests",
    "promenade_engine_buffered_items",
    "promenade_engine_ready",
    "promenade_engine_states",
)

# What a deadline may be late by, on a busy machine.
GRACE = 5.0


def body(**changes):
    """A good request with changes; `None` leaves a field out."""
    return json.dumps({name: value for name, value in {**GOOD, **changes}.items() if value is not None}).encode()


# name, request body, status, code, parameter
REFUSED = [
    ("empty text", body(input=""), 400, "empty_string", "input"),
    ("white space", body(input=" \t\r\n\u00a0\u2003"), 400, "nothing_to_say", "input"),
    ("only emoji", body(input="🎉👩‍👩‍👧🏳️‍🌈"), 400, "nothing_to_say", "input"),
    ("only punctuation", body(input="... ?! — «»"), 400, "nothing_to_say", "input"),
    ("only control characters", body(input="\x00\x01\x1b\x7f"), 400, "nothing_to_say", "input"),
    ("only invisible characters", body(input="\u200b\u200d\ufeff\u202e"), 400, "nothing_to_say", "input"),
    ("100,000 characters", body(input="word " * 20_000), 400, "string_above_max_length", "input"),
    ("a body over its limit", body(input="x" * 1_000_000), 413, "body_too_large", None),
    ("unknown voice", body(voice="nobody"), 400, "voice_not_found", "voice"),
    ("unknown model", body(model="nothing"), 404, "model_not_found", "model"),
    ("unknown format", body(response_format="midi"), 400, "invalid_value", "response_format"),
    ("aac", body(response_format="aac"), 400, "unsupported_format", "response_format"),
    ("unknown stream format", body(stream_format="xml"), 400, "invalid_value", "stream_format"),
    ("speed too low", body(speed=0.2), 400, "decimal_below_min_value", "speed"),
    ("speed too high", body(speed=4.01), 400, "decimal_above_max_value", "speed"),
    ("speed as text", body(speed="fast"), 400, "invalid_type", "speed"),
    ("speed beyond a number", json.dumps(GOOD)[:-1].encode() + b', "speed": 1e999}', 400, None, None),
    ("text as a number", body(input=7), 400, "invalid_type", "input"),
    ("text as a list", body(input=["a"]), 400, "invalid_type", "input"),
    ("text as null", body(input=None)[:-1] + b', "input": null}', 400, "missing_required_parameter", "input"),
    ("voice as a number", body(voice=3), 400, "invalid_type", "voice"),
    ("voice as an object without id", body(voice={"name": "x"}), 400, "invalid_type", "voice"),
    ("a voice of 300 characters", body(voice=None)[:-1] + b', "voice": "' + b"v" * 300 + b'"}', 400, None, "voice"),
    ("stream as text", body(stream="yes"), 400, "invalid_type", "stream"),
    ("seed as a fraction", body(seed=1.5), 400, "invalid_type", "seed"),
    ("no model", body(model=None), 400, "missing_required_parameter", "model"),
    ("no voice", body(voice=None), 400, "missing_required_parameter", "voice"),
    ("no input", body(input=None), 400, "missing_required_parameter", "input"),
    ("no body", b"", 400, "invalid_json", None),
    ("half a body", body()[:-5], 400, "invalid_json", None),
    ("a body and more", body() + b"}", 400, "invalid_json", None),
    ("a list", b"[1, 2]", 400, "invalid_type", None),
    ("a string", b'"hello"', 400, "invalid_type", None),
    ("10,000 brackets", b"[" * 10_000 + b"]" * 10_000, 400, "invalid_json", None),
    ("invalid UTF-8", body().replace(b"Hello", b"He\xffllo"), 400, "invalid_utf8", None),
    ("cut UTF-8", body(input="caf") [:-1] + b', "x": "\xc3"}', 400, "invalid_utf8", None),
    ("half a surrogate", body().replace(b"Hello", rb"\ud83d"), 400, "invalid_json", None),
    ("a raw control character in JSON", body().replace(b"Hello", b"He\x01llo"), 400, "invalid_json", None),
]

# name, text: all of them have something to say, and say it
SPOKEN = [
    ("mixed scripts", "Hello мир 世界 שלום مرحبا नमस्ते 안녕 hello"),
    ("control characters", "One\x00two\x1b[31mthree\x07\x7f four\u0085five."),
    ("SSML-like tags", '<speak><prosody rate="x-fast">Hello</prosody><break time="10s"/> & <b>bold</b></speak>'),
    ("markup that never closes", "<<<<a <b <!-- <![CDATA[ x"),
    ("emoji between words", "Nice 🎉 work 👍🏽 today"),
    ("directions turned around", "abc \u202etfel ot thgir\u202c def"),
    ("a heap of accents", "a" + "\u0301" * 500 + " word"),
    ("one letter", "a"),
    ("one word of 4,000 letters", "x" * 4_000),
    ("4,000 line feeds", "a\n" + "\n" * 4_000 + "b"),
    ("formats and escapes", "%s %n {} ${jndi:ldap://x} '; DROP TABLE voices; -- ../../etc"),
]


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def refusals(address):
    for name, sent, status, code, param in REFUSED:
        answer = ask(address, "POST", SPEECH, sent)
        error = answer.error()
        expect(answer.status == status, f"{name}: {answer}")
        expect(code in (None, error.get("code")), f"{name}: {answer}")
        expect(param in (None, error.get("param")), f"{name}: {answer}")
        expect(set(error) == {"message", "type", "param", "code"}, f"{name}: {answer}")
        expect(len(error["message"]) > 20 and len(answer.body) < 2_000, f"{name}: {answer}")
        yield f"{name}: {status} {error['message'][:100]}"


def strange_texts(address):
    for name, text in SPOKEN:
        answer = ask(address, "POST", SPEECH, body(input=text))
        expect(answer.status == 200 and len(answer.body) > 1_000, f"{name}: {answer}")
        expect(len(answer.body) % 2 == 0, f"{name}: half a sample")
        yield f"{name}: {len(answer.body) / 48_000:.2f} s of audio"


def doors(address):
    for name, sent, status in [
        ("another content type", request("POST", SPEECH, body(), content_type="text/plain"), 415),
        ("no content type", request("POST", SPEECH, body(), content_type=None), 415),
        ("GET on the speech door", request("GET", SPEECH), 405),
        ("DELETE on the models", request("DELETE", "/v1/models"), 405),
        ("an unknown path", request("GET", "/v1/audio/speach"), 404),
        ("a path out of the tree", request("GET", "/assets/../../../../etc/passwd"), 404),
        ("an encoded path out of the tree", request("GET", "/assets/%2e%2e/%2e%2e/etc/passwd"), 404),
        ("a socket door without an upgrade", request("GET", "/v1/audio/speech/stream"), 400),
        ("a graph of no model", request("GET", "/v1/models/nothing/graph"), 404),
        ("a graph in no format", request("GET", "/v1/models/tts-1/graph?format=png"), 400),
    ]:
        with Wire(address) as wire:
            wire.send(sent)
            answer = wire.answer()
        expect(answer.status == status, f"{name}: {answer}")
        expect("root:" not in answer.body.decode("latin-1"), f"{name}: {answer}")
        expect(answer.error().get("message"), f"{name}: {answer}")
        yield f"{name}: {status}"


def broken_http(address):
    """Below the level of requests: a 4xx or a closed connection, and nothing else."""
    head = f"POST {SPEECH} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n".encode()
    for name, sent in [
        ("noise", bytes(range(256)) * 4),
        ("no version", b"GET /\r\n\r\n"),
        ("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500),
        ("a preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ("a header of 1 MB", head + b"X: " + b"a" * 1_000_000 + b"\r\n\r\n"),
        ("5,000 headers", head + b"".join(b"X%d: y\r\n" % i for i in range(5_000)) + b"\r\n"),
        ("a path of 100 kB", b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: test\r\n\r\n"),
        ("a length that is no number", head + b"Content-Length: many\r\n\r\n"),
        ("a negative length", head + b"Content-Length: -1\r\n\r\n"),
        ("two lengths", head + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
        ("a chunk size that is no number", head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
        ("a length of 10 GB", head + b"Content-Length: 10000000000\r\n\r\n"),
        ("a header with a line feed", head + b"X: a\n b\r\n\x00: c\r\n\r\n"),
    ]:
        with Wire(address, timeout=GRACE * 3) as wire:
            wire.send(sent)
            status, _ = wire.head()
        expect(status == 0 or 400 <= status < 500, f"{name}: {status}")
        yield f"{name}: {status or 'closed'}"


def slow_clients(address, limits):
    """Slow heads, bodies and readers each lose their connection in time."""
    head = request("POST", SPEECH, body())[: -len(body())]
    cases = [
        ("a head that drips", b"POST /v1", b"a", limits.head_seconds, {0, 408}),
        ("a head that stops", b"POST /v1/audio/speech HTTP/1.1\r\nHost: t\r\n", b"", limits.head_seconds, {0, 408}),
        ("a connection that says nothing", b"", b"", limits.head_seconds, {0, 408}),
        ("a body that drips", head, b" ", limits.body_seconds, {408}),
        ("a body that stops", head + body()[:20], b"", limits.body_seconds, {408}),
    ]
    with concurrent.futures.ThreadPoolExecutor(len(cases) + 2) as pool:
        dripping = [pool.submit(drip, address, *case) for case in cases]
        dripping.append(pool.submit(reader_that_stops, address, limits.stall_seconds))
        dripping.append(pool.submit(socket_without_config, address, limits.config_seconds))
        for each in dripping:
            yield each.result()


def drip(address, name, start, drop, limit, statuses):
    begin = time.monotonic()
    with Wire(address) as wire:
        wire.send(start)
        while time.monotonic() < begin + limit + GRACE:
            wire.send(drop)
            if wire.closed_within(0.25):
                break
        took = time.monotonic() - begin
        status, _ = wire.head()
    expect(limit * 0.5 < took < limit + GRACE, f"{name}: closed after {took:.1f} s, limit {limit} s")
    expect(status in statuses, f"{name}: {status}")
    return f"{name}: {status or 'closed'} after {took:.1f} s"


def reader_that_stops(address, limit):
    """Takes the head and nothing more; the server gives the place back."""
    with Wire(address) as wire:
        wire.send(request("POST", SPEECH, json.dumps(LONG).encode()))
        status, _ = wire.head()
        expect(status == 200, f"a reader that stops: {status}")
        time.sleep(limit + GRACE / 2)
        try:
            received = len(b"".join(wire.chunks(1 << 30)))
        except ValueError:
            return f"a reader that stops: cut off after {limit:.1f} s"
    raise AssertionError(f"a reader that stops: got {received} bytes all the same")


def socket_without_config(address, limit):
    with Socket(address) as ws:
        begin = time.monotonic()
        seen, _ = ws.messages("close", limit + GRACE)
        took = time.monotonic() - begin
    expect([m.get("code") for m in seen] == ["config_timeout", 1008], f"a socket without config: {seen}")
    expect(limit * 0.5 < took < limit + GRACE, f"a socket without config: {took:.1f} s")
    return f"a socket without config: closed after {took:.1f} s"


def sockets(address):
    """A wrong message is answered by an error, and the session goes on."""
    for name, frame, code in [
        ("no JSON", (1, b"hello"), "invalid_json"),
        ("no object", (1, b"[1]"), "invalid_type"),
        ("no type", (1, b"{}"), "missing_required_parameter"),
        ("unknown type", (1, b'{"type":"input.txt"}'), "invalid_value"),
        ("binary", (2, b"\x00\x01"), "binary_not_accepted"),
        ("text as a number", (1, b'{"type":"input.text","text":1}'), "invalid_type"),
        ("no text", (1, b'{"type":"input.text"}'), "missing_required_parameter"),
        ("a second config", (1, b'{"type":"session.config"}'), "session_already_configured"),
        ("an unknown context", (1, b'{"type":"context.close","context_id":"x"}'), None),
        ("300,000 characters", (1, json.dumps({"type": "input.text", "text": "x" * 300_000}).encode()), "text_buffer_full"),
    ]:
        with Socket(address) as ws:
            expect(ws.status == 101, f"{name}: {ws.status}")
            ws.say(type="session.config")
            ws.messages("session.configured")
            ws.frame(*frame)
            seen, _ = ws.messages("error", 10)
            expect(seen and seen[-1]["type"] == "error" and code in (None, seen[-1]["code"]), f"{name}: {seen}")
            ws.say(type="input.text", text="It goes on.")
            ws.say(type="input.done")
            seen, audio = ws.messages("session.done", 20)
            expect(seen and seen[-1]["type"] == "session.done" and audio > 1_000, f"{name}: {seen}")
        yield f"socket, {name}: error, then {audio / 48_000:.2f} s of audio"
    yield from sockets_that_end(address)


def sockets_that_end(address):
    for name, frame, codes in [
        ("an unmasked frame", dict(opcode=1, payload=b"{}", masked=False), {1002}),
        ("a reserved opcode", dict(opcode=5, payload=b""), {1002}),
        ("invalid UTF-8", dict(opcode=1, payload=b"\xff\xfe"), {1007, 1002}),
        ("a message of 4 MB", dict(opcode=1, payload=b"x" * 4_000_000), {1009}),
    ]:
        with Socket(address) as ws:
            ws.say(type="session.config")
            ws.messages("session.configured")
            ws.frame(**frame)
            seen, _ = ws.messages("close", 10)
            # Whoever breaks the protocol may also find the connection gone.
            code = seen[-1].get("code") if seen else None
            expect(code is None or code in codes, f"{name}: {seen}")
        yield f"socket, {name}: {code or 'closed'}"
    for name, text in [("nothing", ""), ("white space", "  \n "), ("only emoji", "🎉")]:
        with Socket(address) as ws:
            ws.say(type="session.config")
            ws.say(type="input.text", text=text)
            ws.say(type="input.done")
            seen, audio = ws.messages("session.done", 10)
            kinds = [message["type"] for message in seen]
            expect(kinds == ["session.configured", "input.skipped", "session.done"] and audio == 0, f"{name}: {seen}")
        yield f"socket, {name}: skipped"


def disconnects(address):
    """100 clients that vanish mid-stream: before, at and after the first audio; with and without a farewell."""
    before = metrics(address)
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda number: vanish(address, number), range(100)))
    rest = at_rest(address)
    cancelled = metrics(address).get('promenade_requests_total{end="cancelled"}', 0.0) - before.get(
        'promenade_requests_total{end="cancelled"}', 0.0
    )
    expect(cancelled >= 50, f"only {cancelled} of 100 were cancelled")
    yield f"100 disconnects: {cancelled:.0f} cancelled in the engine; {rest}"


def vanish(address, number):
    if number % 2 == 0:
        wire = Wire(address)
        wire.send(request("POST", SPEECH, json.dumps(LONG).encode()))
        if number % 4 == 0:
            expect(wire.head()[0] == 200, "not begun")
            wire.take(10_000)
    else:
        wire = Socket(address)
        wire.say(type="session.config")
        wire.say(type="input.text", text=LONG["input"])
        if number % 3 == 0:
            wire.messages("audio.start", 20)
    if number % 5 == 0:
        wire.reset()
    else:
        wire.socket.close()


def at_rest(address, within=15.0):
    """Waits until every gauge of work is zero."""
    end = time.monotonic() + within
    while True:
        sums = {name: sum(v for key, v in metrics(address).items() if key.split("{")[0] == name) for name in AT_REST}
        if not any(sums.values()):
            return "all gauges at rest"
        expect(time.monotonic() < end, f"not at rest after {within} s: {sums}")
        time.sleep(0.05)


def rest(address):
    yield at_rest(address)
    expect(ask(address, "GET", "/health").status == 200, "not healthy")
    expect(ask(address, "GET", "/ready").status == 200, "not ready")
    answer = ask(address, "POST", SPEECH, body())
    expect(answer.status == 200 and len(answer.body) > 1_000, f"a good request after all that: {answer}")
    yield "a good request after all that is answered"
    yield at_rest(address)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address", metavar="HOST:PORT")
    for name, default in (("head", 10.0), ("body", 10.0), ("config", 10.0), ("stall", 30.0)):
        parser.add_argument(f"--{name}-seconds", type=float, default=default)
    limits = parser.parse_args()
    host, _, port = limits.address.rpartition(":")
    address = (host, int(port))
    present = {key.split("{")[0] for key in metrics(address)}
    missing = [name for name in AT_REST if name not in present]
    model = hostile_chat.chat_model(address)
    chat = [
        ("chat refusals", hostile_chat.refusals, (model,)),
        ("chat texts", hostile_chat.strange_texts, (model,)),
        ("chat disconnects", hostile_chat.disconnects, (model,)),
    ]
    if model is None:
        chat, missing = [], [name for name in missing if "chat" not in name]
    groups = [
        ("refusals", refusals, ()),
        ("strange texts", strange_texts, ()),
        ("doors", doors, ()),
        ("broken HTTP", broken_http, ()),
        ("sockets", sockets, ()),
        ("slow clients", slow_clients, (limits,)),
        ("disconnects", disconnects, ()),
        *chat,
        ("rest", rest, ()),
    ]
    failed = [f"/metrics has no {name}" for name in missing]
    for name, group, more in groups:
        try:
            for line in group(address, *more):
                print(f"ok    {line}")
        except (AssertionError, OSError, ValueError) as error:
            failed.append(f"{name}: {error}")
            print(f"FAIL  {name}: {type(error).__name__} {error}")
    if failed:
        sys.exit("\n".join(["failed:", *failed]))


if __name__ == "__main__":
    main()

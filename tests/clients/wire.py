"""Raw HTTP/1.1 and WebSocket over plain sockets, for sending what no proper client would send.

Every wait has a deadline, and what the server answers is parsed by as little as possible.
"""

import base64
import json
import os
import socket
import struct
import time

TIMEOUT = 30.0


class Answer:
    """What came back: the status (0 when the server closed without one), headers and body."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def error(self):
        """The `error` object, or an empty one."""
        try:
            return json.loads(self.body)["error"]
        except (ValueError, KeyError, TypeError):
            return {}

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class Wire:
    """One connection."""

    def __init__(self, address, timeout=TIMEOUT):
        self.address = address
        self.socket = socket.create_connection(address, timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Sends, unless the server has already closed: then its answer is still to be read."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def reset(self):
        """Vanishes without a farewell: the server gets a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def fill(self):
        """Reads some more; false when there is no more."""
        try:
            piece = self.socket.recv(65536)
        except ConnectionResetError:
            piece = b""
        self.buffer += piece
        return bool(piece)

    def take(self, count):
        """Exactly `count` bytes, or fewer at the end."""
        while len(self.buffer) < count and self.fill():
            pass
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def line(self):
        """Up to the next line feed, or what is left at the end."""
        while b"\n" not in self.buffer and self.fill():
            pass
        taken, _, self.buffer = self.buffer.partition(b"\n")
        return taken.rstrip(b"\r")

    def head(self):
        """Status and headers of an answer; status 0 when there is none."""
        start = self.line()
        if not start.startswith(b"HTTP/1.1 "):
            return 0, {}
        headers = {}
        while line := self.line():
            name, _, value = line.partition(b":")
            headers[name.decode("latin-1").lower()] = value.strip().decode("latin-1")
        return int(start[9:12]), headers

    def answer(self, limit=1 << 24):
        """A whole answer."""
        status, headers = self.head()
        if "content-length" in headers:
            return Answer(status, headers, self.take(int(headers["content-length"])))
        if headers.get("transfer-encoding") == "chunked":
            return Answer(status, headers, b"".join(self.chunks(limit)))
        return Answer(status, headers, b"")

    def chunks(self, limit):
        """The pieces of a chunked body; a body without its last piece raises `ValueError`."""
        total = 0
        while size := int(self.line() or b"x", 16):
            total += size
            yield self.take(size)
            self.line()
            if total > limit:
                return
        self.line()

    def closed_within(self, seconds):
        """Whether the server closes the connection within that time."""
        self.socket.settimeout(max(0.01, seconds))
        try:
            while self.fill():
                pass
        except TimeoutError:
            return False
        return True


def request(method, path, body=b"", headers=(), content_type="application/json"):
    """The bytes of a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: test", f"Content-Length: {len(body)}"]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    lines += headers
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def ask(address, method, path, body=b"", **more):
    """One request on a connection of its own."""
    with Wire(address) as wire:
        wire.send(request(method, path, body, **more))
        return wire.answer()


def metrics(address):
    """All samples of /metrics by their name and labels."""
    text = ask(address, "GET", "/metrics").body.decode()
    pairs = (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


class Socket(Wire):
    """A WebSocket, client side."""

    def __init__(self, address, path="/v1/audio/speech/stream", timeout=TIMEOUT):
        super().__init__(address, timeout)
        key = base64.b64encode(os.urandom(16)).decode()
        self.send(
            (
                f"GET {path} HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
            ).encode()
        )
        self.status, self.headers = self.head()

    def frame(self, opcode, payload, masked=True, final=True):
        """Sends one frame."""
        length = len(payload)
        head = bytes([(0x80 if final else 0) | opcode])
        mark = 0x80 if masked else 0
        if length < 126:
            head += bytes([mark | length])
        elif length < 1 << 16:
            head += bytes([mark | 126]) + struct.pack(">H", length)
        else:
            head += bytes([mark | 127]) + struct.pack(">Q", length)
        if masked:
            # A mask of zeros is a mask: the payload stays readable in a trace.
            head += bytes(4)
        self.send(head + payload)

    def say(self, **message):
        self.frame(1, json.dumps(message).encode())

    def read(self):
        """One frame of the server as (opcode, payload); None at the end."""
        head = self.take(2)
        if len(head) < 2:
            return None
        length = head[1] & 0x7F
        if length == 126:
            (length,) = struct.unpack(">H", self.take(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self.take(8))
        return head[0] & 0x0F, self.take(length)

    def messages(self, until, deadline=TIMEOUT):
        """Text messages up to and with one of type `until`, and the bytes of audio between them."""
        seen, audio, end = [], 0, time.monotonic() + deadline
        while time.monotonic() < end and (frame := self.read()):
            opcode, payload = frame
            if opcode == 2:
                audio += len(payload)
            elif opcode == 8:
                seen.append({"type": "close", "code": struct.unpack(">H", payload[:2])[0] if payload else 1005})
                break
            elif opcode == 1:
                seen.append(json.loads(payload))
                if seen[-1]["type"] == until:
                    break
        return seen, audio

"""`aiortc`, another implementation of WebRTC, on a call to a running server of `toy-voice-chat`.

usage: aiortc_call.py http://HOST:PORT

It speaks by the clock, is understood and answered by ear, interrupts, and hangs up; it also calls without a
microphone, and without any audio. The toy reads letters out of tones, which a codec for speech smears: a letter
in ten may be wrong.
"""

import asyncio
import difflib
import fractions
import json
import struct
import sys
import time
import urllib.error
import urllib.request

import av
from aiortc import RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamTrack

RATE = 48_000
FRAME = RATE // 50
STORY = "tell me a long story about a promenade by the sea."


async def main(url):
    for check in (talks, only_listens, only_reads, refused):
        await asyncio.wait_for(check(url), 60)
    await rested(url)


def post(url, body, content_type):
    request = urllib.request.Request(url, body, {"content-type": content_type})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def voice(url, text):
    """A text as the toy says it, as 20 ms frames at 48 kHz."""
    asked = {"model": "toy", "voice": "alloy", "input": text, "response_format": "pcm"}
    _, _, pcm = post(f"{url}/v1/audio/speech", json.dumps(asked).encode(), "application/json")
    samples = struct.unpack(f"<{len(pcm) // 2}h", pcm)
    doubled = [value for value in samples for _ in range(2)]
    doubled += [0] * (-len(doubled) % FRAME)
    return [doubled[at : at + FRAME] for at in range(0, len(doubled), FRAME)]


class Microphone(MediaStreamTrack):
    """Silence by the clock, and what is to be said in between."""

    kind = "audio"

    def __init__(self):
        super().__init__()
        self.frames = []
        self.sent = 0
        self.start = None

    async def recv(self):
        self.start = self.start or time.monotonic()
        await asyncio.sleep(max(0, self.start + self.sent * 0.02 - time.monotonic()))
        samples = self.frames.pop(0) if self.frames else [0] * FRAME
        frame = av.AudioFrame(format="s16", layout="mono", samples=FRAME)
        frame.planes[0].update(struct.pack(f"<{FRAME}h", *samples))
        frame.sample_rate, frame.pts, frame.time_base = RATE, self.sent * FRAME, fractions.Fraction(1, RATE)
        self.sent += 1
        return frame


class Call:
    """A call that is connected, and what has come of it."""

    def __init__(self, url):
        self.url = url
        self.peer = RTCPeerConnection()
        self.microphone = None
        self.events = asyncio.Queue()
        self.types = []
        self.loud = 0
        self.tasks = []
        self.channel = self.peer.createDataChannel("oai-events")
        self.channel.on("message", lambda text: self.events.put_nowait(json.loads(text)))
        self.peer.on("track", lambda track: self.tasks.append(asyncio.ensure_future(self.listen(track))))

    async def connect(self, audio):
        if audio == "both":
            self.microphone = Microphone()
            self.peer.addTrack(self.microphone)
        elif audio == "listens":
            self.peer.addTransceiver("audio", direction="recvonly")
        await self.peer.setLocalDescription(await self.peer.createOffer())
        session = {"type": "realtime", "model": "gpt-realtime", "audio": {"input": {"transcription": {"model": "whisper-1"}}}}
        parts = [("sdp", "application/sdp", self.peer.localDescription.sdp), ("session", "application/json", json.dumps(session))]
        form = "".join(
            f'--x\r\ncontent-disposition: form-data; name="{name}"\r\ncontent-type: {kind}\r\n\r\n{text}\r\n'
            for name, kind, text in parts
        )
        answered = asyncio.to_thread(
            post, f"{self.url}/v1/realtime/calls", f"{form}--x--\r\n".encode(), "multipart/form-data; boundary=x"
        )
        status, headers, body = await answered
        assert status == 201, body
        self.location = headers["location"]
        await self.peer.setRemoteDescription(RTCSessionDescription(body.decode(), "answer"))
        created = await self.until("session.created")
        assert created["session"]["audio"]["input"]["transcription"]["model"], created
        return self

    async def listen(self, track):
        """Counts frames that can be heard."""
        try:
            while True:
                frame = await track.recv()
                samples = struct.unpack(f"<{len(bytes(frame.planes[0])) // 2}h", bytes(frame.planes[0]))
                self.loud += max(map(abs, samples)) > 2_000
        except Exception as ended:  # the track ends with the call
            assert type(ended).__name__ == "MediaStreamError", ended

    async def until(self, kind):
        while True:
            event = await asyncio.wait_for(self.events.get(), 20)
            self.types.append(event["type"])
            assert event["type"] != "error" or kind == "error", event
            if event["type"] == kind:
                return event

    def send(self, event):
        self.channel.send(json.dumps(event))

    async def close(self):
        await self.peer.close()
        for task in self.tasks:
            await task


def near(text, said):
    return difflib.SequenceMatcher(None, text, said, autojunk=False).ratio() > 0.85


async def talks(url):
    call = await Call(url).connect("both")
    said = "hello there my friend."
    call.microphone.frames += voice(url, said)
    heard = await call.until("conversation.item.input_audio_transcription.completed")
    assert near(heard["transcript"], said), heard
    done = (await call.until("response.done"))["response"]
    assert done["status"] == "completed", done
    await call.until("output_audio_buffer.stopped")
    expected = len(voice(url, done["output"][0]["content"][0]["transcript"]))
    # Pauses between words are not loud, and the last packets may still be on their way.
    assert expected * 0.6 < call.loud < expected * 1.1, (call.loud, expected)
    print(f"ok    talks: {heard['transcript']!r}, and hears {call.loud / 50:.1f} s")

    call.microphone.frames += voice(url, STORY)
    await call.until("output_audio_buffer.started")
    await asyncio.sleep(0.8)
    call.microphone.frames += voice(url, "never mind.")
    await call.until("output_audio_buffer.cleared")
    cut = await call.until("conversation.item.truncated")
    call.send({"type": "conversation.item.retrieve", "item_id": cut["item_id"]})
    kept = (await call.until("conversation.item.retrieved"))["item"]["content"][0]["transcript"]
    assert 0 < len(kept) < len(STORY), kept
    print(f"ok    interrupts after {cut['audio_end_ms']} ms: {kept!r} was heard")

    await call.until("output_audio_buffer.stopped")
    status, _, _ = await asyncio.to_thread(post, f"{url}{call.location}/hangup", b"", "text/plain")
    assert status == 200
    while call.peer.connectionState not in ("closed", "failed"):
        await asyncio.sleep(0.02)
    await call.close()
    print("ok    is hung up on")


async def only_listens(url):
    call = await Call(url).connect("listens")
    await answered_in_writing(call)
    assert call.loud > 10, call.loud
    await call.close()
    print(f"ok    listens without a microphone: {call.loud / 50:.1f} s")


async def only_reads(url):
    call = await Call(url).connect("nothing")
    await answered_in_writing(call)
    await call.close()
    print("ok    reads without any audio")


async def answered_in_writing(call):
    part = {"type": "input_text", "text": "one two three"}
    call.send({"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": [part]}})
    call.send({"type": "response.create"})
    done = (await call.until("response.done"))["response"]
    assert done["output"][0]["content"][0]["transcript"] == "one two three", done
    await call.until("output_audio_buffer.stopped")


async def refused(url):
    for body, kind, expected, code in [
        (b"hello", "application/sdp", 400, "invalid_offer"),
        (b"{}", "application/json", 415, "unsupported_media_type"),
        (b"--x--\r\n", "multipart/form-data; boundary=x", 400, "missing_required_parameter"),
    ]:
        status, _, answer = await asyncio.to_thread(post, f"{url}/v1/realtime/calls", body, kind)
        error = json.loads(answer)["error"]
        assert (status, error["code"]) == (expected, code), answer
        print(f"ok    refused: {error['message'][:100]}")


async def rested(url):
    """Nothing is left of the calls."""
    gauges = ("promenade_calls_active", "promenade_requests_open", "promenade_engine_worker_requests")
    for _ in range(200):
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            lines = [line for line in answer.read().decode().splitlines() if line.startswith(gauges)]
        if all(line.endswith(" 0") for line in lines):
            return print("ok    nothing is left of the calls")
        await asyncio.sleep(0.05)
    raise AssertionError(lines)


asyncio.run(main(*sys.argv[1:]))

"""The stock `openai` client against a running server: every format, streamed, decoded and measured.

usage: openai_speech.py http://HOST:PORT
"""

import array
import base64
import json
import math
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import openai

TEXT = "The quick brown fox jumps over the lazy dog, and nobody minds. It was a fine day in October."
PCM_RATE = 24_000

# Format: the rate that a decoder gives, the codec's name, and by how many seconds the length may
# differ from the samples that were encoded. PCM, WAV and FLAC keep every sample; MP3 pads to whole
# frames of 24 ms and has an encoder delay; Opus states its end in the container, to a packet.
FORMATS = {
    "pcm": (24_000, "pcm_s16le", 0.0),
    "wav": (24_000, "pcm_s16le", 0.0),
    "flac": (24_000, "flac", 0.0),
    "mp3": (24_000, "mp3", 0.12),
    "opus": (48_000, "opus", 0.03),
}

# A lossy codec keeps the loudness of a tone within this many decibels.
LOUDNESS_DB = 1.5


def main(url):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0, timeout=60)
    checks = [
        lambda: formats_decode(client),
        lambda: audio_leaves_while_it_is_made(client, url),
        lambda: events_carry_the_same_audio(client),
        lambda: speed_changes_the_length(client),
        lambda: models_are_listed(client),
        lambda: wrong_requests_are_refused_by_name(client),
    ]
    for check in checks:
        check()


def streamed(client, response_format, **more):
    """The pieces of a streamed answer. The seed makes every format hold the same samples."""
    asked = {"model": "tts-1", "voice": "alloy", "input": TEXT, "response_format": response_format, **more}
    asked["extra_body"] = {"seed": 7}
    with client.audio.speech.with_streaming_response.create(**asked) as response:
        pieces = [piece for piece in response.iter_bytes() if piece]
        return pieces, response.headers


def formats_decode(client):
    pcm = b"".join(streamed(client, "pcm")[0])
    samples = len(pcm) // 2
    loudness = decibels(pcm)
    assert samples > PCM_RATE, f"only {samples} samples"
    for name, (rate, codec, tolerance) in FORMATS.items():
        pieces, headers = streamed(client, name)
        body = b"".join(pieces)
        assert len(pieces) > 1, f"{name}: came in one piece"
        probe, decoded = decode(body, name)
        assert (probe["codec_name"], int(probe["sample_rate"]), probe["channels"]) == (codec, rate, 1), f"{name}: {probe}"
        seconds = len(decoded) / 2 / rate
        expected = samples / PCM_RATE
        assert abs(seconds - expected) <= tolerance, f"{name}: {seconds:.4f} s, expected {expected:.4f} s"
        off = abs(decibels(decoded) - loudness)
        assert off < LOUDNESS_DB, f"{name}: loudness differs by {off:.2f} dB"
        if tolerance == 0.0:
            assert decoded == pcm, f"{name}: not the samples of pcm"
        if name == "wav":
            assert body.count(b"RIFF") == 1 and body[44:] == pcm, "wav: more or less than one header"
        print(f"ok    {name}: {len(body)} bytes in {len(pieces)} pieces, {seconds:.3f} s at {rate} Hz, {headers['content-type']}")


def decode(body, name):
    """What ffprobe says of a file, and its samples at its own rate."""
    raw = ["-f", "s16le", "-ar", str(PCM_RATE), "-ac", "1"] if name == "pcm" else []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"speech.{name}"
        path.write_bytes(body)
        show = ["ffprobe", "-v", "error", *raw, "-show_streams", "-of", "json", path]
        [stream] = json.loads(run(show))["streams"]
        # A WAV of unknown length ends where it ends; ffmpeg says so only as a warning.
        samples = run(["ffmpeg", "-v", "error", *raw, "-i", path, "-f", "s16le", "-"])
    return stream, samples


def run(command):
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0 and not done.stderr, f"{command[0]}: {done.stderr.decode()}"
    return done.stdout


def decibels(pcm):
    samples = array.array("h", pcm)
    return 20 * math.log10(math.sqrt(sum(s * s for s in samples) / len(samples)) / 32768)


def audio_leaves_while_it_is_made(client, url):
    """The first bytes of a long answer are here while the model still works on the rest."""
    asked = {"model": "tts-1", "voice": "alloy", "input": TEXT * 100, "response_format": "pcm"}
    with client.audio.speech.with_streaming_response.create(**asked) as response:
        pieces = response.iter_bytes()
        first = next(pieces)
        assert first, "an empty first piece"
        still_open = gauge(url, "promenade_requests_open")
        assert still_open >= 1, "the model was done before the first piece was read"
        received = len(first) + sum(map(len, pieces))
    assert received > len(first) * 10
    print(f"ok    incremental: {len(first)} of {received} bytes were here while the model worked")


def gauge(url, name):
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


def events_carry_the_same_audio(client):
    pcm = b"".join(streamed(client, "pcm")[0])
    text = b"".join(streamed(client, "pcm", stream_format="sse")[0]).decode()
    events = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]
    audio = b"".join(base64.b64decode(e["audio"]) for e in events if e["type"] == "speech.audio.delta")
    assert audio == pcm, "the events carry other audio"
    assert events[-1]["type"] == "speech.audio.done" and events[-1]["usage"]["output_tokens"] > 0, events[-1]
    assert len(events) > 2
    print(f"ok    sse: {len(events)} events, usage {events[-1]['usage']}")


def speed_changes_the_length(client):
    lengths = [sum(map(len, streamed(client, "pcm", speed=speed)[0])) for speed in (0.5, 1.0, 2.0, 4.0)]
    for slow, fast in zip(lengths, lengths[1:]):
        assert 1.6 < slow / fast < 2.4, lengths
    print(f"ok    speed: {[round(length / 2 / PCM_RATE, 2) for length in lengths]} s at 0.5, 1, 2 and 4")


def models_are_listed(client):
    ids = [model.id for model in client.models.list()]
    assert ids and client.models.retrieve(ids[0]).id == ids[0]
    print(f"ok    models: {ids}")


def wrong_requests_are_refused_by_name(client):
    good = {"model": "tts-1", "voice": "alloy", "input": "Hello.", "response_format": "pcm"}
    refused = [
        ({"response_format": "aac"}, openai.BadRequestError, "response_format", "aac"),
        ({"response_format": "oggg"}, openai.BadRequestError, "response_format", "mp3"),
        ({"voice": "nobody"}, openai.BadRequestError, "voice", "nobody"),
        ({"model": "nothing"}, openai.NotFoundError, "model", "nothing"),
        ({"speed": 9.0}, openai.BadRequestError, "speed", "4"),
        ({"input": ""}, openai.BadRequestError, "input", "empty"),
    ]
    for change, kind, param, word in refused:
        try:
            client.audio.speech.create(**{**good, **change})
        except kind as error:
            assert error.param == param and word in error.message, f"{change}: {error.message}"
            print(f"ok    refused {change}: {error.body['message']}")
        else:
            raise AssertionError(f"{change} was not refused")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1].rstrip("/"))

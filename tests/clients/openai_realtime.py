"""The stock `openai` client in a conversation by voice with a running server of `toy-voice-chat`, over a WebSocket.

usage: openai_realtime.py http://HOST:PORT

The toys read letters out of tones, say the same again, and make tones of it. So what is understood and
answered is known to the letter. Every event that the public API has is held against the client's own types.
"""

import asyncio
import base64
import sys

import openai
import pydantic
from openai.types.realtime import RealtimeServerEvent

MODEL = "gpt-realtime"
EVENTS = pydantic.TypeAdapter(RealtimeServerEvent)
# 20 ms of 24 kHz, and a second of silence.
CHUNK = 960
HUSH = bytes(48_000)


async def main(url):
    client = openai.AsyncOpenAI(
        base_url=f"{url}/v1",
        websocket_base_url=f"{url.replace('http', 'ws', 1)}/v1",
        api_key="unused",
        max_retries=0,
        timeout=60,
    )
    for check in (spoken_to, typed_to, pushed_to_talk, interrupted, beside, written_down, refused, by_secret):
        await asyncio.wait_for(check(client), 60)


async def voice(client, text):
    """A text as the toy says it: 16 bits at 24 kHz."""
    spoken = await client.audio.speech.create(model="toy", voice="alloy", input=text, response_format="pcm")
    return spoken.content


class Talk:
    """A connection whose events are checked as they come."""

    def __init__(self, connection):
        self.connection = connection
        self.events = []

    async def next(self):
        raw = await self.connection.recv_bytes()
        event = self.connection.parse_event(raw)
        self.events.append(event)
        # What is our own, a client may ignore.
        if not event.type.startswith("promenade."):
            EVENTS.validate_json(raw)
        return event

    async def until(self, kind):
        while True:
            event = await self.next()
            assert event.type != "error" or kind == "error", event
            if event.type == kind:
                return event

    async def say(self, audio):
        for at in range(0, len(audio), CHUNK):
            chunk = base64.b64encode(audio[at : at + CHUNK]).decode()
            await self.connection.input_audio_buffer.append(audio=chunk)

    def heard(self):
        deltas = (event.delta for event in self.events if event.type == "response.output_audio.delta")
        return b"".join(map(base64.b64decode, deltas))

    def types(self):
        return [event.type for event in self.events]


def session(**more):
    audio = {"input": {"transcription": {"model": "whisper-1"}, **more.pop("input", {})}}
    return {"type": "realtime", "audio": audio, **more}


async def opened(connection, **more):
    talk = Talk(connection)
    created = await talk.until("session.created")
    assert created.session.model == MODEL and created.session.type == "realtime", created
    await connection.session.update(session=session(**more))
    await talk.until("session.updated")
    return talk


async def spoken_to(client):
    async with client.realtime.connect(model=MODEL) as connection:
        talk = await opened(connection, instructions="Be brief.")
        await talk.say(await voice(client, "hello there.") + HUSH)
        heard = await talk.until("conversation.item.input_audio_transcription.completed")
        assert heard.transcript == "hello there.", heard
        done = await talk.until("response.done")
        [item] = done.response.output
        assert done.response.status == "completed" and item.content[0].transcript == "hello there.", done
        # The phase of its tones follows a seed; how long they are does not.
        assert len(talk.heard()) == len(await voice(client, "hello there.")), len(talk.heard())
        order = [kind for kind in talk.types() if kind.startswith("input_audio_buffer")]
        assert order == [f"input_audio_buffer.{kind}" for kind in ("speech_started", "speech_stopped", "committed")]
        usage = done.response.usage
        assert usage.total_tokens == usage.input_tokens + usage.output_tokens > 0, usage
        print(f"ok    spoken to: {heard.transcript!r}, answered with {len(talk.heard()) / 48_000:.1f} s of audio")


async def typed_to(client):
    async with client.realtime.connect(model=MODEL) as connection:
        talk = await opened(connection, output_modalities=["text"])
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one two three"}]}
        await connection.conversation.item.create(item=item)
        await connection.response.create()
        text = ""
        while (event := await talk.next()).type != "response.done":
            text += event.delta if event.type == "response.output_text.delta" else ""
        assert text == "one two three" and not talk.heard(), text
        print(f"ok    typed to, answered in writing: {text!r}")


async def pushed_to_talk(client):
    async with client.realtime.connect(model=MODEL) as connection:
        talk = await opened(connection, input={"turn_detection": None})
        await talk.say(await voice(client, "push to talk.") + HUSH)
        await connection.input_audio_buffer.commit()
        committed = await talk.until("input_audio_buffer.committed")
        await connection.response.create()
        done = await talk.until("response.done")
        assert done.response.output[0].content[0].transcript == "push to talk.", done
        await connection.conversation.item.retrieve(item_id=committed.item_id)
        item = (await talk.until("conversation.item.retrieved")).item
        assert item.content[0].transcript == "push to talk.", item
        print("ok    push to talk, and what was said can be read again")


async def interrupted(client):
    async with client.realtime.connect(model=MODEL) as connection:
        talk = await opened(connection)
        story = "tell me a long story about a promenade by the sea and all who walk there."
        await talk.say(await voice(client, story) + HUSH)
        first = await talk.until("response.output_audio.delta")
        await talk.until("response.done")
        await connection.conversation.item.truncate(item_id=first.item_id, content_index=0, audio_end_ms=900)
        await talk.until("conversation.item.truncated")
        await connection.conversation.item.retrieve(item_id=first.item_id)
        kept = (await talk.until("conversation.item.retrieved")).item.content[0].transcript
        assert kept and story.startswith(kept.strip()) and len(kept) < len(story) / 2, kept
        await connection.response.cancel()
        error = (await talk.until("error")).error
        assert error.code == "response_cancel_not_active", error
        print(f"ok    cut to what was heard: {kept!r}; nothing to cancel is an error, and no more")


async def beside(client):
    async with client.realtime.connect(model=MODEL) as connection:
        talk = await opened(connection, output_modalities=["text"])
        given = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "aside"}]}
        await connection.response.create(
            response={"conversation": "none", "input": [given], "metadata": {"topic": "x"}, "output_modalities": ["text"]}
        )
        done = await talk.until("response.done")
        assert done.response.metadata == {"topic": "x"} and done.response.conversation_id is None, done
        assert done.response.output[0].content[0].text == "aside", done
        assert "conversation.item.added" not in talk.types(), talk.types()
        print("ok    an answer beside the conversation leaves it as it was")


async def written_down(client):
    async with client.realtime.connect(extra_query={"intent": "transcription"}) as connection:
        talk = Talk(connection)
        await talk.until("session.created")
        audio = {"input": {"transcription": {"model": "whisper-1"}, "turn_detection": {"type": "server_vad"}}}
        await connection.session.update(session={"type": "transcription", "audio": audio})
        await talk.until("session.updated")
        await talk.say(await voice(client, "only write this down.") + HUSH)
        heard = await talk.until("conversation.item.input_audio_transcription.completed")
        assert heard.transcript == "only write this down.", heard
        assert "response.created" not in talk.types(), talk.types()
        print(f"ok    a transcription session only writes down: {heard.transcript!r}")


async def refused(client):
    async with client.realtime.connect(model=MODEL) as connection:
        talk = await opened(connection)
        await connection.send({"type": "session.update", "event_id": "mine", "session": {"type": "realtime", "voise": 1}})
        error = (await talk.until("error")).error
        assert (error.type, error.param, error.event_id) == ("invalid_request_error", "session.voise", "mine"), error
        await connection.session.update(session=session(instructions="Still here."))
        assert (await talk.until("session.updated")).session.instructions == "Still here."
        print(f"ok    an unknown field: {error.message}")


async def by_secret(client):
    made = await client.realtime.client_secrets.create(
        expires_after={"anchor": "created_at", "seconds": 60}, session=session(instructions="Be a pirate.")
    )
    assert made.value.startswith("ek_") and made.session.instructions == "Be a pirate.", made
    browser = client.with_options(api_key=made.value)
    async with browser.realtime.connect(model=MODEL) as connection:
        created = await Talk(connection).until("session.created")
        assert created.session.instructions == "Be a pirate.", created
    try:
        await browser.audio.speech.create(model="toy", voice="alloy", input="x")
        raise AssertionError("a client secret speaks")
    except openai.PermissionDeniedError as error:
        print(f"ok    a client secret opens its session, and nothing else: {error.body['message']}")


asyncio.run(main(*sys.argv[1:]))

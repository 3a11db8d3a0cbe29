// Stories of the OpenAI agents SDK as it is published, against the real server without weights: in Node by
// its WebSocket transport, and in the browser by its WebRTC transport, on a page of another origin.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OpenAIRealtimeWebSocket, RealtimeAgent, RealtimeSession } from '@openai/agents-realtime';
import { pause, Server, TOY_RATE, understood, until } from './harness.mjs';
import { Microphone } from './microphone.mjs';

const FIRST = 'what is a promenade and why would anybody walk there in the rain';
const SECOND = 'never mind';
const MODEL = 'gpt-realtime';

/** An icon that is here already: a browser asks for one. */
const PAGE = '<!doctype html><title>SDK</title><link rel="icon" href="data:,">';

/** What the SDK is told of a session. */
const CONFIG = { audio: { input: { transcription: { model: 'whisper-1' }, turnDetection: { type: 'server_vad' } } } };

/** Runs `story` with a server to talk to. */
function served(story) {
  return async (rest) => {
    const server = await Server.start('toy-voice-chat');
    try {
      await story({ ...rest, server, said: (input) => server.samples({ model: 'toy', voice: 'sine', input }) });
    } finally {
      await server.kill();
    }
  };
}

/** What was said, as the SDK keeps it: who, and the words. */
function transcript(history) {
  const messages = history.filter(({ type }) => type === 'message');
  return messages.map(({ role, content }) => [role, content.map(({ transcript, text }) => transcript ?? text ?? '').join('').trim()]);
}

/** A page of its own origin, with the SDK's bundle beside it. */
async function pageWithSdk() {
  const bundle = join(dirname(fileURLToPath(import.meta.resolve('@openai/agents-realtime'))), 'bundle');
  const server = createServer(async (request, response) => {
    if (request.url === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
    const file = /^\/([\w-]+\.mjs)$/.exec(request.url)?.[1];
    const text = file === undefined ? null : await readFile(join(bundle, file)).catch(() => null);
    if (text === null) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(text);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

export const stories = {
  'the agents SDK in Node, over its WebSocket transport': served(async ({ server, said }) => {
    const url = `${server.origin.replace('http', 'ws')}/v1/realtime?model=${MODEL}`;
    const transport = new OpenAIRealtimeWebSocket({ url });
    const agent = new RealtimeAgent({ name: 'Guide', instructions: 'Be brief.' });
    const session = new RealtimeSession(agent, { transport, model: MODEL, config: CONFIG });
    const [errors, audio] = [[], []];
    let interrupted = 0;
    session.on('error', ({ error }) => errors.push(error));
    session.on('audio', ({ data }) => audio.push(data.byteLength));
    session.on('audio_interrupted', () => interrupted++);
    await session.connect({ apiKey: 'unused' });
    const say = async (samples) => {
      const all = Int16Array.from([...samples, ...Array(TOY_RATE).fill(0)]);
      for (let at = 0; at < all.length; at += 480) session.sendAudio(all.slice(at, at + 480).buffer);
    };
    await say(await said(FIRST));
    await until('it is understood and answered', 15_000, () => transcript(session.history).length >= 2 && audio.length > 0);
    await until('the answer is whole', 15_000, () => transcript(session.history)[1][1] === FIRST);
    assert.deepEqual(transcript(session.history)[0], ['user', FIRST]);
    // The SDK hears what it is sent as it comes: the answer is still being heard.
    session.interrupt();
    await until('it is cut', 5_000, () => interrupted > 0);
    await say(await said(SECOND));
    await until('the next turn is answered', 15_000, () => transcript(session.history).at(-1)[1] === SECOND && transcript(session.history).length === 4);
    session.sendMessage('one two three');
    await until('a text is answered', 15_000, () => transcript(session.history).at(-1)[1] === 'one two three');
    assert.deepEqual(errors, []);
    session.close();
  }),

  'the agents SDK in the browser, by its WebRTC transport': served(async ({ launch, home, server, said }) => {
    const parts = [1.5, await said(FIRST), 2.2, await said(SECOND), 8];
    const microphone = await Microphone.play(home, 'agents.wav', parts, TOY_RATE);
    const browser = await launch(microphone.flags);
    const own = await pageWithSdk();
    try {
      const context = await browser.newContext({ permissions: ['microphone'] });
      const page = await context.newPage();
      const wrongs = [];
      page.on('pageerror', (error) => wrongs.push(String(error)));
      page.on('console', (message) => message.type() === 'error' && wrongs.push(message.text()));
      await page.goto(own.url);
      const made = await fetch(`${server.origin}/v1/realtime/client_secrets`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ session: { type: 'realtime', model: MODEL } }),
      });
      const { value } = await made.json();
      await page.evaluate(talk, { calls: `${server.origin}/v1/realtime/calls`, secret: value, model: MODEL, config: CONFIG });
      const heard = () => page.evaluate(() => globalThis.heard());
      await until('it is understood and answered', 20_000, async () => transcript((await heard()).history).length >= 2);
      await until('the answer is heard', 10_000, async () => (await heard()).loud > 10);
      await until('the second turn cuts the answer and is answered', 20_000, async () => transcript((await heard()).history).length >= 4);
      await pause(500);
      const { history, interrupted, errors } = await heard();
      const [first, answer, second, last] = transcript(history);
      assert.ok(first[0] === 'user' && understood(first[1], FIRST), first[1]);
      assert.ok(answer[0] === 'assistant' && second[0] === 'user' && last[0] === 'assistant', JSON.stringify(history));
      assert.ok(understood(second[1], SECOND) && understood(last[1], SECOND), `${second[1]} / ${last[1]}`);
      assert.ok(interrupted > 0, 'the answer was cut');
      assert.deepEqual([...errors, ...wrongs], []);
      await page.evaluate(() => globalThis.hangUp());
      await until('the server holds nothing', 10_000, async () => (await server.openRequests()) === 0);
      await context.close();
    } finally {
      own.close();
      await browser.close();
    }
  }),
};

/** Runs in the page: connects, and tells what comes of it. */
async function talk({ calls, secret, model, config }) {
  const { OpenAIRealtimeWebRTC, RealtimeAgent, RealtimeSession } = await import('/openai-realtime-agents.mjs');
  // Tones are no speech to a browser's noise suppression.
  const clean = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  const mediaStream = await navigator.mediaDevices.getUserMedia({ audio: clean });
  const audioElement = new Audio();
  const transport = new OpenAIRealtimeWebRTC({ baseUrl: calls, mediaStream, audioElement });
  const session = new RealtimeSession(new RealtimeAgent({ name: 'Guide', instructions: 'Be brief.' }), { transport, model, config });
  const state = { interrupted: 0, errors: [], loud: 0 };
  // Of an interruption this transport tells by the server's own event.
  session.on('transport_event', ({ type }) => (state.interrupted += type === 'output_audio_buffer.cleared' ? 1 : 0));
  session.on('error', ({ error }) => state.errors.push(JSON.stringify(error)));
  globalThis.heard = () => ({ ...state, history: session.history });
  globalThis.hangUp = () => session.close();
  await session.connect({ apiKey: secret });
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  context.createMediaStreamSource(audioElement.srcObject).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    state.loud += samples.some((sample) => Math.abs(sample) > 0.05) ? 1 : 0;
  }, 50);
}

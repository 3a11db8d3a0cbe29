// What a story needs: a server of its own kind, pages that tell on themselves, and waiting with a
// deadline. Whatever is opened here is closed here.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageServer } from './page-files.mjs';

const ROOT = resolve(fileURLToPath(import.meta.url), '../../..');

/** A debug build on a busy machine may take this long to start. */
const START_MS = 60_000;

export const TOY_RATE = 24_000;

/** `promenade serve` on loopback. */
export class Server {
  #process = null;
  #log = '';

  /** Serves `model`: a name, or the name of several. */
  static async start(model = 'toy') {
    const server = new Server();
    server.model = model;
    server.port = await freePort();
    const page = await pageServer(server.port);
    server.origin = `http://127.0.0.1:${page?.address().port ?? server.port}`;
    await server.start();
    return server;
  }

  /** Starts it, again on the same port after `kill`. */
  async start() {
    this.#log = '';
    const child = spawn(binary(), ['serve', this.model, '--listen', `127.0.0.1:${this.port}`]);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => (this.#log = (this.#log + data).slice(-20_000)));
    }
    child.on('error', (error) => (this.#log += error.message));
    this.#process = child;
    await until('the server is ready', START_MS, async () => {
      assert.equal(child.exitCode, null, `the server ended:\n${this.#log}`);
      const answer = await fetch(`http://127.0.0.1:${this.port}/ready`).catch(() => null);
      return answer?.status === 200;
    });
  }

  /** As a crash would: without a word. */
  async kill() {
    const child = this.#process;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGKILL');
    await ended;
  }

  /** Requests that the engine works on, as /metrics says. */
  async openRequests() {
    const text = await (await fetch(`${this.origin}/metrics`)).text();
    return openRequestsIn(text);
  }

  /** The samples of `text`, asked for beside the page. */
  async samples(options) {
    const answer = await fetch(`${this.origin}/v1/audio/speech`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...options, response_format: 'pcm' }),
    });
    assert.equal(answer.status, 200, `the server refused: ${await answer.clone().text()}`);
    return new Int16Array(await answer.arrayBuffer());
  }

  get log() {
    return this.#log;
  }
}

/** What the engine holds and what the doors speak, of all models and doors together. */
function openRequestsIn(metrics) {
  const gauges = /^promenade_(?:requests_open|streams_active)(?:\{[^}]*\})? (\S+)$/gm;
  const values = [...metrics.matchAll(gauges)].map((match) => Number(match[1]));
  assert.ok(values.length >= 2, 'no gauges of open requests in /metrics');
  return values.reduce((sum, value) => sum + value, 0);
}

/** One tab, which remembers everything that went wrong in it. */
export class Tab {
  wrongs = [];

  /** Opens the page at one of its tabs; `at: ''` leaves the choice to the page. */
  static async open(browser, server, { viewport = { width: 1200, height: 900 }, at = '#speak', context = null, ...rest } = {}) {
    const tab = new Tab();
    tab.context = context ?? (await browser.newContext({ viewport, acceptDownloads: true, ...rest }));
    tab.page = await tab.context.newPage();
    tab.#watch(server.origin);
    await tab.page.goto(`${server.origin}/${at}`);
    await until('the page has asked the server', 30_000, async () => (await tab.data()).state !== 'loading');
    return tab;
  }

  #watch(origin) {
    const { page, wrongs } = this;
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) wrongs.push(`console ${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => wrongs.push(`error on the page: ${error.stack ?? error}`));
    page.on('requestfailed', (request) => wrongs.push(`failed request: ${request.url()} ${request.failure()?.errorText}`));
    page.on('response', (response) => {
      if (response.status() >= 400) wrongs.push(`status ${response.status()}: ${response.url()}`);
    });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol !== 'blob:' && url.origin !== origin) wrongs.push(`request to another origin: ${request.url()}`);
    });
  }

  /** Waits until the page is in `state`, and says what it is in otherwise. */
  async state(state, ms = 30_000) {
    await until(`the page is ${state}`, ms, async () => (await this.data()).state === state);
  }

  /** What the page says of itself: state, outcome, played samples and their RMS; and of a conversation. */
  async data() {
    const { played = '0', rms = '0', ...rest } = await this.page.evaluate(() => ({ ...document.body.dataset }));
    return { ...rest, played: Number(played), rms: Number(rms) };
  }

  /** Starts a conversation and waits until it runs. */
  async talk() {
    await this.page.click('#talk-connect');
    await this.talking();
  }

  async talking(ms = 15_000) {
    await until('the conversation runs', ms, async () => (await this.data()).talk === 'talking');
  }

  async floor(floor, ms = 15_000) {
    await until(`the floor is ${floor}`, ms, async () => (await this.data()).floor === floor);
  }

  /** The transcript: who, in what state, what was heard and what was not. */
  async lines() {
    return this.page.locator('#lines li').evaluateAll((all) =>
      all.map((line) => ({
        who: line.className,
        state: line.dataset.state,
        heard: line.querySelector('.heard').textContent,
        cut: line.querySelector('del')?.textContent ?? '',
        text: line.querySelector('.heard').textContent + line.querySelector('.rest').textContent,
      })),
    );
  }

  /** What the page says went wrong in the conversation. */
  async trouble() {
    const error = this.page.locator('#talk-error');
    return (await error.isVisible()) ? error.innerText() : '';
  }

  /** A figure as a number; null where it is not known. */
  async figure(name) {
    const value = await this.page.locator(`[data-figure="${name}"]`).getAttribute('data-value');
    return value === '' ? null : Number(value);
  }

  async door(door) {
    await this.page.locator(`label[for="door-${door}"]`).click();
  }

  async say(text) {
    await this.page.fill('#text', text);
    await this.page.click('#speak');
  }

  error() {
    return this.page.locator('#error').innerText();
  }

  async shot(name) {
    const folder = process.env.SCREENSHOTS;
    if (!folder) return;
    mkdirSync(folder, { recursive: true });
    await this.page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  }

  async close() {
    await this.context.close();
    assert.deepEqual(this.wrongs, [], 'nothing goes wrong on the page');
  }
}

/** Asks `holds` until it does; fails after `ms` with what it waited for. */
export async function until(what, ms, holds) {
  const end = Date.now() + ms;
  for (;;) {
    if (await holds()) return;
    assert.ok(Date.now() < end, `after ${ms} ms still not so: ${what}`);
    await pause(25);
  }
}

export function pause(ms) {
  return new Promise((done) => setTimeout(done, ms));
}

/**
 * Whether `text` is what was said, but for a letter in ten: a codec for speech smears the toy's tones
 * into the pauses between words.
 */
export function understood(text, said) {
  const row = Array.from({ length: said.length + 1 }, (_, i) => i);
  for (const letter of text.trim()) {
    let corner = row[0]++;
    for (let i = 1; i < row.length; i++) {
      const changed = corner + (letter === said[i - 1] ? 0 : 1);
      corner = row[i];
      row[i] = Math.min(changed, row[i] + 1, row[i - 1] + 1);
    }
  }
  return row.at(-1) <= 1 + said.length / 10;
}

export function rms(samples) {
  const energy = samples.reduce((sum, sample) => sum + (sample / 32768) ** 2, 0);
  return Math.sqrt(energy / samples.length);
}

function binary() {
  const given = process.env.PROMENADE_BIN;
  if (given) return resolve(given);
  const built = ['debug', 'release']
    .map((profile) => join(process.env.CARGO_TARGET_DIR ?? join(ROOT, 'target'), profile, 'promenade'))
    .filter((path) => existsSync(path))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  assert.ok(built.length > 0, 'no promenade binary: build one, or name one in PROMENADE_BIN');
  return built[0];
}

function freePort() {
  return new Promise((done, fail) => {
    const probe = createServer();
    probe.on('error', fail);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

// The stories: what somebody does on the page, and what must come of it. Each gets a browser and a
// server of its own, and closes what it opens.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { pause, rms, Tab, TOY_RATE, until } from './harness.mjs';

const SENTENCE = 'The quick brown fox jumps over the lazy dog.';
const LONG = `${SENTENCE} `.repeat(40).trim();

/** Plays one sentence to its end and compares what was played with what the server sends. */
async function speaksToTheEnd(tab, server, door) {
  await tab.door(door);
  const options = await tab.page.evaluate(() => ({
    model: document.querySelector('#model').value,
    voice: document.querySelector('#voice').value,
  }));
  await tab.say(SENTENCE);
  await tab.state('speaking');
  await until('something is heard', 15_000, async () => (await tab.data()).played > 0);
  await tab.state('ready');
  const expected = await server.samples({ ...options, input: SENTENCE });
  const data = await tab.data();
  assert.equal(data.outcome, 'complete');
  assert.equal(data.played, expected.length, 'every sample is played once');
  assert.ok(rms(expected) > 0.01, 'the toy makes a sound');
  assert.ok(Math.abs(data.rms / rms(expected) - 1) < 0.02, `played at ${data.rms}, sent at ${rms(expected)}`);
  await figuresHold(tab, expected.length);
}

async function figuresHold(tab, samples) {
  const names = ['ttfb', 'ttfc', 'ttfa', 'rtf', 'audioSeconds', 'buffered', 'chunkCount'];
  const figures = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await tab.figure(name)])));
  const said = JSON.stringify(figures);
  assert.ok(0 < figures.ttfb && figures.ttfb <= figures.ttfc && figures.ttfc < figures.ttfa, said);
  assert.ok(figures.rtf > 0 && figures.chunkCount > 0, said);
  assert.ok(Math.abs(figures.audioSeconds - samples / TOY_RATE) < 1e-6, said);
  assert.equal(figures.buffered, 0, said);
  assert.match(await tab.page.locator('#status').innerText(), /^Done: .* of audio, first chunk after /);
}

export const stories = {
  async 'speaks over WebSocket, word by word'({ browser, server }) {
    const tab = await Tab.open(browser, server, { colorScheme: 'light' });
    await tab.shot('light-rest');
    await speaksToTheEnd(tab, server, 'ws');
    await tab.say(SENTENCE);
    const marked = new Set();
    await until('every word has been marked', 20_000, async () => {
      const mark = tab.page.locator('#transcript mark');
      const word = await mark.textContent({ timeout: 200 }).catch(() => null);
      if (word !== null) marked.add(word);
      if (marked.size === 4) await tab.shot('light-speaking');
      return (await tab.data()).state === 'ready';
    });
    const words = SENTENCE.replace('.', '').split(' ');
    const seen = [...marked].map((word) => word.replace('.', ''));
    assert.ok(seen.length >= words.length / 2, `marked ${seen}`);
    assert.ok(seen.every((word) => words.includes(word)), `marked ${seen}`);
    assert.deepEqual(seen, [...new Set(words)].filter((word) => seen.includes(word)), 'in order');
    await tab.close();
  },

  async 'speaks over HTTP'({ browser, server }) {
    const tab = await Tab.open(browser, server, { colorScheme: 'dark' });
    await speaksToTheEnd(tab, server, 'http');
    await tab.shot('dark-done');
    await tab.close();
  },

  async 'the walk is drawn, and lights up as it runs'({ browser, server }) {
    const tab = await Tab.open(browser, server);
    const graph = await (await fetch(`${server.origin}/v1/models/toy/graph?format=json`)).json();
    await tab.page.waitForSelector('#walk svg');
    const names = await tab.page.locator('#walk .node').evaluateAll((all) => all.map((node) => node.querySelector('text').textContent));
    assert.equal(names.length, graph.nodes.length, `drawn: ${names}`);
    assert.equal(await tab.page.locator('#walk .node.known').count(), 0);
    assert.ok((await tab.page.locator('#walk .edge.stream').count()) > 0, 'streaming edges are dashed');
    await tab.say(SENTENCE);
    await until('a chunk moves', 15_000, async () => (await tab.page.locator('#walk .chunk').count()) > 0);
    await until('all nodes have run', 15_000, async () => (await tab.page.locator('#walk .node.known').count()) === names.length);
    await tab.state('ready');
    await until('nothing moves any more', 5_000, async () => (await tab.page.locator('#walk .chunk').count()) === 0);
    await tab.close();
  },

  async 'stop in the middle falls silent and cancels'({ browser, server }) {
    for (const door of ['ws', 'http']) {
      const tab = await Tab.open(browser, server);
      await tab.door(door);
      await tab.say(LONG);
      await until('half a second is heard', 20_000, async () => (await tab.data()).played > TOY_RATE / 2);
      await tab.page.click('#stop');
      await tab.state('ready', 1_000);
      await pause(300);
      const { outcome, played } = await tab.data();
      assert.ok(outcome === 'stopped' || outcome === 'complete', outcome);
      await pause(700);
      assert.equal((await tab.data()).played, played, 'nothing is played after Stop');
      await until('the server is at rest', 5_000, async () => (await server.openRequests()) === 0);
      // An aborted request is what was asked for.
      tab.wrongs = tab.wrongs.filter((wrong) => !/ERR_ABORTED/.test(wrong));
      await tab.close();
    }
  },

  async 'the keyboard is enough'({ browser, server }) {
    const tab = await Tab.open(browser, server);
    const { page } = tab;
    await page.focus('#text');
    await page.keyboard.press('Control+A');
    await page.keyboard.type(LONG.slice(0, 900));
    await page.keyboard.press('Control+Enter');
    await until('it is heard', 15_000, async () => (await tab.data()).played > 0);
    await page.keyboard.press('Escape');
    await tab.state('ready', 1_000);
    const reached = [];
    await page.focus('#text');
    for (let i = 0; i < 30; i++) {
      await page.keyboard.press('Tab');
      reached.push(await page.evaluate(() => document.activeElement?.id ?? ''));
    }
    for (const id of ['model', 'voice', 'speed', 'prebuffer', 'door-ws', 'live', 'speak', 'again', 'save']) {
      assert.ok(reached.includes(id), `Tab reaches #${id}: ${reached}`);
    }
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll('input, select, textarea, button')]
        .filter((control) => !control.labels?.length && !control.textContent.trim() && !control.getAttribute('aria-label'))
        .map((control) => control.outerHTML),
    );
    assert.deepEqual(nameless, [], 'every control has a name');
    await tab.close();
  },

  async 'what was heard can be heard again and kept'({ browser, server }) {
    const tab = await Tab.open(browser, server);
    await tab.say(SENTENCE);
    await tab.state('speaking');
    await tab.state('ready');
    const { played } = await tab.data();
    const ttfc = await tab.figure('ttfc');
    await tab.page.click('#again');
    await tab.state('speaking');
    await tab.state('ready');
    assert.equal((await tab.data()).played, played);
    assert.equal(await tab.figure('ttfc'), ttfc, 'a replay leaves the figures alone');
    const [download] = await Promise.all([tab.page.waitForEvent('download'), tab.page.click('#save')]);
    const wav = await readFile(await download.path());
    assert.equal(download.suggestedFilename(), 'promenade.wav');
    assert.equal(wav.toString('latin1', 0, 4) + wav.toString('latin1', 8, 12), 'RIFFWAVE');
    assert.deepEqual([wav.readUInt32LE(24), wav.readUInt16LE(22), wav.readUInt32LE(40)], [TOY_RATE, 1, played * 2]);
    assert.ok(rms(new Int16Array(wav.buffer.slice(wav.byteOffset + 44, wav.byteOffset + wav.length))) > 0.01);
    await tab.close();
  },

  async 'text goes out while it is typed'({ browser, server }) {
    const tab = await Tab.open(browser, server);
    const { page } = tab;
    await page.fill('#text', '');
    await page.check('#live');
    await page.click('#speak');
    await page.focus('#text');
    await page.keyboard.type('The first sentence is out. And now ');
    await until('it is heard before it is complete', 15_000, async () => (await tab.data()).played > 0);
    assert.equal(await page.locator('#speak').innerText(), 'Finish');
    await page.keyboard.type('comes the rest.');
    await page.click('#speak');
    await tab.state('ready');
    assert.equal((await tab.data()).outcome, 'complete');
    assert.equal(await page.locator('#transcript').textContent(), 'The first sentence is out. And now comes the rest.');
    await tab.close();
  },

  async 'a slower speed gives longer audio'({ browser, server }) {
    const tab = await Tab.open(browser, server);
    const seconds = [];
    for (const speed of ['1', '2']) {
      await tab.page.fill('#speed', speed);
      await tab.say(SENTENCE);
      await tab.state('speaking');
      await tab.state('ready');
      seconds.push(await tab.figure('audioSeconds'));
    }
    const ratio = seconds[0] / seconds[1];
    assert.ok(ratio > 1.7 && ratio < 2.3, `${seconds}`);
    await tab.close();
  },

  async 'a reload in the middle leaves nothing behind'({ browser, server }) {
    const tab = await Tab.open(browser, server);
    for (const door of ['ws', 'http']) {
      await tab.door(door);
      await tab.say(LONG);
      await until('it is heard', 15_000, async () => (await tab.data()).played > 0);
      await tab.page.reload();
      await tab.state('ready');
      await until('the server is at rest', 5_000, async () => (await server.openRequests()) === 0);
    }
    await tab.say(SENTENCE);
    await tab.state('speaking');
    await tab.state('ready');
    assert.equal((await tab.data()).outcome, 'complete');
    tab.wrongs = tab.wrongs.filter((wrong) => !/ERR_ABORTED/.test(wrong));
    await tab.close();
  },

  async 'two tabs speak at once'({ browser, server }) {
    const tabs = [await Tab.open(browser, server), await Tab.open(browser, server)];
    await Promise.all(tabs.map((tab) => tab.say(SENTENCE)));
    await Promise.all(tabs.map((tab) => until('it is heard', 15_000, async () => (await tab.data()).played > 0)));
    await Promise.all(tabs.map((tab) => tab.state('ready')));
    for (const tab of tabs) {
      const { outcome, rms: heard } = await tab.data();
      assert.equal(outcome, 'complete');
      assert.ok(heard > 0.01);
      await tab.close();
    }
  },

  async 'a phone shows it all without scrolling sideways'({ browser, server }) {
    for (const [width, colorScheme] of [[375, 'light'], [320, 'dark']]) {
      const tab = await Tab.open(browser, server, { viewport: { width, height: 700 }, colorScheme, hasTouch: true });
      await tab.say(SENTENCE);
      await until('it is heard', 15_000, async () => (await tab.data()).played > TOY_RATE / 2);
      await tab.shot(`phone-${width}-${colorScheme}`);
      await tab.state('ready');
      const overflow = await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${overflow} px too wide at ${width}`);
      const small = await tab.page.evaluate(() =>
        [...document.querySelectorAll('button, select')]
          .filter((control) => control.checkVisibility() && control.getBoundingClientRect().height < 30)
          .map((control) => control.id),
      );
      assert.deepEqual(small, [], 'controls are large enough for a thumb');
      await tab.close();
    }
  },

  async 'dark and light are readable'({ browser, server }) {
    for (const colorScheme of ['light', 'dark']) {
      const tab = await Tab.open(browser, server, { colorScheme });
      const poor = await tab.page.evaluate(contrastBelow, 4.5);
      assert.deepEqual(poor, [], `too little contrast in ${colorScheme}`);
      await tab.close();
    }
  },

  async 'what the server refuses is said in its words'({ browser, server }) {
    const tab = await Tab.open(browser, server);
    await tab.say('   ');
    assert.match(await tab.error(), /no text/);
    // Over the limits of the doors: 16,384 characters a request, 262,144 waiting on a socket.
    for (const [door, text, said] of [
      ['http', 'x'.repeat(20_000), /16384/],
      ['ws', 'x'.repeat(300_000), /262144/],
      ['http', '🎉🎉', /nothing to say/],
      ['ws', '🎉🎉', /nothing to say/],
    ]) {
      await tab.door(door);
      await tab.say(text);
      await until(`${door} says ${said}`, 10_000, async () => said.test(await tab.error().catch(() => '')));
      await tab.state('ready');
    }
    await tab.shot('error-refused');
    await tab.say(SENTENCE);
    await tab.state('speaking');
    await tab.state('ready');
    assert.equal(await tab.page.locator('#error').isVisible(), false, 'the next try clears it');
    // The refusals themselves: 400 or 413 on HTTP.
    tab.wrongs = tab.wrongs.filter((wrong) => !/status (of )?4(00|13)/.test(wrong));
    await tab.close();
  },

  async 'a server that vanishes is said in words, and found again'({ browser, server }) {
    for (const door of ['ws', 'http']) {
      const tab = await Tab.open(browser, server);
      await tab.door(door);
      await tab.say(LONG);
      await until('it is heard', 15_000, async () => (await tab.data()).played > 0);
      await server.kill();
      // Where all audio had come already, the page cannot know yet: the next try tells it.
      await tab.page.keyboard.press('Escape');
      await tab.page.fill('#text', SENTENCE);
      // A button that is off, because the page has found out meanwhile, does nothing.
      await tab.page.evaluate(() => document.querySelector('#speak').click());
      await until('the reason is shown', 10_000, async () => /server/.test(await tab.error().catch(() => '')));
      await tab.shot(`error-gone-${door}`);
      await server.start();
      await tab.state('ready', 15_000);
      await tab.say(SENTENCE);
      await tab.state('speaking');
      await tab.state('ready');
      assert.equal((await tab.data()).outcome, 'complete');
      tab.wrongs = tab.wrongs.filter((wrong) => !/ERR_|WebSocket connection/.test(wrong));
      await tab.close();
    }
  },
};

/** Runs in the page: texts whose contrast with what is behind them is below `least` (WCAG 2, 1.4.3). */
function contrastBelow(least) {
  const probe = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (colour) => {
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = colour;
    probe.fillRect(0, 0, 1, 1);
    return [...probe.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => {
    const linear = [r, g, b].map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const poor = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const element = node.parentElement;
    if (node.textContent.trim() === '' || element.closest('svg, :disabled, option, [hidden]')) continue;
    if (element.getClientRects().length === 0) continue;
    const [a, b] = [luminance(rgb(getComputedStyle(element).color)), luminance(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < least) poor.push(`${node.textContent.trim().slice(0, 30)}: ${contrast.toFixed(2)}`);
  }
  return poor;
}

// Stories of the tab to talk in and of the tab that shows the load. The other side of a
// conversation is the stage, whose script is known; the rest is the real server.

import assert from 'node:assert/strict';
import { pause, Tab, until } from './harness.mjs';
import { ANSWER, HEARD, Stage } from './stage.mjs';
import { StagePeer } from './stage-peer.mjs';

/** Runs `story` with a stage of its own. */
function staged(story) {
  return async (given) => {
    const stage = await Stage.start(given.server);
    try {
      await story({ ...given, stage });
    } finally {
      await stage.close();
    }
  };
}

const LISTENING = { at: '', permissions: ['microphone'] };

/** What a reload does to a file that is still being loaded. */
const BROKEN_OFF = /assets.*ERR_ABORTED/;

/** Forgets what was to go wrong. */
function forgive(tab, ...wrongs) {
  tab.wrongs = tab.wrongs.filter((wrong) => !wrongs.some((expected) => expected.test(wrong)));
}

async function rested(stage) {
  await until('no conversation is open', 5_000, () => stage.open.length === 0);
}

export const stories = {
  'a conversation: spoken to, answered, interrupted': staged(async ({ listening, stage }) => {
    const tab = await Tab.open(listening, stage, { ...LISTENING, colorScheme: 'light' });
    assert.equal((await tab.data()).tab, 'talk', 'a server to talk to opens the tab to talk in');
    await tab.shot('talk-rest');
    await tab.talk();
    await tab.floor('user');
    await tab.floor('assistant');
    await pause(1_200);
    await tab.shot('talk-answer');
    await until('the answer is cut', 10_000, async () => (await tab.lines()).some(({ state }) => state === 'cut'));
    const [user, answer] = await tab.lines();
    assert.deepEqual([user.who, user.text], ['user', HEARD]);
    assert.equal(answer.text, ANSWER);
    assert.ok(answer.heard.length > 10 && answer.cut.length > 10, JSON.stringify(answer));
    await until('what was kept is the server’s to say', 5_000, () => stage.last.of('conversation.item.retrieve').length > 0);
    await tab.floor('assistant');
    await pause(1_500);
    await tab.shot('talk-interrupted');

    const [cut] = stage.last.of('conversation.item.truncate');
    assert.equal(stage.last.of('conversation.item.truncate').length, 1);
    // About as much was heard as time passed between the first sound and the interruption.
    assert.ok(cut.audio_end_ms > 500 && cut.audio_end_ms < 4_500, `${cut.audio_end_ms} ms`);
    const { session } = stage.last.of('session.update')[0];
    assert.equal(session.audio.input.turn_detection.type, 'server_vad');
    const rows = await tab.page.locator('#waterfall .step .name').allInnerTexts();
    assert.deepEqual(rows.at(0), 'End of turn noticed');
    assert.deepEqual(rows.at(-1), 'First sound heard');
    const median = Number(await tab.page.locator('[data-talk-figure="median"]').getAttribute('data-value'));
    assert.ok(median > 200 && median < 2_500, `median ${median} ms`);
    assert.equal(await tab.page.locator('[data-talk-figure="stalls"]').getAttribute('data-value'), '0');
    await tab.page.click('#talk-connect');
    await rested(stage);
    assert.equal((await tab.data()).talk, 'idle');
    await tab.close();
  }),

  'a conversation by WebRTC: spoken to, answered, interrupted': staged(async ({ browser, listening, stage }) => {
    stage.peer = await StagePeer.open(browser);
    const tab = await Tab.open(listening, stage, LISTENING);
    await tab.page.click('label[for="link-webrtc"]');
    await tab.talk();
    await tab.floor('user');
    await tab.floor('assistant');
    await until('the answer is heard', 5_000, async () => (await tab.page.locator('#waterfall').innerText()).includes('First sound heard'));
    await tab.shot('talk-webrtc');
    await tab.floor('user');
    await tab.floor('assistant');
    assert.equal(stage.last.samples, 0, 'no audio in events');
    assert.equal(stage.last.of('conversation.item.truncate').length, 0, 'the server knows what it has played');
    assert.deepEqual((await tab.lines()).slice(0, 4).map(({ who }) => who), ['user', 'assistant', 'user', 'assistant']);
    await tab.page.click('#talk-stop');
    await until('the server is told', 2_000, () => stage.last.of('output_audio_buffer.clear').length === 1);
    assert.equal(stage.last.of('response.cancel').length, 1);
    await tab.page.click('#talk-connect');
    await until('the call is hung up', 3_000, () => stage.hungUp.length === 1);
    await tab.close();
    await stage.peer.close();
  }),

  'a call that is refused is said in words': staged(async ({ browser, stage }) => {
    const tab = await Tab.open(browser, stage, { at: '' });
    await tab.page.click('label[for="link-webrtc"]');
    await tab.page.click('#talk-connect');
    await until('it is said', 5_000, async () => /full right now. All places are taken. Try again in 2 s/.test(await tab.trouble()));
    forgive(tab, /status (of )?503/);
    await tab.page.click('#talk-connect');
    await tab.close();
  }),

  'a server without a door for calls says which one it has': staged(async ({ browser, stage }) => {
    stage.calls = false;
    const tab = await Tab.open(browser, stage, { at: '' });
    await tab.page.click('label[for="link-webrtc"]');
    await tab.page.click('#talk-connect');
    await until('it is said', 5_000, async () => /no conversations over WebRTC. Choose WebSocket/.test(await tab.trouble()));
    assert.equal((await tab.data()).talk, 'idle', 'the same again helps nobody');
    forgive(tab, /status (of )?404/);
    await tab.page.click('label[for="link-ws"]');
    await tab.talk();
    assert.doesNotMatch(await tab.trouble(), /WebRTC/);
    await tab.close();
  }),

  'the microphone arrives at 24 kHz, in time': staged(async ({ listening, stage }) => {
    const tab = await Tab.open(listening, stage, LISTENING);
    await tab.talk();
    await until('audio arrives', 5_000, () => stage.last.samples > 0);
    const [before, start] = [stage.last.samples, performance.now()];
    await pause(3_000);
    const rate = (stage.last.samples - before) / ((performance.now() - start) / 1000);
    assert.ok(rate > 22_500 && rate < 25_500, `${rate} samples a second`);
    await tab.page.click('#talk-connect');
    await rested(stage);
    await tab.close();
  }),

  'a muted microphone is silent and keeps time': staged(async ({ listening, stage }) => {
    const tab = await Tab.open(listening, stage, LISTENING);
    await tab.talk();
    await tab.page.keyboard.press('m');
    assert.equal(await tab.page.locator('#talk-mute').getAttribute('aria-pressed'), 'true');
    const before = stage.last.samples;
    await pause(4_000);
    assert.ok(stage.last.samples - before > 2 * 24_000, 'silence is sent');
    assert.deepEqual(await tab.lines(), [], 'and nobody is heard');
    await tab.page.click('#talk-mute');
    await tab.page.click('#talk-connect');
    await tab.close();
  }),

  'push to talk: held, let go, answered': staged(async ({ listening, stage }) => {
    const tab = await Tab.open(listening, stage, LISTENING);
    await tab.page.selectOption('#talk-turns', 'push');
    await tab.talk();
    assert.equal(stage.last.of('session.update')[0].session.audio.input.turn_detection, null);
    await pause(500);
    assert.equal(stage.last.samples, 0, 'nothing is heard unless the button is held');
    await tab.page.focus('#lines');
    await tab.page.keyboard.down('Space');
    await pause(900);
    await tab.shot('talk-push');
    await tab.page.keyboard.up('Space');
    await tab.floor('assistant');
    assert.ok(stage.last.samples > 0.6 * 24_000 && stage.last.samples < 2 * 24_000, `${stage.last.samples} samples`);
    assert.equal(stage.last.of('input_audio_buffer.commit').length, 1);
    await tab.page.locator('#talk-push').hover();
    await tab.page.mouse.down();
    await tab.floor('user');
    await until('the answer is cut', 2_000, async () => (await tab.lines()).some(({ state }) => state === 'cut'));
    await pause(400);
    await tab.page.mouse.up();
    await tab.floor('assistant');
    assert.equal(stage.last.of('response.cancel').length, 1);
    await tab.page.click('#talk-connect');
    await tab.close();
  }),

  'a denied microphone is said in words, and one can type': staged(async ({ browser, stage }) => {
    const tab = await Tab.open(browser, stage, { at: '', colorScheme: 'dark' });
    await tab.talk();
    assert.match(await tab.trouble(), /microphone/i);
    assert.equal(await tab.page.locator('#talk-state').innerText(), 'Ready for what you type');
    await tab.page.fill('#say-text', 'What is a promenade?');
    await tab.page.keyboard.press('Enter');
    await tab.floor('assistant');
    await until('the answer stands there', 5_000, async () => (await tab.lines()).at(-1)?.who === 'assistant');
    await tab.shot('talk-denied');
    assert.deepEqual((await tab.lines()).map(({ who }) => who), ['user', 'assistant']);
    await tab.page.keyboard.press('Escape');
    await tab.floor('nobody', 2_000);
    assert.equal(stage.last.of('conversation.item.truncate').length, 1);
    assert.equal(stage.last.of('response.cancel').length, 1);
    await tab.page.click('#talk-connect');
    await rested(stage);
    await tab.close();
  }),

  'a lost connection comes back by itself, and knows what was said': staged(async ({ browser, stage }) => {
    const tab = await Tab.open(browser, stage, { at: '' });
    await tab.talk();
    await tab.page.fill('#say-text', 'Do you remember me?');
    await tab.page.click('#say-send');
    await until('some of it is heard', 5_000, async () => (await tab.lines()).at(-1)?.heard.length > 10);
    stage.drop();
    await until('the page says so', 3_000, async () => /lost/.test(await tab.trouble()));
    await tab.talking();
    assert.equal(stage.sessions.length, 2);
    await until('it is told what was said', 3_000, () => stage.last.of('conversation.item.create').length === 2);
    const [user, answer] = stage.last.of('conversation.item.create').map(({ item }) => item);
    assert.deepEqual([user.role, user.content[0].text], ['user', 'Do you remember me?']);
    assert.deepEqual([answer.role, answer.content[0].type], ['assistant', 'output_text']);
    assert.ok(ANSWER.startsWith(answer.content[0].text), 'as far as it was heard');
    assert.equal(await tab.trouble().then((said) => /lost/.test(said)), false);
    await tab.close();
    await rested(stage);
  }),

  'a full server is said in words, and tried again': staged(async ({ browser, stage }) => {
    const tab = await Tab.open(browser, stage, { at: '' });
    stage.refuse = { code: 'session_limit_reached', message: 'All 4 conversations are taken.' };
    await tab.page.click('#talk-connect');
    await until('it is said', 5_000, async () => /All 4 conversations/.test(await tab.trouble()));
    assert.match(await tab.page.locator('#talk-state').innerText(), /Trying again in \d+ s/);
    await tab.shot('talk-full');
    const tries = stage.sessions.length;
    await tab.page.click('#talk-retry');
    await until('it is tried again', 5_000, () => stage.sessions.length > tries);
    stage.refuse = null;
    await tab.talking();
    await tab.page.click('#talk-connect');
    await tab.close();
  }),

  'a server that wants a key asks for it, and a wrong one is said': staged(async ({ browser, stage }) => {
    stage.key = 'sesame';
    const tab = await Tab.open(browser, stage, { at: '' });
    for (const [key, said] of [['wrong', /key/], ['sesame', /model/]]) {
      await tab.page.fill('#key', key);
      await tab.page.keyboard.press('Enter');
      await until(`the answer to ${key}`, 5_000, async () => said.test(await tab.page.locator('#server').innerText()));
    }
    await tab.page.click('#tab-talk');
    await tab.talk();
    await tab.page.reload();
    await until('the key is kept for this tab', 5_000, async () => (await tab.data()).state !== 'loading');
    await tab.talk();
    forgive(tab, /status (of )?401/);
    await tab.close();
  }),

  'a reload in the middle leaves no conversation behind': staged(async ({ listening, stage }) => {
    const tab = await Tab.open(listening, stage, LISTENING);
    await tab.talk();
    await tab.floor('assistant');
    await tab.page.reload();
    await rested(stage);
    await tab.talk();
    await tab.floor('assistant');
    forgive(tab, BROKEN_OFF);
    await tab.close();
    await rested(stage);
  }),

  'a second tab takes the conversation over': staged(async ({ listening, stage }) => {
    const first = await Tab.open(listening, stage, LISTENING);
    await first.talk();
    const second = await Tab.open(listening, stage, { at: '', context: first.context });
    await second.talk();
    await until('the first one says so', 5_000, async () => /another tab/.test(await first.trouble()));
    assert.equal((await first.data()).talk, 'idle');
    await until('one conversation is left', 5_000, () => stage.open.length === 1);
    await first.talk();
    await until('the second one says so', 5_000, async () => /another tab/.test(await second.trouble()));
    await first.close();
  }),

  'an answer that comes too slowly stalls, is counted, and buffers more the next time': staged(async ({ browser, stage }) => {
    const tab = await Tab.open(browser, stage, { at: '' });
    stage.answer = { seconds: 1.5, chunkMs: 100, pace: 1.5, gapMs: 700 };
    await tab.talk();
    const figure = async (name) => Number(await tab.page.locator(`[data-talk-figure="${name}"]`).getAttribute('data-value'));
    const before = await figure('buffer');
    await tab.page.fill('#say-text', 'Slowly, please.');
    await tab.page.click('#say-send');
    await tab.floor('assistant');
    await tab.floor('nobody');
    assert.ok((await figure('stalls')) >= 1, 'the stall is counted');
    assert.ok((await figure('buffer')) > before, 'and the next answer waits longer');
    await tab.page.click('#talk-connect');
    await tab.close();
  }),

  'a conversation by keyboard, with names for everything': staged(async ({ browser, stage }) => {
    const tab = await Tab.open(browser, stage, { at: '' });
    const { page } = tab;
    await page.focus('#tab-talk');
    await page.keyboard.press('ArrowRight');
    assert.equal((await tab.data()).tab, 'speak');
    await page.keyboard.press('ArrowLeft');
    assert.equal((await tab.data()).tab, 'talk');
    const reached = [];
    for (let i = 0; i < 24; i++) {
      await page.keyboard.press('Tab');
      reached.push(await page.evaluate(() => document.activeElement?.id ?? ''));
    }
    const order = ['lines', 'say-text', 'talk-connect', 'link-ws', 'talk-device', 'talk-voice', 'talk-speed', 'talk-turns', 'talk-instructions'];
    assert.deepEqual(order.filter((id) => reached.includes(id)), order, `${reached}`);
    assert.deepEqual([...order].sort((a, b) => reached.indexOf(a) - reached.indexOf(b)), order, 'in the order of the page');
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll('input, select, textarea, button, [role]')]
        .filter((control) => !['presentation', 'tabpanel', 'status', 'alert'].includes(control.getAttribute('role')))
        .filter((control) => !control.labels?.length && !control.textContent.trim() && !control.getAttribute('aria-label'))
        .map((control) => control.outerHTML),
    );
    assert.deepEqual(nameless, [], 'every control has a name');
    await page.focus('#talk-connect');
    await page.keyboard.press('Enter');
    await tab.talking();
    await page.focus('#say-text');
    await page.keyboard.type('m and space stay text');
    assert.equal(await page.inputValue('#say-text'), 'm and space stay text');
    await tab.close();
  }),

  'settings reach the server, and are kept': staged(async ({ browser, stage }) => {
    const tab = await Tab.open(browser, stage, { at: '' });
    await tab.talk();
    await tab.page.selectOption('#talk-turns', 'semantic_vad');
    await tab.page.selectOption('#talk-eagerness', 'low');
    await tab.page.fill('#talk-instructions', 'Answer in one sentence.');
    await tab.page.locator('#talk-instructions').blur();
    await until('the server knows', 3_000, () => stage.last.of('session.update').at(-1).session.instructions !== undefined);
    const { session } = stage.last.of('session.update').at(-1);
    assert.deepEqual([session.audio.input.turn_detection.type, session.audio.input.turn_detection.eagerness], ['semantic_vad', 'low']);
    await tab.page.reload();
    await until('the page is there', 5_000, async () => (await tab.data()).state !== 'loading');
    assert.equal(await tab.page.inputValue('#talk-instructions'), 'Answer in one sentence.');
    assert.equal(await tab.page.inputValue('#talk-eagerness'), 'low');
    await tab.close();
  }),

  'without anybody to talk to, the page says why': async ({ browser, server }) => {
    const tab = await Tab.open(browser, server, { at: '#talk' });
    assert.match(await tab.page.locator('#talk-absent').innerText(), /listens, one that thinks and one that speaks/);
    assert.equal(await tab.page.locator('#talk-connect').isVisible(), false);
    await tab.shot('talk-absent');
    await tab.close();
  },

  'the load shows what the server does, as it does it': async ({ browser, server }) => {
    const tab = await Tab.open(browser, server, { at: '#load' });
    const value = async (name) => Number(await tab.page.locator(`[data-load="${name}"]`).getAttribute('data-value'));
    await until('metrics are there', 5_000, async () => (await tab.page.locator('[data-load]').count()) > 5);
    assert.equal(await value('streams'), 0);
    const speaking = server.samples({ model: 'toy', voice: 'sine', input: 'The quick brown fox. '.repeat(60) }).catch(() => null);
    await until('the stream shows', 10_000, async () => (await value('audio')) > 0);
    await speaking;
    await until('and its first chunk', 5_000, async () => /First audio, http/.test(await tab.page.locator('#load-times').innerText()));
    await tab.shot('load');
    const asked = [];
    tab.page.on('request', (request) => asked.push(request.url()));
    await tab.page.click('#tab-speak');
    await pause(300);
    asked.length = 0;
    await pause(2_500);
    assert.deepEqual(asked, [], 'a tab that does not show asks nothing');
    await tab.close();
  },

  'a phone shows a conversation without scrolling sideways, in dark and light': staged(async ({ browser, stage }) => {
    for (const [width, colorScheme] of [[375, 'light'], [320, 'dark']]) {
      const tab = await Tab.open(browser, stage, { at: '', viewport: { width, height: 700 }, colorScheme, hasTouch: true });
      await tab.talk();
      await tab.page.fill('#say-text', 'What is a promenade?');
      await tab.page.click('#say-send');
      await tab.floor('assistant');
      await pause(800);
      await tab.shot(`talk-phone-${width}-${colorScheme}`);
      for (const name of ['talk', 'load']) {
        await tab.page.click(`#tab-${name}`);
        await pause(name === 'load' ? 1_200 : 100);
        const overflow = await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${overflow} px too wide at ${width} on ${name}`);
      }
      await tab.shot(`load-phone-${width}-${colorScheme}`);
      await tab.close();
    }
  }),
};


// Stories of a conversation with the real server, without weights: who listens reads the toy's tones
// as letters, who answers says the same again, and who speaks makes tones of it. So the microphone
// hears a recording of the toy itself, and what is understood and answered is known to the letter.

import assert from 'node:assert/strict';
import { Server, Tab, TOY_RATE, understood, until } from './harness.mjs';
import { Microphone } from './microphone.mjs';

const FIRST = 'what is a promenade and why would anybody walk there in the rain';
const SECOND = 'never mind';

/** Runs `story` with a server to talk to, and a browser that hears it being talked to. */
function conversing(story) {
  return async ({ browser, launch, home }) => {
    const server = await Server.start('toy-voice-chat');
    let hearing = null;
    try {
      const said = async (input) => server.samples({ model: 'toy', voice: 'sine', input });
      // The second one begins while the answer to the first is being heard.
      const parts = [0.8, await said(FIRST), 2.2, await said(SECOND), 8];
      const microphone = await Microphone.play(home, 'toy.wav', parts, TOY_RATE);
      hearing = await launch(microphone.flags);
      await story({ browser, hearing, server });
    } finally {
      await hearing?.close();
      await server.kill();
    }
  };
}

/** The tab to talk in, with the microphone as it is: a browser takes pure tones for noise. */
async function openToTalk(browser, server) {
  const tab = await Tab.open(browser, server, { at: '', permissions: ['microphone'] });
  await tab.page.uncheck('#talk-clean');
  return tab;
}

async function rested(server) {
  await until('the engine holds nothing', 10_000, async () => (await server.openRequests()) === 0);
}

export const stories = {
  'talked to for real: understood, answered, interrupted': conversing(async ({ hearing, server }) => {
    const tab = await openToTalk(hearing, server);
    assert.equal((await tab.data()).tab, 'talk', 'a server to talk to opens the tab to talk in');
    await tab.talk();
    await tab.floor('user');
    await tab.floor('assistant');
    await until('the answer is cut', 15_000, async () => (await tab.lines()).some(({ state }) => state === 'cut'));
    const [user, answer] = await tab.lines();
    assert.deepEqual([user.who, user.text], ['user', FIRST]);
    assert.equal(answer.who, 'assistant');
    assert.ok(FIRST.startsWith(answer.heard.trim()) && answer.heard.length > 4, JSON.stringify(answer));
    assert.ok(answer.cut.length > 4, JSON.stringify(answer));
    await until('the second turn is answered', 15_000, async () => (await tab.lines())[3]?.text.trim() === SECOND);
    assert.equal((await tab.lines())[2].text, SECOND);
    const rows = await tab.page.locator('#waterfall .step .name').allInnerTexts();
    assert.ok(rows.includes('First sound heard') && rows.some((row) => row.startsWith('server: ')), `${rows}`);
    assert.equal(await tab.page.locator('[data-talk-figure="stalls"]').getAttribute('data-value'), '0');
    assert.equal(await tab.trouble(), '');
    await tab.shot('conversation-real');
    await tab.page.click('#talk-connect');
    await rested(server);
    await tab.close();
  }),

  'called for real by WebRTC: understood, answered, interrupted': conversing(async ({ hearing, server }) => {
    const tab = await openToTalk(hearing, server);
    await tab.page.click('label[for="link-webrtc"]');
    await tab.talk();
    await tab.floor('user');
    await tab.floor('assistant');
    await until('the answer is cut', 15_000, async () => (await tab.lines()).some(({ state }) => state === 'cut'));
    const [user, answer] = await tab.lines();
    assert.ok(user.who === 'user' && understood(user.text, FIRST), JSON.stringify(user));
    assert.ok(answer.heard.length > 4 && answer.cut.length > 4, JSON.stringify(answer));
    await until('the second turn is answered', 15_000, async () => understood((await tab.lines())[3]?.text ?? '', SECOND));
    assert.ok(understood((await tab.lines())[2].text, SECOND));
    assert.equal(await tab.trouble(), '');
    await tab.shot('conversation-webrtc');
    await Promise.all([tab.page.waitForResponse(/\/hangup$/), tab.page.click('#talk-connect')]);
    await rested(server);
    await tab.close();
  }),

  'called for real by WebRTC: a page that goes away hangs up': conversing(async ({ hearing, server }) => {
    const tab = await openToTalk(hearing, server);
    await tab.page.click('label[for="link-webrtc"]');
    await tab.talk();
    await tab.floor('assistant');
    await tab.page.goto('about:blank');
    await rested(server);
    await tab.close();
  }),

  'talked to for real: a reload in the middle, and again': conversing(async ({ hearing, server }) => {
    const tab = await openToTalk(hearing, server);
    await tab.talk();
    await tab.floor('assistant');
    await tab.page.reload();
    await rested(server);
    assert.equal(await tab.page.isChecked('#talk-clean'), false, 'settings are kept');
    await tab.talk();
    await tab.floor('user', 20_000);
    await tab.floor('assistant', 20_000);
    // A reload breaks off what is still being loaded.
    tab.wrongs = tab.wrongs.filter((wrong) => !/assets.*ERR_ABORTED/.test(wrong));
    await tab.close();
    await rested(server);
  }),

  'talked to for real: without a microphone one types': conversing(async ({ browser, server }) => {
    const tab = await Tab.open(browser, server, { at: '' });
    await tab.talk();
    assert.match(await tab.trouble(), /microphone/i);
    await tab.page.fill('#say-text', FIRST);
    await tab.page.click('#say-send');
    await tab.floor('assistant');
    await until('some of it is heard', 5_000, async () => (await tab.lines()).at(-1).heard.length > 8);
    await tab.page.keyboard.press('Escape');
    await tab.floor('nobody', 3_000);
    const [user, answer] = await tab.lines();
    assert.deepEqual([user.text, answer.state], [FIRST, 'cut']);
    await tab.page.click('#talk-connect');
    await rested(server);
    await tab.close();
  }),
};

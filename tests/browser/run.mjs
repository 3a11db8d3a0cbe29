// Runs the stories, one after another, and says how each ended. Exit status 1 if any failed.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { Server } from './harness.mjs';
import { Microphone } from './microphone.mjs';
import { stories as speaking } from './stories.mjs';
import { stories as talking } from './talk-stories.mjs';
import { stories as conversing } from './conversation-stories.mjs';
import { stories as building } from './agents-stories.mjs';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Names instead of addresses need a resolver that a test machine may lack.
  '--disable-features=WebRtcHideLocalIpsWithMdns',
];

const stories = { ...speaking, ...talking, ...conversing, ...building };
const chosen = Object.entries(stories).filter(([name]) => {
  const words = process.argv.slice(2);
  return words.length === 0 || words.some((word) => name.includes(word));
});

const home = await mkdtemp(join(tmpdir(), 'promenade-browser-'));
const microphone = await Microphone.record(home);
const launch = (more) =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: [...FLAGS, ...more],
    // The browser keeps what it keeps beside the profile in a folder that goes away with the test.
    env: { ...process.env, HOME: home },
  });
const browser = await launch([]);
/** A browser that hears `microphone`. */
const listening = await launch(microphone.flags);
let server = null;
const failed = [];
try {
  server = await Server.start();
  for (const [name, story] of chosen) {
    const start = Date.now();
    try {
      await story({ browser, listening, launch, home, server });
      console.log(`ok    ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed.push(name);
      console.log(`FAIL  ${name}\n${error.stack ?? error}`);
      for (const context of [...browser.contexts(), ...listening.contexts()]) await context.close();
      await server.kill();
      await server.start();
    }
  }
} finally {
  await browser.close();
  await listening.close();
  await server?.kill();
  await rm(home, { recursive: true, force: true });
}
console.log(`${chosen.length - failed.length} of ${chosen.length} stories passed`);
if (failed.length > 0 || chosen.length === 0) process.exitCode = 1;

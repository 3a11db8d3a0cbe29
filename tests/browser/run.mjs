// Runs the stories, one after another, and says how each ended. Exit status 1 if any failed.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { Server } from './harness.mjs';
import { stories } from './stories.mjs';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const chosen = Object.entries(stories).filter(([name]) => {
  const words = process.argv.slice(2);
  return words.length === 0 || words.some((word) => name.includes(word));
});

const home = await mkdtemp(join(tmpdir(), 'promenade-browser-'));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  headless: true,
  args: FLAGS,
  // The browser keeps what it keeps beside the profile in a folder that goes away with the test.
  env: { ...process.env, HOME: home },
});
let server = null;
const failed = [];
try {
  server = await Server.start();
  for (const [name, story] of chosen) {
    const start = Date.now();
    try {
      await story({ browser, server });
      console.log(`ok    ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed.push(name);
      console.log(`FAIL  ${name}\n${error.stack ?? error}`);
      for (const context of browser.contexts()) await context.close();
      await server.kill();
      await server.start();
    }
  }
} finally {
  await browser.close();
  await server?.kill();
  await rm(home, { recursive: true, force: true });
}
console.log(`${chosen.length - failed.length} of ${chosen.length} stories passed`);
if (failed.length > 0 || chosen.length === 0) process.exitCode = 1;

// Builds the page into dist/, or with --tests the unit tests into the cache folder.
//
// dist/ is self-contained and has fixed names, so that a server can embed it: index.html and
// assets/{main.js, playout-worklet.js, capture-worklet.js, style.css, favicon.svg}. Nothing in it is inline and nothing
// comes from another origin; it works under `Content-Security-Policy: default-src 'self'`.

import { build } from 'esbuild';
import { cp, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const here = import.meta.dirname ?? new URL('.', import.meta.url).pathname;
const common = {
  bundle: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
};

if (process.argv.includes('--tests')) await buildTests();
else await buildPage();

async function buildPage() {
  const dist = join(here, 'dist');
  await rm(dist, { recursive: true, force: true });
  await mkdir(join(dist, 'assets'), { recursive: true });
  await build({
    ...common,
    entryPoints: {
      main: join(here, 'src/main.ts'),
      'playout-worklet': join(here, 'src/audio/playout-worklet.ts'),
      'capture-worklet': join(here, 'src/audio/capture-worklet.ts'),
      style: join(here, 'src/style.css'),
    },
    outdir: join(dist, 'assets'),
    minify: true,
  });
  await cp(join(here, 'static/index.html'), join(dist, 'index.html'));
  await cp(join(here, 'static/favicon.svg'), join(dist, 'assets/favicon.svg'));
  for (const name of ['index.html', ...(await readdir(join(dist, 'assets'))).map((f) => `assets/${f}`)]) {
    const { size } = await stat(join(dist, name));
    console.log(`dist/${name}  ${(size / 1024).toFixed(1)} KiB`);
  }
}

async function buildTests() {
  const out = join(here, 'node_modules/.cache/tests');
  await rm(out, { recursive: true, force: true });
  const files = (await readdir(join(here, 'src'), { recursive: true })).filter((f) => f.endsWith('.test.ts'));
  await build({
    ...common,
    platform: 'node',
    entryPoints: files.map((f) => join(here, 'src', f)),
    outbase: join(here, 'src'),
    outdir: out,
    outExtension: { '.js': '.mjs' },
    sourcemap: 'inline',
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeardText } from './heard.ts';

const TEXT = 'One two three four five six seven eight nine ten.';

test('with all audio here, the share of it is the share of the text, to the end of a word', () => {
  const heard = new HeardText();
  heard.appendText(TEXT);
  heard.appendAudio(5_000);
  heard.complete();
  for (const [ms, said] of [
    [0, ''],
    [1, 'One'],
    [2_500, 'One two three four five six'],
    [5_000, TEXT],
    [9_000, TEXT],
  ] as const) {
    assert.equal(TEXT.slice(0, heard.lengthAt(ms)), said, `${ms} ms`);
  }
});

test('text that runs ahead of its audio is not heard sooner for it', () => {
  const heard = new HeardText();
  heard.appendText(TEXT);
  heard.appendAudio(400);
  assert.equal(TEXT.slice(0, heard.lengthAt(400)), 'One two');
});

test('audio that runs ahead of its text hears all of it at most', () => {
  const heard = new HeardText();
  heard.appendText('One two');
  heard.appendAudio(4_000);
  assert.equal(heard.lengthAt(4_000), 7);
});

test('more is heard with time, never less', () => {
  const heard = new HeardText();
  heard.appendText(TEXT);
  heard.appendAudio(3_000);
  const lengths = Array.from({ length: 60 }, (_, i) => heard.lengthAt(i * 50));
  assert.deepEqual(lengths, [...lengths].sort((a, b) => a - b));
});

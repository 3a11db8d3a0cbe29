import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WordTimeline } from './words.ts';

const word = (text: string, start: number, end: number, source: readonly [number, number] | null = null) => ({ text, start, end, source });

test('the spoken word is the last one that has begun', () => {
  const words = new WordTimeline('one two three');
  words.append([word('one', 0.1, 0.3), word('two', 0.3, 0.6), word('three', 0.8, 1.1)]);
  const at = [0, 0.1, 0.29, 0.3, 0.7, 0.8, 99].map((seconds) => words.indexAt(seconds));
  assert.deepEqual(at, [-1, 0, 0, 1, 1, 2, 2]);
});

test('a stated place counts characters, not UTF-16 units', () => {
  const words = new WordTimeline('🙂 ah 🙂🙂 so');
  words.append([word('ah', 0, 1, [2, 4]), word('so', 1, 2, [8, 10]), word('ah', 2, 3, [2, 4]), word('?', 3, 4, [50, 60])]);
  const found = words.words.map(({ range }) => words.text.slice(...range!));
  assert.deepEqual(found, ['ah', 'so', 'ah', '']);
});

test('an unstated place is looked for from the last one on', () => {
  const words = new WordTimeline('The cat saw the dog for $5.');
  words.append(['the', 'cat', 'saw', 'the', 'dog', 'for', 'five', 'dollars'].map((text, i) => word(text, i, i + 1)));
  assert.deepEqual(words.words.map(({ range }) => range?.[0] ?? null), [0, 4, 8, 12, 16, 20, null, null]);
});

test('a text that grows is searched to its new end', () => {
  const words = new WordTimeline('');
  words.extend('one ');
  words.append([word('one', 0, 1)]);
  words.extend('two');
  words.append([word('two', 1, 2)]);
  assert.deepEqual(words.words.map(({ range }) => range), [[0, 3], [4, 7]]);
});

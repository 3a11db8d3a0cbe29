import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Typing } from './typing.ts';

test('a word goes out once something follows it', () => {
  const typing = new Typing();
  const sent = ['H', 'He', 'Hello', 'Hello ', 'Hello w', 'Hello world.', 'Hello world. '].map((text) => typing.next(text));
  assert.deepEqual(sent, ['', '', '', 'Hello ', '', '', 'world. ']);
});

test('the pieces together are the text', () => {
  const typing = new Typing();
  const text = 'One two.\nThree — four!';
  let sent = '';
  for (let end = 1; end <= text.length; end++) sent += typing.next(text.slice(0, end));
  sent += typing.rest(text);
  assert.equal(sent, text);
  assert.equal(typing.sent, text);
});

test('a change of what was sent is refused until it is undone', () => {
  const typing = new Typing();
  typing.next('Hello there ');
  assert.equal(typing.next('Hallo there you '), null);
  assert.equal(typing.rest('Hallo'), '');
  assert.equal(typing.next('Hello there you '), 'you ');
});

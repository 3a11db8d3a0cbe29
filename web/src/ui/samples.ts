// Texts to try: a greeting, what is hard to read aloud, and enough to see streaming pay.

export const SAMPLES: readonly { name: string; text: string }[] = [
  {
    name: 'A greeting',
    text: 'Hello! You hear the beginning of this sentence while its end is still being made.',
  },
  {
    name: 'A paragraph',
    text:
      'A promenade is a walk that you take for its own sake. Nobody hurries, and nobody waits for the end before enjoying the beginning. ' +
      'That is how this page speaks: the first words reach you while the last ones are still being made. ' +
      'Watch the drawing below. Each piece of sound passes from node to node, and comes out at the right.',
  },
  {
    name: 'Numbers',
    text:
      'On March 3rd, 2026 at 7:45 p.m., 1,284 people paid $12.50 each. Dr. Smith drove 62.5 km/h past No. 10, ' +
      'and her e-mail is jane.doe@example.com.',
  },
  {
    name: 'A tongue twister',
    text: 'The sixth sick sheikh’s sixth sheep’s sick, but she sells sea shells by the sea shore all the same.',
  },
];

import { describe, expect, test } from 'bun:test';
import { createSecretBox } from '../../src/kernel/index.ts';

describe('the secret box', () => {
  const box = createSecretBox(['current', 'previous']);
  const sealed = box.seal('a vendor key');

  test('opens what it sealed, and never seals alike', () => {
    expect(box.open(sealed)).toBe('a vendor key');
    expect(box.seal('a vendor key')).not.toBe(sealed);
  });

  test('a previous secret still opens, an unknown one does not', () => {
    expect(createSecretBox(['new', 'current']).open(sealed)).toBe('a vendor key');
    expect(createSecretBox(['new']).open(sealed)).toBeUndefined();
  });

  const [version, iv, tag, body] = sealed.split('.') as [string, string, string, string];
  const flipped = Buffer.from(body, 'base64url');
  flipped[0] = (flipped[0] ?? 0) ^ 1;
  for (const [name, text] of [
    ['altered text', [version, iv, tag, flipped.toString('base64url')].join('.')],
    [
      'a tag cut to four bytes',
      [version, iv, Buffer.from(tag, 'base64url').subarray(0, 4).toString('base64url'), body].join('.'),
    ],
    ['another version', ['v2', iv, tag, body].join('.')],
    ['missing parts', [version, iv].join('.')],
    ['nothing', ''],
  ] as const) {
    test(`${name} does not open`, () => expect(box.open(text)).toBeUndefined());
  }
});

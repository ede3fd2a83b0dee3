import { describe, expect, test } from 'bun:test';
import { readKeys } from '../../src/app/cli/ask-secret.ts';

/** Reads these chunks: the line, `null` if cancelled, 'open' while it has not ended. */
function type(...chunks: (string | Uint8Array)[]): string | null {
  const read = readKeys();
  for (const chunk of chunks) {
    const ended = read(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk);
    if (ended) return ended.text ?? null;
  }
  return 'open';
}

describe('a typed secret', () => {
  test.each<[name: string, keys: (string | Uint8Array)[], read: string | null]>([
    ['ends with Enter', ['sk-1', '2\r'], 'sk-12'],
    ['ends with Ctrl-D', ['sk-1\u0004'], 'sk-1'],
    ['is empty at once with Ctrl-D', ['\u0004'], ''],
    ['is cancelled by Ctrl-C', ['sk-1\u0003'], null],
    ['is erased by one character, whatever its size', ['sk-1😀\u007f\b\r'], 'sk-'],
    ['takes no arrow keys', ['s\u001b[Dk\u001b[A-\u001b[1;5C1\r'], 'sk-1'],
    ['takes no function keys', ['sk\u001bOP\u001b[15~-1\u001b[3~\r'], 'sk-1'],
    ['takes no key in parts', ['sk\u001b', '[', '1;5', 'D-1\u001bO', 'P\r'], 'sk-1'],
    ['takes no frame of a paste', ['\u001b[200~sk-1\u001b[201~\r'], 'sk-1'],
    ['takes no other control character', ['s\u0001k\t-\u00001\r'], 'sk-1'],
    ['holds characters that come in parts', [new Uint8Array([0xc3]), new Uint8Array([0xa9, 0x0d])], 'é'],
    ['goes on without an end', ['sk-1'], 'open'],
    ['ends after an escape alone', ['sk-1\u001b', '\r'], 'sk-1'],
    ['is cancelled after an escape alone', ['sk-1\u001b\u0003'], null],
  ])('%s', (_name, keys, read) => expect(type(...keys)).toBe(read));
});

import type { ReadStream } from 'node:tty';
import { readKeys } from './read-keys.ts';

/**
 * Asks at the terminal for something that must not be seen: nothing is echoed. `undefined` without
 * a terminal, or on Ctrl-C.
 */
export function askSecret(prompt: string): Promise<string | undefined> {
  const input: ReadStream = process.stdin;
  if (!input.isTTY) return Promise.resolve(undefined);
  process.stderr.write(prompt);
  input.setRawMode(true);
  const read = readKeys();
  return new Promise((resolve) => {
    const take = (chunk: Buffer): void => {
      const ended = read(chunk);
      if (!ended) return;
      input.off('data', take);
      input.setRawMode(false);
      input.pause();
      process.stderr.write('\n');
      resolve(ended.text);
    };
    input.on('data', take);
    input.resume();
  });
}

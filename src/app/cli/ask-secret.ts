import type { ReadStream } from 'node:tty';
import { readKeys } from './read-keys.ts';

/** Asks for a secret at the terminal without echo. `undefined` without a terminal or on Ctrl-C. */
export function askSecret(prompt: string): Promise<string | undefined> {
  const input: ReadStream = process.stdin;
  if (!input.isTTY) return Promise.resolve(undefined);
  process.stderr.write(prompt);
  input.setRawMode(true);
  const read = readKeys();
  return new Promise((resolve) => {
    const onData = (chunk: Buffer): void => {
      const ended = read(chunk);
      if (!ended) return;
      input.off('data', onData);
      input.setRawMode(false);
      input.pause();
      process.stderr.write('\n');
      resolve(ended.text);
    };
    input.on('data', onData);
    input.resume();
  });
}

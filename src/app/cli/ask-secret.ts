import type { ReadStream } from 'node:tty';

const ENTER = /[\r\n]/;
const CANCEL = '\u0003';
const ERASE = /[\b\u007f]/;

/** Asks at the terminal for something that must not be seen: nothing is echoed. `undefined` without a terminal, or on Ctrl-C. */
export function askSecret(prompt: string): Promise<string | undefined> {
  const input: ReadStream = process.stdin;
  if (!input.isTTY) return Promise.resolve(undefined);
  process.stderr.write(prompt);
  input.setRawMode(true);
  return new Promise((resolve) => {
    let typed = '';
    const end = (value: string | undefined): void => {
      input.off('data', take);
      input.setRawMode(false);
      input.pause();
      process.stderr.write('\n');
      resolve(value);
    };
    const take = (chunk: Buffer): void => {
      for (const character of chunk.toString('utf8')) {
        if (character === CANCEL || ENTER.test(character)) {
          end(character === CANCEL ? undefined : typed);
          return;
        }
        typed = ERASE.test(character) ? [...typed].slice(0, -1).join('') : typed + character;
      }
    };
    input.on('data', take);
    input.resume();
  });
}

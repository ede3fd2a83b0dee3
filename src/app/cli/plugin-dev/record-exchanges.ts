import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type Clock, createSemaphore, OperatorError, parseJson, unwritable } from '../../../kernel/index.ts';
import { replaceFile } from '../../../operations/secrets/replace-file.ts';
import { addCases, openPlugin, readFixture, recordCall } from '../../../plugins/author/index.ts';
import type { HookCall } from '../../../plugins/index.ts';
import type { Sandbox } from '../../../sandbox/index.ts';

export type Recorder = {
  /** Queues a call of `source` for the file. */
  add(source: string, call: HookCall): void;
  /** Resolves when all calls are written; returns how many became cases. */
  end(): Promise<number>;
};

type RecorderOptions = {
  path: string;
  sandbox: Sandbox;
  channelKey: string;
  clock: Clock;
  /** Prints a note at the terminal. */
  print(text: string): void;
};

/**
 * Appends real hook calls to a fixture as cases, one after the other. Creates the file if it is
 * absent, with the current time as its `unixNow`, which makes results that use the clock
 * repeatable.
 *
 * @throws `OperatorError` if the file is not a fixture
 */
export function createRecorder({ path, sandbox, channelKey, clock, print }: RecorderOptions): Recorder {
  if (existsSync(path)) readExisting(path);
  else writeNew(path, clock.unix());
  let written = 0;
  const mutex = createSemaphore();
  const printed = new Set<string>();
  const printOnce = (text: string): void => {
    if (!printed.has(text)) print(text);
    printed.add(text);
  };

  async function write(source: string, call: HookCall): Promise<void> {
    const plugin = await openPlugin(source, sandbox);
    if (!plugin.ok) return;
    const { text, fixture } = readExisting(path);
    const { case: recorded, note } = await recordCall(plugin.value, { fixture, call, channelKey });
    if (note !== undefined) printOnce(note);
    if (recorded === undefined) return;
    if (replaceFile(path, text, addCases(text, [recorded]))) written += 1;
    // Somebody saved the file in between: the second attempt reads the new text.
    else await write(source, call);
  }

  return {
    add(source, call) {
      const record = () =>
        write(source, call).catch((error) =>
          printOnce(`not recorded: ${error instanceof Error ? error.message : String(error)}`),
        );
      void mutex.run(record);
    },
    async end() {
      return mutex.run(async () => written);
    },
  };
}

function readExisting(path: string) {
  const text = readFileSync(path, 'utf8');
  const fixture = readFixture(parseJson(text));
  if (!fixture.ok) throw new OperatorError(`${path} is not a fixture: ${fixture.error}`);
  return { text, fixture: fixture.value };
}

function writeNew(path: string, unixNow: number): void {
  try {
    writeFileSync(path, `${JSON.stringify({ unixNow, cases: [] }, null, 2)}\n`, { flag: 'wx' });
  } catch (error) {
    throw unwritable(path, error);
  }
}

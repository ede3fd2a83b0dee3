import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type Clock, createMutex, parseJson } from '../../kernel/index.ts';
import { addCases, type HookCall, openPlugin, readFixture, recordCall } from '../../plugins/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import { CommandError } from '../cli/command.ts';
import { replaceFile } from '../cli/replace-file.ts';

export type Recorder = {
  /** Takes a call of `source`; the file follows by itself. */
  add(source: string, call: HookCall): void;
  /** Resolves when all calls are in the file; gives how many became cases. */
  end(): Promise<number>;
};

type RecorderOptions = {
  path: string;
  sandbox: Sandbox;
  channelKey: string;
  clock: Clock;
  /** A word for the person at the terminal. */
  say(text: string): void;
};

/**
 * Appends real hook calls to a fixture as cases, one after the other; the file is made if it is
 * absent, with the time as its `unixNow`, so that results that hang on the clock can be expected.
 * Throws `CommandError` when the file is no fixture.
 */
export function createRecorder({ path, sandbox, channelKey, clock, say }: RecorderOptions): Recorder {
  if (existsSync(path)) readExisting(path);
  else writeNew(path, clock.unix());
  let written = 0;
  const exclusively = createMutex();
  const said = new Set<string>();
  const sayOnce = (text: string): void => {
    if (!said.has(text)) say(text);
    said.add(text);
  };

  async function write(source: string, call: HookCall): Promise<void> {
    const plugin = await openPlugin(source, sandbox);
    if (!plugin.ok) return;
    const { text, fixture } = readExisting(path);
    const { case: made, note } = await recordCall(plugin.value, { fixture, call, channelKey });
    if (note !== undefined) sayOnce(note);
    if (made === undefined) return;
    if (replaceFile(path, text, addCases(text, [made]))) written += 1;
    // Somebody saved the file in between: what he wrote is read with the second try.
    else await write(source, call);
  }

  return {
    add(source, call) {
      const record = () =>
        write(source, call).catch((error) =>
          sayOnce(`not recorded: ${error instanceof Error ? error.message : String(error)}`),
        );
      void exclusively(record);
    },
    async end() {
      return exclusively(async () => written);
    },
  };
}

function readExisting(path: string) {
  const text = readFileSync(path, 'utf8');
  const fixture = readFixture(parseJson(text));
  if (!fixture.ok) throw new CommandError(`${path} is no fixture: ${fixture.error}`);
  return { text, fixture: fixture.value };
}

function writeNew(path: string, unixNow: number): void {
  try {
    writeFileSync(path, `${JSON.stringify({ unixNow, cases: [] }, null, 2)}\n`, { flag: 'wx' });
  } catch (error) {
    throw new CommandError(`${path} cannot be written (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
  }
}

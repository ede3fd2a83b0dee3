import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Logger, silentLogger } from '../../src/kernel/index.ts';
import { createDataCheck } from '../../src/operations/doctor/weekly-check.ts';
import { createMovableClock } from '../support/movable-clock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const DAY_MS = 86_400_000;

function openCheck() {
  const clock = createMovableClock({ runs: false });
  const options = new Map<string, string>();
  const answers = join(temporaryFolder(), 'answer');
  const lines: string[] = [];
  const note = (_fields: object, message: string) => void lines.push(message);
  const logger: Logger = { ...silentLogger, warn: note, info: note, error: note };
  let isQuiet = true;
  const check = createDataCheck({
    store: {
      options: {
        ...({} as Parameters<typeof createDataCheck>[0]['store']['options']),
        get: async (key) => options.get(key),
        put: async (key, value) => void options.set(key, value),
      },
      exclusively: async (_name, work) => work(),
    },
    clock,
    logger,
    dataDir: '/nowhere',
    // Its words come after the script, which does not read them.
    program: ['sh', '-c', `cat ${answers}`, 'taskgate'],
    quietHours: () => ({ startHour: new Date(clock.nowMs()).getUTCHours() + (isQuiet ? 0 : 2), hours: 1, zone: 'UTC' }),
  });
  const setQuiet = (is: boolean) => {
    isQuiet = is;
  };
  const find = (...messages: string[]) =>
    writeFileSync(
      answers,
      JSON.stringify({
        ok: messages.length === 0,
        findings: messages.map((message) => ({ check: 'ledger', level: 'error', message })),
      }),
    );
  const answer = (findings: readonly object[]) => writeFileSync(answers, JSON.stringify({ ok: false, findings }));
  return { clock, check, lines, find, answer, setQuiet };
}

test('the data is checked once a week at quiet hours, and what was found is kept until the next check', async () => {
  const { clock, check, find, setQuiet, lines } = openCheck();
  find();
  await check.run();
  expect(await check.latest()).toEqual({ checkedAt: 0, faults: [] });
  setQuiet(false);
  await check.run();
  expect((await check.latest()).checkedAt).toBe(0);
  setQuiet(true);
  await check.run();
  expect(await check.latest()).toEqual({ checkedAt: clock.unix(), faults: [] });

  find('1 balance does not match');
  clock.pass(6 * DAY_MS);
  await check.run();
  expect((await check.latest()).faults).toEqual([]);
  clock.pass(DAY_MS + 60_000);
  await check.run();
  expect((await check.latest()).faults).toEqual(['1 balance does not match']);
  expect(lines.at(-1)).toContain('found damaged data');
});

test('a gateway that never runs at quiet hours is checked two days late, and a failed check is tried again', async () => {
  const { clock, check, find, setQuiet, lines } = openCheck();
  setQuiet(false);
  await check.run();
  clock.pass(DAY_MS);
  await check.run();
  expect(lines).toEqual([]);
  clock.pass(DAY_MS + 1000);
  await check.run();
  expect(lines).toEqual(['the weekly check of the data could not be made; it is tried again in an hour']);
  find();
  await check.run();
  expect((await check.latest()).checkedAt).toBe(0);
  clock.pass(3_600_000);
  await check.run();
  expect((await check.latest()).checkedAt).toBe(clock.unix());
});

test('a database that could not be checked is not damaged: the check is made again', async () => {
  const { clock, check, find, answer, lines } = openCheck();
  await check.run();
  const message = 'The database lacks 0099_later. Run "taskgate migrate", or start the gateway once.';
  answer([{ check: 'database', level: 'error', message, details: { checked: false } }]);
  await check.run();
  expect(await check.latest()).toEqual({ checkedAt: 0, faults: [] });
  expect(lines.at(-1)).toContain('could not be made');
  find();
  clock.pass(3_600_000);
  await check.run();
  expect((await check.latest()).checkedAt).toBe(clock.unix());
});

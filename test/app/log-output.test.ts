/** Which log lines reach standard error, after every end and with every reader. */
import { afterEach, expect, test } from 'bun:test';
import { closeSync, constants, openSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { IS_FULL_RUN, testInFullRun } from '../support/full-run.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../support/gateway.ts';
import { runCommand, sourceProgram } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const running: Gateway[] = [];
const start = async (options: GatewayOptions = {}) => {
  const gateway = await startGateway(options);
  running.push(gateway);
  return gateway;
};
afterEach(async () => {
  for (const gateway of running.splice(0)) await gateway.kill();
});

const CLIENTS = 8;

/** Sends `count` requests with ids of their own; returns the ids of those that were answered. */
async function load(port: number, count: number): Promise<string[]> {
  const answered: string[] = [];
  const client = async (number: number) => {
    for (let i = number; i < count; i += CLIENTS) {
      const id = `load-${i}`;
      const answer = await fetch(`http://127.0.0.1:${port}/livez`, { headers: { 'x-request-id': id } });
      if (answer.ok) answered.push(id);
      await answer.text();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number).catch(() => undefined)));
  return answered;
}

const lineWith = (id: string) => `"request_id":"${id}"`;
const missing = (log: string, ids: readonly string[]) => ids.filter((id) => !log.includes(lineWith(id)));

test('a normal stop under load loses no line, and the last one is last', async () => {
  const gateway = await start();
  const loading = load(gateway.port, 2000);
  await gateway.logged(lineWith('load-100'));
  expect(await gateway.stop()).toBe(0);
  const answered = await loading;
  expect(answered.length).toBeGreaterThan(100);
  expect(missing(gateway.log(), answered)).toEqual([]);
  expect(gateway.log().trimEnd().split('\n').at(-1)).toContain('"stopped"');
});

test('a crash writes the lines that were buffered', async () => {
  const folder = temporaryFolder();
  const crash = join(folder, 'crash.ts');
  // Within the same turn as a request's answer, so that the line cannot have gone out before.
  writeFileSync(
    crash,
    `const { serve } = Bun;
     Bun.serve = (options) => serve({ ...options, fetch: async (request, server) => {
       const response = await options.fetch(request, server);
       if (request.headers.get('x-request-id') === 'crash') setTimeout(() => { throw new Error('a fault'); }, 0);
       return response;
     } });`,
  );
  const gateway = await start({ program: sourceProgram(['--preload', crash]) });
  await fetch(`http://127.0.0.1:${gateway.port}/livez`, { headers: { 'x-request-id': 'crash' } }).catch(() => {});
  expect(await gateway.exited).toBe(1);
  expect(gateway.log()).toContain('a fault');
  expect(missing(gateway.log(), ['crash'])).toEqual([]);
});

testInFullRun('a kill loses no line that is older than a moment', async () => {
  const gateway = await start();
  await load(gateway.port, 10);
  // Nothing else writes: the line goes out by itself.
  await gateway.logged(lineWith('load-9'));
  await gateway.kill();
});

test('a failed start prints its log lines before the reason', async () => {
  const occupied = await start();
  const argv = ['serve', '--port', String(occupied.port), '--data-dir', temporaryFolder()];
  const { err } = await runCommand(argv, { env: { LOG_LEVEL: 'debug' } });
  const lines = err.trimEnd().split('\n');
  expect(lines.at(-1)).toContain('is in use');
  expect(lines.at(-2)).toContain('"stopped"');
});

/** A pipe that a started gateway gets as its standard error, open for reading. */
function openLogPipe() {
  const path = join(temporaryFolder(), 'log');
  expect(Bun.spawnSync(['mkfifo', path]).exitCode).toBe(0);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { path, reader, prefix: ['sh', '-c', `exec "$0" "$@" 2>${path}`] };
}

/** Writes to a pipe until it takes no more. */
function fillPipe(path: string): void {
  const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    for (;;) writeSync(writer, Buffer.alloc(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  } finally {
    closeSync(writer);
  }
}

test('a reader that does not read yet delays neither the announcement nor the first requests', async () => {
  const { path, reader, prefix } = openLogPipe();
  try {
    fillPipe(path);
    const { port } = await start({ prefix });
    const readLag = async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      const countBelow = (bucket: string) => {
        const name = `taskgate_event_loop_lag_seconds_bucket{le="${bucket}"} `;
        const line = metrics.split('\n').find((each) => each.startsWith(name));
        return Number(line?.slice(name.length));
      };
      return { belowOneSecond: countBelow('1'), all: countBelow('+Inf') };
    };
    await until('the lag was measured', async () => (await readLag()).all > 0);
    const { belowOneSecond, all } = await readLag();
    // A busy machine may hold a process up for longer.
    if (IS_FULL_RUN) expect(belowOneSecond).toBe(all);
  } finally {
    closeSync(reader);
  }
});

testInFullRun('a reader that stops reading stalls no request, and the lines that it missed are counted', async () => {
  const { reader, prefix } = openLogPipe();
  try {
    const gateway = await start({ prefix });
    const count = 10_000;
    expect(await load(gateway.port, count)).toHaveLength(count);

    const chunk = Buffer.alloc(1024 * 1024);
    let log = '';
    const read = () => {
      try {
        for (let n = -1; n !== 0; ) {
          n = readSync(reader, chunk);
          log += chunk.toString('utf8', 0, n);
        }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      }
    };
    const dropped = await until('the log says how many lines were dropped', () => {
      read();
      return /"lines":(\d+),"msg":"log lines were dropped/.exec(log)?.[1];
    });
    await gateway.stop();
    read();
    expect(Number(dropped)).toBeGreaterThan(100);
    expect(log.match(/"request_id":"load-/g)).toHaveLength(count - Number(dropped));
  } finally {
    closeSync(reader);
  }
});

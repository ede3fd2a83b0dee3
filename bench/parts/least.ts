import { statSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { freePort } from '../../test/support/free-port.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { type Figure, higher, lower, note, percentile, row } from '../figures.ts';
import { KEY, SIDS } from '../least/tables.ts';
import { formatRequest, sendOverConnections } from '../load/http-client.ts';
import { CONNECTIONS, measureRequests } from '../load/measure-requests.ts';
import { startBenchVendor, startScript } from '../load/start-script.ts';
import type { Run } from '../part.ts';
import { cpuSeconds, readMemory, threadSeconds } from '../read-processes.ts';
import { formatChat, OPEN_STREAMS } from './alone.ts';
import { ENDED_TASKS } from './ended-tasks.ts';
import { benchHookInProcess } from './hooks.ts';
import { LISTS_CONNECTIONS } from './lists.ts';
import { CROWDED_INTERVAL_SECONDS } from './polls.ts';
import { describeReads, PAUSING_READERS } from './queue.ts';
import { timeFirstByte } from './relay.ts';
import { answersOk } from './start.ts';

const STARTS = 10;
const IDLE_SECONDS = 10;
const ROUND_TRIPS = 10_000;
const DISPATCH_WARM_UP_MS = 3000;

/** The least programs that could do a row, of no build: what is left to be won. */
export async function benchLeast(run: Run): Promise<Figure[]> {
  return [
    ...(await benchServer(run, 'FULL')),
    ...(await benchServer(run, 'NORMAL')),
    ...(await benchPolls(run, 'one')),
    ...(await benchPolls(run, 'batches')),
    ...(await benchWholeSubmissions(run, 'FULL')),
    ...(await benchWholeSubmissions(run, 'NORMAL')),
    ...(await benchWholeChats(run)),
    ...(await benchWholeDownloads(run)),
    ...(await benchWholePolls(run)),
    ...(await benchWholeEndings()),
    ...(await benchWholeDispatches(run)),
    ...(await benchPipes()),
    ...(await benchHookInProcess()),
    ...(await benchExecutable('least: executable of the framework', 'start.ts')),
    ...(await benchExecutable('least: executable with all parts of a start', 'whole-start.ts')),
  ];
}

async function benchServer({ seconds }: Run, synchronous: 'FULL' | 'NORMAL'): Promise<Figure[]> {
  const vendor = await startBenchVendor();
  const path = join(temporaryFolder(), 'least.db');
  const gateway = await startScript('least/server.ts', [path, synchronous, vendor.url]);
  const load = { gateway, seconds };
  try {
    const get = (target: string, token = '') => {
      const text = formatRequest('GET', target, { headers: { authorization: `Bearer ${token}` } });
      return () => text;
    };
    const body = JSON.stringify({ model: 'demo-video', prompt: 'a lighthouse in the fog' });
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const submission = formatRequest('POST', '/submit', { headers, body });
    const submissions = await measureRequests({
      ...load,
      what: `least: submissions, SQLite ${synchronous}`,
      next: () => submission,
    });
    if (synchronous === 'NORMAL') return submissions;
    const token = await (await fetch(`${gateway.url}/token`)).text();
    const cookies = SIDS.map((sid) => `refresh=${sid}.first`);
    return [
      ...(await measureRequests({ ...load, what: 'least: constant answer, one select', next: get('/constant') })),
      ...(await measureRequests({ ...load, what: 'least: session read', next: get('/session', token) })),
      ...(await measureRequests({
        ...load,
        what: 'least: refresh with rotation',
        next: (client) => formatRequest('POST', '/refresh', { headers: { cookie: cookies[client] ?? '' }, body: '' }),
        take: ({ head }, client) => {
          cookies[client] = /refresh=[^;\r]+/.exec(head)?.[0] ?? '';
        },
      })),
      ...(await measureRequests({
        ...{ ...load, connections: LISTS_CONNECTIONS, next: get('/list', token) },
        what: 'least: first page of a thousand tasks',
      })),
      ...(await measureRequests({ ...load, what: 'least: read by key', next: get('/tasks/task-1', KEY) })),
      ...submissions,
    ];
  } finally {
    await gateway.stop();
    await vendor.stop();
  }
}

/** With the sandbox, the client and the statements of the gateway itself. */
async function benchWholeSubmissions({ seconds }: Run, synchronous: 'FULL' | 'NORMAL'): Promise<Figure[]> {
  const vendor = await startBenchVendor();
  const gateway = await startScript('least/whole-submissions.ts', [temporaryFolder(), synchronous, vendor.url]);
  try {
    const body = JSON.stringify({ model: 'demo-video', prompt: 'a lighthouse in the fog' });
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const submission = formatRequest('POST', '/', { headers, body });
    const what = (times: string) => `least: ${times} with all parts, SQLite ${synchronous}`;
    const load = { gateway, seconds, next: () => submission };
    return [
      ...(await measureRequests({ ...load, what: what('submissions') })),
      ...(await measureRequests({ ...load, what: what('submission alone'), connections: 1, warmUpRequests: 1000 })),
    ];
  } finally {
    await gateway.stop();
    await vendor.stop();
  }
}

/** With the client and the statements of the gateway itself. */
async function benchWholeChats({ seconds }: Run): Promise<Figure[]> {
  const vendor = await startScript('load/serve-chats.ts');
  const gateway = await startScript('least/whole-chats.ts', [temporaryFolder(), 'NORMAL', vendor.url]);
  const load = { gateway, seconds, warmUpRequests: 1000 };
  const [chat, stream, paced] = [formatChat(KEY, false), formatChat(KEY, true), formatChat(KEY, true, 'paced')];
  const measure = (what: string, text: string, connections: number) =>
    measureRequests({ ...load, what: `least: ${what} with all parts, NORMAL`, next: () => text, connections });
  try {
    return [
      ...(await measure('relayed chat alone', chat, 1)),
      ...(await measure('relayed chats', chat, CONNECTIONS)),
      ...(await measure('relayed stream of 100 events alone', stream, 1)),
      ...(await measure('relayed streams of 100 events', stream, CONNECTIONS)),
      ...(await measure('relayed streams of 100 events in a second', paced, OPEN_STREAMS)),
      ...(await timeFirstByte(vendor, { ...gateway, key: KEY }, 'least: first byte of a relayed stream')),
    ];
  } finally {
    await Promise.all([gateway.stop(), vendor.stop()]);
  }
}

async function benchWholeDownloads({ seconds }: Run): Promise<Figure[]> {
  const vendor = await startBenchVendor();
  const gateway = await startScript('least/whole-downloads.ts', [temporaryFolder(), vendor.url]);
  const download = formatRequest('GET', '/done-0-1024');
  const load = { gateway, seconds, warmUpRequests: 1000, next: () => download };
  try {
    return [
      ...(await measureRequests({ ...load, what: 'least: download of 1 KB with all parts, alone', connections: 1 })),
      ...(await measureRequests({ ...load, what: 'least: downloads of 1 KB with all parts' })),
    ];
  } finally {
    await Promise.all([gateway.stop(), vendor.stop()]);
  }
}

async function benchWholePolls({ seconds }: Run): Promise<Figure[]> {
  const vendor = await startBenchVendor();
  try {
    const args = [temporaryFolder(), vendor.url, String(2 * seconds)];
    return describePolls(
      'least: polls in batches with all parts',
      await runScript<MeasuredPolls>('least/whole-polls.ts', args),
    );
  } finally {
    await vendor.stop();
  }
}

async function benchWholeEndings(): Promise<Figure[]> {
  const vendor = await startBenchVendor();
  try {
    const args = [temporaryFolder(), vendor.url, String(ENDED_TASKS), String(CROWDED_INTERVAL_SECONDS * 1000)];
    const { tasks, polls, cpu } = await runScript<MeasuredEndings>('least/whole-endings.ts', args);
    return row('least: tasks polled to their end with all parts', [
      lower('processor a task', (cpu / tasks) * 1e6, 'µs'),
      note('polls a task', polls / tasks, ''),
    ]);
  } finally {
    await vendor.stop();
  }
}

/** With the reads that are served beside them. */
async function benchWholeDispatches({ seconds }: Run): Promise<Figure[]> {
  const vendor = await startBenchVendor();
  const { port, pid, url, stop } = await startScript('least/whole-dispatches.ts', [temporaryFolder(), vendor.url]);
  try {
    const text = formatRequest('GET', '/');
    const reads = { ...PAUSING_READERS, port, seconds, next: () => text, take: () => {} };
    const measure = async () => {
      const { ended } = (await (await fetch(`${url}/figures`)).json()) as { ended: number };
      return { ended, cpu: cpuSeconds(pid), main: threadSeconds(pid) };
    };
    const alone = await sendOverConnections(reads);
    await fetch(`${url}/begin`);
    await Bun.sleep(DISPATCH_WARM_UP_MS);
    const before = await measure();
    const beside = await sendOverConnections(reads);
    const after = await measure();
    const tasks = after.ended - before.ended;
    return row('least: waiting tasks sent with all parts', [
      higher('rate', tasks / beside.took, '/s'),
      lower('processor a task', ((after.cpu - before.cpu) / tasks) * 1e6, 'µs'),
      note('main thread a task', ((after.main - before.main) / tasks) * 1e6, 'µs'),
      ...describeReads({ alone: [...alone.times], beside: [...beside.times] }),
    ]);
  } finally {
    await stop();
    await vendor.stop();
  }
}

async function benchPolls({ seconds }: Run, mode: 'one' | 'batches'): Promise<Figure[]> {
  const vendor = await startBenchVendor();
  try {
    const path = join(temporaryFolder(), 'least.db');
    const measured = await runScript<MeasuredPolls>('least/polls.ts', [
      path,
      String(vendor.port),
      String(2 * seconds),
      mode,
    ]);
    return describePolls(mode === 'one' ? 'least: polls one by one' : 'least: polls in batches', measured);
  } finally {
    await vendor.stop();
  }
}

type MeasuredPolls = { polls: number; took: number; cpu: number };
type MeasuredEndings = { tasks: number; polls: number; cpu: number };

/** Runs a script of the bench to its end and reads what it prints. */
async function runScript<T>(file: string, args: readonly string[]): Promise<T> {
  const script = new URL(`../${file}`, import.meta.url).pathname;
  const child = Bun.spawn([process.execPath, script, ...args], { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
  return JSON.parse(await new Response(child.stdout).text()) as T;
}

const describePolls = (what: string, { polls, took, cpu }: MeasuredPolls): Figure[] =>
  row(what, [higher('rate', polls / took, '/s'), lower('processor a 1,000 polls', (cpu / polls) * 1000, 's')]);

/** There and back through two pipes to another process, one at a time. */
async function benchPipes(): Promise<Figure[]> {
  const script = new URL('../least/echo.ts', import.meta.url).pathname;
  const child = Bun.spawn([process.execPath, script], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' });
  const reader = child.stdout.getReader();
  const message = Buffer.alloc(1_200, 'a');
  const times: number[] = [];
  for (let i = 0; i < ROUND_TRIPS; i += 1) {
    const started = performance.now();
    child.stdin.write(message);
    child.stdin.flush();
    for (let got = 0; got < message.length; ) got += (await reader.read()).value?.length ?? message.length;
    if (i >= ROUND_TRIPS / 2) times.push((performance.now() - started) * 1000);
  }
  child.kill('SIGKILL');
  await child.exited;
  return row('least: 1.2 KB to another process and back', [
    lower('p50', percentile(times, 0.5), 'µs'),
    lower('p99', percentile(times, 0.99), 'µs'),
  ]);
}

async function benchExecutable(what: string, script: string): Promise<Figure[]> {
  const folder = temporaryFolder();
  const binary = join(folder, 'least');
  const source = new URL(`../least/${script}`, import.meta.url).pathname;
  const flags = ['--compile', '--minify', '--bytecode', '--splitting', '--format', 'esm', '--outfile', binary];
  const build = Bun.spawn([process.execPath, 'build', ...flags, source], { stdout: 'ignore', stderr: 'inherit' });
  if ((await build.exited) !== 0) throw new Error('the least executable could not be built');
  const times: number[] = [];
  for (let i = 0; i < STARTS; i += 1) {
    const started = await startLeast(binary);
    times.push(started.ms);
    await started.stop();
  }
  const idle = await startLeast(binary);
  const cpuBefore = cpuSeconds(idle.pid);
  await Bun.sleep(IDLE_SECONDS * 1000);
  const cpuMs = ((cpuSeconds(idle.pid) - cpuBefore) * 1000) / IDLE_SECONDS;
  const { pssMb } = readMemory(idle.pid);
  await idle.stop();
  return row(what, [
    lower('cold start', percentile(times, 0.5), 'ms'),
    lower('idle PSS', pssMb, 'MB'),
    lower('idle processor a second', cpuMs, 'ms'),
    lower('size', statSync(binary).size / 1e6, 'MB'),
  ]);
}

async function startLeast(binary: string): Promise<{ ms: number; pid: number; stop(): Promise<void> }> {
  const [folder, port] = [temporaryFolder(), await freePort()];
  const begun = performance.now();
  const child = Bun.spawn([binary, String(port), folder], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  await answersOk(`http://127.0.0.1:${port}/`, begun + 20_000);
  return {
    ms: performance.now() - begun,
    pid: child.pid,
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

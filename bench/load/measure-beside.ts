import { performance } from 'node:perf_hooks';
import { type Figure, lower, note, percentile, row } from '../figures.ts';
import { readPeakMb } from '../read-processes.ts';
import { formatRequest, sendOverConnections } from './http-client.ts';

/** A busy gateway that still has time left: waiting for the processor is not what is measured. */
const CONNECTIONS = 2;
/** The first submissions are polled and end in it: from then on the load is always the same. */
const WARM_UP_SECONDS = 20;
const BODY = JSON.stringify({ model: 'demo-video', prompt: 'a lighthouse in the fog' });
const SAMPLE_MS = 50;

type Beside = {
  what: string;
  gateway: { port: number };
  key: string;
  seconds: number;
  /** The command, and its environment. */
  command: readonly string[];
  env?: Record<string, string>;
};

/**
 * What a command costs beside a gateway that takes submissions: its time and memory, and the p99 of
 * submissions at the same time, which may be twice that without it.
 */
export async function measureBeside({ what, gateway, key, seconds, command, env = {} }: Beside): Promise<Figure[]> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const text = formatRequest('POST', '/v1/tasks/demo', { headers, body: BODY });
  const load = { port: gateway.port, connections: CONNECTIONS, next: () => text, take: () => {} };
  await sendOverConnections({ ...load, seconds: WARM_UP_SECONDS });
  const alone = [...(await sendOverConnections({ ...load, seconds })).times];
  const running = runMeasured(command, env);
  const times: number[] = [];
  let isRunning = true;
  void running
    .catch(() => undefined)
    .finally(() => {
      isRunning = false;
    });
  while (isRunning) times.push(...(await sendOverConnections({ ...load, seconds: 1 })).times);
  const ran = await running;
  // The database has grown, and other work on the machine comes and goes: before and after.
  alone.push(...(await sendOverConnections({ ...load, seconds })).times);
  const before = percentile(alone, 0.99);
  const beside = percentile(times, 0.99);
  return row(
    `${what}, beside submissions`,
    [
      lower('it takes', ran.seconds, 's'),
      lower('its memory', ran.memoryMb, 'MB'),
      note('p99 of submissions alone', before, 'ms'),
      note('p99 beside it', beside, 'ms'),
      lower('times as long', beside / before, '×'),
    ],
    { 'times as long': 2 },
  );
}

/**
 * Runs a command to its end. The scheduler's class of the bench is not inherited, since priorities
 * count within one.
 */
export async function runMeasured(command: readonly string[], env: Record<string, string>) {
  const begun = performance.now();
  const prefix = Bun.which('chrt') ? ['chrt', '--other', '0'] : [];
  const child = Bun.spawn([...prefix, ...command], { env, stdout: 'ignore', stderr: 'pipe' });
  // What the system reports at its end counts the bench's own memory, from before the `exec`.
  let memoryMb = 0;
  const timer = setInterval(() => {
    memoryMb = Math.max(memoryMb, readPeakMb(child.pid));
  }, SAMPLE_MS);
  try {
    const said = await new Response(child.stderr).text();
    if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${said}`);
    return { seconds: (performance.now() - begun) / 1000, memoryMb };
  } finally {
    clearInterval(timer);
  }
}

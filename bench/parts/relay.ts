import { request } from 'node:http';
import { startChatVendor } from '../../test/support/chat-vendor.ts';
import { setUp } from '../../test/support/gateway.ts';
import { type Figure, higher, lower, note, percentile, row } from '../figures.ts';
import type { Run } from '../part.ts';
import { readMemory } from '../read-processes.ts';
import { startBuild } from '../stage.ts';
import { holdInMemory, openChannel } from './alone.ts';

const MODEL = 'chat-x';
/** Streams for the first byte, one after the other, in turns with the vendor itself. */
const ROUNDS = 400;
const WARM_UP = 50;
/** Streams held open at once, and how many of them open at once. */
const STREAMS = 500;
const OPENING = 32;
const LIMITS = { TASK_ARTIFACT_GLOBAL_CONCURRENCY: String(STREAMS), TASK_ARTIFACT_IP_CONCURRENCY: String(STREAMS) };
const AIMS = { 'added at the median': 3, 'RSS of all processes': 250, held: STREAMS };

/** What a relay channel adds to a chat's first byte, and what streams held open cost. */
export async function benchRelay({ build }: Run): Promise<Figure[]> {
  const vendor = await startChatVendor();
  const gateway = await startBuild(build, { env: LIMITS });
  const leaving = new AbortController();
  try {
    const admin = await setUp(gateway);
    const through = { url: gateway.url, key: await openChannel(admin, vendor) };
    const figures = await timeFirstByte(vendor, through, 'first byte of a relayed stream');
    if (await holdInMemory(admin, true))
      figures.push(...(await timeFirstByte(vendor, through, 'first byte of a relayed stream, reserved in memory')));
    await holdInMemory(admin, false);
    return [...figures, ...(await holdStreams(through, { pid: gateway.pid, leaving }))];
  } finally {
    leaving.abort();
    await Promise.all([gateway.stop(), vendor.stop()]);
  }
}

type Access = { url: string; key?: string };

/** What `through` adds to the first byte of a stream, in turns with the vendor itself. */
export async function timeFirstByte(vendor: Access, through: Access, what: string): Promise<Figure[]> {
  const [direct, relayed]: [number[], number[]] = [[], []];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    const pair = [await firstByte(vendor), await firstByte(through)] as const;
    if (round < WARM_UP) continue;
    direct.push(pair[0]);
    relayed.push(pair[1]);
  }
  const added = percentile(relayed, 0.5) - percentile(direct, 0.5);
  return row(
    what,
    [
      lower('added at the median', added, 'ms'),
      lower('p50', percentile(relayed, 0.5), 'ms'),
      lower('p99', percentile(relayed, 0.99), 'ms'),
      note('p50 of the vendor alone', percentile(direct, 0.5), 'ms'),
    ],
    AIMS,
  );
}

/** Milliseconds until the first piece of a streamed chat, which is then read to its end. */
async function firstByte({ url, key }: Access): Promise<number> {
  const begun = performance.now();
  const response = await fetch(`${url}/v1/chat/completions`, chatRequest(key));
  if (!response.ok || !response.body) throw new Error(`a chat was answered ${response.status}`);
  const reader = response.body.getReader();
  await reader.read();
  const taken = performance.now() - begun;
  while (!(await reader.read()).done);
  return taken;
}

const chatRequest = (key = '', user?: string) => ({
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: JSON.stringify({
    model: MODEL,
    stream: true,
    user,
    messages: [{ role: 'user', content: 'how is the weather' }],
  }),
});

async function holdStreams(
  through: Access,
  { pid, leaving }: { pid: number; leaving: AbortController },
): Promise<Figure[]> {
  const idle = readMemory(pid).rssMb;
  const opened: number[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: OPENING }, async () => {
      while (next++ < STREAMS) await open(through, leaving.signal).then(() => opened.push(next));
    }),
  );
  const { rssMb } = readMemory(pid);
  return row(
    `${STREAMS} relayed streams held open at once`,
    [
      higher('held', opened.length, ''),
      lower('RSS of all processes', rssMb, 'MB'),
      lower('growth of RSS', rssMb - idle, 'MB'),
    ],
    AIMS,
  );
}

/**
 * Resolves with the first piece of a chat whose vendor then waits. (`fetch` would hold 256 at once
 * and no more.)
 */
function open({ url, key }: Access, signal: AbortSignal): Promise<void> {
  const { body, ...options } = chatRequest(key, 'slow');
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/v1/chat/completions`, { ...options, signal, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`a stream was answered ${response.statusCode}`));
      response.once('data', () => resolve()).on('error', () => {});
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

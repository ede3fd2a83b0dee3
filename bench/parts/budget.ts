import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { type Figure, lower, row } from '../figures.ts';
import { formatRequest, type HttpAnswer, sendOverConnections } from '../load/http-client.ts';
import { CONNECTIONS } from '../load/measure-requests.ts';
import type { Run } from '../part.ts';
import { cpuSeconds, threadSeconds } from '../read-processes.ts';
import { countByPlace, readProfile } from '../read-profile.ts';
import { openStage } from '../stage.ts';
import { BUDGET } from '../write-markdown.ts';
import { CROWDED_INTERVAL_SECONDS, withSubmitted } from './polls.ts';
import { NO_LIMITS, prepareRefreshes } from './requests.ts';

const WARM_UP_REQUESTS = 5_000;
const LONGEST_WARM_UP_SECONDS = 15;
const SAMPLE_US = 500;
/** More than can be polled in time under the profiler. */
const POLLED = 50_000;
/** Who took less is counted with the others who did. */
const LEAST_US = 0.5;

type Load = { next: (client: number) => string; take?: (answer: HttpAnswer, client: number) => void };
type Window = { what: string; fromMs: number; toMs: number; requests: number; mainUs: number; allUs: number };

/**
 * Where the processor time of a request and of a poll goes: the gateway runs from its sources under
 * the runtime's profiler, which makes it somewhat slower than the executable. The places of a row
 * add up to the main thread's time.
 */
export async function benchBudget(run: Run): Promise<Figure[]> {
  return [...(await benchRequestBudgets(run)), ...(await benchPollBudget(run))];
}

/** The build as a program that writes a profile into `folder` when it stops. */
function underProfiler({ build, ...run }: Run): { run: Run; folder: string } {
  if (build.source === undefined) throw new Error('a profile needs the sources of the build: give a checkout');
  const folder = join(temporaryFolder(), 'profiles');
  mkdirSync(folder);
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${SAMPLE_US}`];
  const program = [process.execPath, ...flags, join(build.source, 'src/main.ts')];
  return { run: { ...run, build: { ...build, program } }, folder };
}

async function benchPollBudget(given: Run): Promise<Figure[]> {
  const { run, folder } = underProfiler(given);
  // Only the gateway that polls writes the profile that is read; the one that submits has its own.
  return withSubmitted({ ...run, build: given.build }, async (measure) => {
    const size = Math.min(POLLED, run.inFlight);
    const polls = await measure({ size, mode: 'one by one', intervalSeconds: CROWDED_INTERVAL_SECONDS }, run.build);
    const window = { what: 'poll', requests: polls.count, ...polls };
    return describe(window, countByPlace(readProfile(folder), polls.fromMs, polls.toMs));
  });
}

async function benchRequestBudgets(given: Run): Promise<Figure[]> {
  const { run, folder } = underProfiler(given);
  const { build, seconds } = run;
  const stage = await openStage(build, { ...NO_LIMITS, UPDATE_TASK: 'false' });
  const { gateway, admin, key } = stage;
  const windows: Window[] = [];
  const measure = async (what: string, { next, take = () => undefined }: Load) => {
    const load = {
      port: gateway.port,
      connections: CONNECTIONS,
      next,
      take: (answer: HttpAnswer, client: number) => {
        if (answer.status !== 200) throw new Error(`${what} was answered ${answer.status}`);
        take(answer, client);
      },
    };
    const atMostSeconds = LONGEST_WARM_UP_SECONDS;
    await sendOverConnections({ ...load, seconds: 1, atLeast: WARM_UP_REQUESTS, atMostSeconds });
    const [fromMs, main, all] = [nowMs(), threadSeconds(gateway.pid), cpuSeconds(gateway.pid)];
    const { times } = await sendOverConnections({ ...load, seconds });
    const perRequest = (before: number, after: number) => ((after - before) / times.length) * 1e6;
    windows.push({
      what,
      fromMs,
      toMs: nowMs(),
      requests: times.length,
      mainUs: perRequest(main, threadSeconds(gateway.pid)),
      allUs: perRequest(all, cpuSeconds(gateway.pid)),
    });
  };
  try {
    const task = await stage.submit('a lighthouse in the fog');
    const get = (path: string, token: string): Load => {
      const text = formatRequest('GET', path, { headers: { authorization: `Bearer ${token}` } });
      return { next: () => text };
    };
    await measure('session read', get('/api/user/self', admin.token));
    await measure('refresh with rotation', await prepareRefreshes(gateway.url));
    await measure('read by key, /v1/tasks/:id', get(`/v1/tasks/${task}`, key));
    await measure('read by key, /v1/videos/:id', get(`/v1/videos/${task}`, key));
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'demo-video', prompt: 'a lighthouse in the fog' });
    const submission = formatRequest('POST', '/v1/tasks/demo', { headers, body });
    await measure('submission', { next: () => submission });
  } finally {
    await stage.stop();
  }
  const profile = readProfile(folder);
  return windows.flatMap((window) => describe(window, countByPlace(profile, window.fromMs, window.toMs)));
}

function describe({ what, requests, mainUs, allUs }: Window, counts: Map<string, number>): Figure[] {
  const sampledUs = ([...counts.values()].reduce((sum, count) => sum + count, 0) * SAMPLE_US) / requests;
  // Where the machine is busy, samples count time in which the thread did not run.
  const scale = Math.min(1, mainUs / sampledUs);
  const places = [...counts]
    .map(([place, count]) => ({ place, us: ((count * SAMPLE_US) / requests) * scale }))
    .sort((a, b) => b.us - a.us);
  const shown = places.filter(({ us }) => us >= LEAST_US);
  const rest = places.reduce((sum, { us }) => sum + us, 0) - shown.reduce((sum, { us }) => sum + us, 0);
  return row(`${BUDGET}${what}`, [
    lower('all of the main thread', mainUs, 'µs'),
    ...shown.map(({ place, us }) => lower(place, us, 'µs')),
    lower('other places', rest, 'µs'),
    lower('outside JavaScript', Math.max(0, mainUs - sampledUs), 'µs'),
    lower('other threads and processes', allUs - mainUs, 'µs'),
  ]);
}

const nowMs = (): number => performance.timeOrigin + performance.now();

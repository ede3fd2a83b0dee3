import { type Figure, higher, lower, note, percentile, row } from '../figures.ts';
import { cpuSeconds } from '../read-processes.ts';
import { type HttpAnswer, sendOverConnections } from './http-client.ts';

export const CONNECTIONS = 32;
/** Until what is compiled at run time has been: this long, and this many requests. */
const WARM_UP_SECONDS = 2;
const WARM_UP_REQUESTS = 5_000;
const LONGEST_WARM_UP_SECONDS = 15;

export type Requests = {
  what: string;
  gateway: { port: number; pid: number };
  seconds: number;
  connections?: number;
  warmUpRequests?: number;
  next: (client: number) => string;
  /** Called with answers of status 200 only. */
  take?: (answer: HttpAnswer, client: number) => void;
  /** By name of the figure. */
  aims?: Record<string, number>;
};

/**
 * How many requests a second are answered with 200, how long they take and what they cost: the
 * processor time of the gateway's processes is the figure that a busy machine changes least. The
 * load generator's own share is there to show that it is not what limits the rate.
 */
export async function measureRequests(requests: Requests): Promise<Figure[]> {
  const { gateway, connections = CONNECTIONS, seconds, next } = requests;
  const take = (answer: HttpAnswer, client: number) => {
    if (answer.status !== 200)
      throw new Error(`${requests.what} was answered ${answer.status}: ${answer.body.toString().slice(0, 500)}`);
    requests.take?.(answer, client);
  };
  const load = { port: gateway.port, connections, next, take };
  await sendOverConnections({
    ...load,
    seconds: WARM_UP_SECONDS,
    atLeast: requests.warmUpRequests ?? WARM_UP_REQUESTS,
    atMostSeconds: LONGEST_WARM_UP_SECONDS,
  });
  const [cpuBefore, ownBefore] = [cpuSeconds(gateway.pid), process.cpuUsage()];
  const { times, took } = await sendOverConnections({ ...load, seconds });
  const cpu = cpuSeconds(gateway.pid) - cpuBefore;
  const own = process.cpuUsage(ownBefore);
  const ownSeconds = (own.user + own.system) / 1e6;
  const sorted = [...times];
  return row(
    requests.what,
    [
      higher('rate', times.length / took, '/s'),
      lower('p50', percentile(sorted, 0.5), 'ms'),
      lower('p99', percentile(sorted, 0.99), 'ms'),
      lower('processor a request', (cpu / times.length) * 1e6, 'µs'),
      note('load generator', ownSeconds / took, 'cores'),
    ],
    requests.aims,
  );
}

import { Elysia } from 'elysia';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { constantTimeEqual } from '../../kernel/index.ts';
import { isLoopback } from '../pipeline/client-ip.ts';
import { hasLoopbackHost } from '../pipeline/guard-host.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { answersMedia } from '../responses/describe-answer.ts';
import { httpErrors } from '../responses/errors.ts';

/**
 * Headers that proxies and browsers add. A request with one of them does not come from a program on
 * this machine, whatever the peer's address is.
 */
const FORWARDED =
  /^(?:forwarded|x-forwarded.*|x-real-ip|x-(?:original-)?client-ip|x-cluster-client-ip|true-client-ip|cf-.*|fastly-client-ip|via|origin|sec-fetch-site)$/;

const isForwardingHeader = (name: string): boolean => FORWARDED.test(name);

const DURATION_BUCKETS_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * The metrics of requests and of the process. Those of other rooms are added in `app/telemetry`:
 * `register-metrics.ts` lists where each is.
 */
export function createMetrics() {
  const registry = new Registry();
  registerProcessMetrics(registry);
  const requests = new Counter({
    name: 'taskgate_http_requests_total',
    help: 'Requests by method, declared route and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'taskgate_http_request_duration_seconds',
    help: 'Time to the answer by declared route.',
    labelNames: ['route'],
    buckets: DURATION_BUCKETS_SECONDS,
    registers: [registry],
  });
  return {
    registry,
    observe(answer: { method: string; route: string; status: number; seconds: number }): void {
      requests.inc({ method: knownMethod(answer.method), route: answer.route, status: answer.status });
      durations.observe({ route: answer.route }, answer.seconds);
    },
  };
}

/** The library's default metrics read counters of Node's engine, which Bun does not have. */
function registerProcessMetrics(registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the gateway process, without its sandbox processes.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time of the gateway process.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
}

export type Metrics = ReturnType<typeof createMetrics>;

/** Labels come from a closed set, so that an invented method cannot create a new series. */
const knownMethod = (method: string): string =>
  ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].includes(method) ? method : 'other';

/**
 * With METRICS_TOKEN set, the bearer token must match. Without it, only a program on this machine
 * may read the metrics, and only under a loopback name: that keeps out pages that reach this
 * machine by DNS rebinding.
 * @throws http.metrics_forbidden
 */
export function createMetricsGuard(token: string) {
  return (request: Request, peer: string): void => {
    if (token !== '') {
      if (constantTimeEqual(request.headers.get('authorization') ?? '', `Bearer ${token}`)) return;
    } else if (isLoopback(peer) && hasLoopbackHost(request) && ![...request.headers.keys()].some(isForwardingHeader))
      return;
    throw httpErrors.metrics_forbidden();
  };
}

export function createMetricsRoute({ kit, metrics }: { kit: Kit; metrics: Metrics }) {
  return new Elysia({ name: 'metrics', normalize: false })
    .use(kit)
    .get(
      '/metrics',
      async () =>
        new Response(await metrics.registry.metrics(), { headers: { 'content-type': metrics.registry.contentType } }),
      {
        operator: true,
        detail: { summary: 'Get Prometheus metrics', tags: ['System'], ...answersMedia('The metrics', 'text/plain') },
      },
    );
}

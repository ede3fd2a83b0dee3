import type { Registry } from 'prom-client';
import type { Clock } from '../../kernel/index.ts';
import type { Webhooks } from '../../notifications/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { Tasks } from '../../tasks/index.ts';
import { measureProcess } from './measure-process.ts';
import { measureSandbox } from './measure-sandbox.ts';
import { measureStore, type StoreServices } from './measure-store.ts';
import { measureOpenTasks } from './measure-tasks.ts';
import { measureWebhooks } from './measure-webhooks.ts';

/**
 * Adds what is read at every scrape to `/metrics`. Figures of the database stay as they were while
 * it is unavailable, and `taskgate_database_up` says so.
 *
 * Each `measure-*.ts` here has the series of its name. What has to be passed to a room while it is
 * made is added by `composition/compose-services.ts`: tasks and polls as they happen, capacity,
 * hooks, sign-ins, caches, the event loop (`telemetry/metrics/event-loop-lag.ts`). Readiness,
 * certificate, names of channels and results (`measure-operation.ts`) come with the HTTP server, as
 * do requests and the memory of the process (`http/operator/metrics.ts`, which serves `/metrics`).
 *
 * Channels, plugins and models are labels one by one up to 200; the rest share `other`
 * (`telemetry/metrics/bounded-label.ts`).
 */
export function registerMetrics(
  registry: Registry,
  services: StoreServices & { tasks: Tasks; webhooks: Webhooks; sandbox: Sandbox; clock: Clock },
): void {
  measureProcess(registry, services.clock);
  measureStore(registry, services);
  measureOpenTasks(registry, services.tasks);
  measureWebhooks(registry, services.webhooks);
  measureSandbox(registry, services.sandbox);
}

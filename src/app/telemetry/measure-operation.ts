import { Gauge, type Registry } from 'prom-client';
import type { Channels } from '../../channels/index.ts';
import type { Results } from '../../results/index.ts';
import { MAX_LABEL_VALUES } from '../../telemetry/metrics/bounded-label.ts';
import { readFromStore, withinDeadline } from '../../telemetry/metrics/read-from-store.ts';

type Operation = {
  /** Each rejects while it is not ready, as `/readyz` has them. */
  readiness: Readonly<Record<string, () => Promise<unknown>>>;
  /** Unix seconds; undefined where the gateway serves no HTTPS itself. */
  certificateEnd: () => number | undefined;
  channels: Pick<Channels, 'known'>;
  results: Pick<Results, 'depth'>;
};

/** What alerts need to know beside figures of tasks: readiness, certificate, results, names. */
export function measureOperation(
  registry: Registry,
  { readiness, certificateEnd, channels, results }: Operation,
): void {
  const registers = [registry];
  const isReady = withinDeadline(() => Promise.all(Object.values(readiness).map((check) => check())));
  new Gauge({
    name: 'taskgate_ready',
    help: 'Whether this node is ready for requests, as /readyz says it: 1 or 0.',
    registers,
    async collect() {
      this.set((await isReady()) ? 1 : 0);
    },
  });
  new Gauge({
    name: 'taskgate_certificate_end_timestamp_seconds',
    help: 'When the TLS certificate that this node serves ends, in Unix seconds; absent where a proxy terminates TLS.',
    registers,
    collect() {
      const end = certificateEnd();
      if (end !== undefined) this.set(end);
      else this.reset();
    },
  });
  new Gauge({
    name: 'taskgate_channel_info',
    help: 'Always 1, with the number of a channel and its name.',
    labelNames: ['channel', 'name'],
    registers,
    collect() {
      this.reset();
      // In other metrics, channels beyond these share the label `other`.
      for (const { id, name } of channels.known().slice(0, MAX_LABEL_VALUES)) this.set({ channel: `${id}`, name }, 1);
    },
  });
  const depth = readFromStore(() => results.depth());
  new Gauge({
    name: 'taskgate_results',
    help: 'Results that wait to be kept, on all nodes, and those of the last seven days that could not be kept.',
    labelNames: ['state'],
    registers,
    async collect() {
      const found = await depth();
      if (!found) return;
      this.set({ state: 'waiting' }, found.pending);
      this.set({ state: 'lost' }, found.lost);
    },
  });
}

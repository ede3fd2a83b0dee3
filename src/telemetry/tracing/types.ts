import type { Clock, Logger } from '../../kernel/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import type { Recorder } from './create-recorder.ts';

/** Where traces go, and how. What is said of traces alone outranks what is said of all signals. */
export type CollectorSettings = {
  url: string;
  headers: Readonly<Record<string, string>>;
  timeoutMs: number;
  gzip: boolean;
  /** The path of a PEM file; empty: public authorities. */
  certificate: string;
};

export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export type SamplerName = (typeof SAMPLERS)[number];

/** Which traces are recorded. */
export type SamplerSettings = {
  name: SamplerName;
  /** The share of traces, of traceidratio. */
  share: number;
  trustsCallers: boolean;
};

/** What becomes of a recorded span. `rejected`: by the collector. */
export type SpanFate = 'exported' | 'dropped' | 'rejected';

export type TracingDeps = {
  collector: CollectorSettings;
  sampler: SamplerSettings;
  /** What spans say of this process, besides its service and its version. */
  resource: Readonly<Record<string, string>>;
  version: string;
  /** For requests to the collector; closed by `stop`. */
  upstream: Upstream;
  /** Called with the fate of spans. */
  count: (fate: SpanFate, spans: number) => void;
  clock: Clock;
  logger: Logger;
};

export type RunningTracing = {
  recorder: Recorder;
  /** Sends what waits, for at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
};

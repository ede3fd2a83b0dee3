import { resourceFromAttributes } from '@opentelemetry/resources';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { batchSpans } from './batch-spans.ts';
import { chooseSampler } from './choose-sampler.ts';
import { createRecorder } from './create-recorder.ts';
import { createSender } from './send-spans.ts';
import type { RunningTracing, TracingDeps } from './types.ts';

const SERVICE = 'taskgate';
/** Longer values are cut: some of them are written by clients. */
const MAX_VALUE_CHARACTERS = 256;

/** Begins to record and to send. This file and what it imports is loaded only then. */
export function startTracing(deps: TracingDeps): RunningTracing {
  const { collector, sampler, resource, version, upstream, count, clock, logger } = deps;
  const batches = batchSpans({ send: createSender({ ...collector, upstream, clock }), count, clock, logger });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': SERVICE, 'service.version': version, ...resource }),
    sampler: chooseSampler(sampler),
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_CHARACTERS, attributeCountLimit: 64, linkCountLimit: 128 },
    spanProcessors: [batches.processor],
  });
  logger.info({ host: new URL(collector.url).host, sampler: sampler.name }, 'traces are exported');
  return {
    recorder: createRecorder(provider.getTracer(SERVICE, version)),
    async stop(graceMs) {
      await batches.stop(graceMs);
      await upstream.close();
    },
  };
}

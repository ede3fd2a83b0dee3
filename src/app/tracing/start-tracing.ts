import { resourceFromAttributes } from '@opentelemetry/resources';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { VERSION } from '../version.ts';
import { chooseSampler } from './choose-sampler.ts';
import { createRecorder } from './create-recorder.ts';
import { createSender } from './send-spans.ts';
import { createSpanQueue } from './span-queue.ts';
import { traceSandbox, traceUpstream } from './trace-calls.ts';
import { traceRequests } from './trace-requests.ts';
import { traceMeter, traceTasks } from './trace-tasks.ts';
import type { StartTracing } from './types.ts';

const SERVICE = 'taskgate';
/** Longer values are cut: some of them are written by clients. */
const MAX_VALUE_CHARACTERS = 256;

/** Begins to record and to send. This file and what it imports is loaded only then. */
export const startTracing: StartTracing = ({ collector, config, nodeId, upstream, count, clock, logger }) => {
  const queue = createSpanQueue({
    send: createSender({ ...collector, upstream, clock }),
    count,
    clock,
    logger,
  });
  const { otelServiceName, otelResource } = config;
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': SERVICE,
      'service.version': VERSION,
      'service.instance.id': nodeId,
      ...otelResource,
      ...(otelServiceName === '' ? {} : { 'service.name': otelServiceName }),
    }),
    sampler: chooseSampler({
      name: config.otelSampler,
      share: config.otelSamplerShare,
      trustsCallers: config.tracesTrustCallers,
    }),
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_CHARACTERS, attributeCountLimit: 64, linkCountLimit: 128 },
    spanProcessors: [queue.processor],
  });
  const recorder = createRecorder(provider.getTracer(SERVICE, VERSION));
  logger.info({ host: new URL(collector.url).host, sampler: config.otelSampler }, 'traces are exported');
  return {
    requests: traceRequests(recorder),
    tasks: traceTasks(recorder),
    meter: (meter) => traceMeter(recorder, meter),
    sandbox: (sandbox) => traceSandbox(recorder, sandbox),
    upstream: (inner, to) => traceUpstream(recorder, inner, { tell: to?.toVendors === true && config.tracesToVendors }),
    async stop(graceMs) {
      await queue.stop(graceMs);
      await upstream.close();
    },
  };
};

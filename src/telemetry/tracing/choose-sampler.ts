import { ROOT_CONTEXT, SpanKind } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import { newUuid } from '../../kernel/index.ts';
import { isSampled } from './create-recorder.ts';
import type { SamplerName, SamplerSettings } from './types.ts';

/**
 * Decides which spans are recorded. Those inside a trace of ours follow it, and those with links
 * follow the linked ones. A caller that is not trusted can leave a trace out, but cannot have one
 * recorded: neither by its flag nor by an id that a ratio would choose.
 */
export function chooseSampler({ name, share, trustsCallers }: SamplerSettings): Sampler {
  const on = new AlwaysOnSampler();
  const off = new AlwaysOffSampler();
  const root = createRoot(name, share);
  const asWithoutCaller = trustsCallers ? root : decideByOwnId(root);
  const followsCaller = name.startsWith('parentbased_');
  const byParent = new ParentBasedSampler({
    root,
    remoteParentSampled: followsCaller && trustsCallers ? on : asWithoutCaller,
    remoteParentNotSampled: followsCaller ? off : asWithoutCaller,
  });
  return {
    shouldSample(...given) {
      const links = given[5];
      if (links.length === 0) return byParent.shouldSample(...given);
      return (links.some((link) => isSampled(link.context)) ? on : off).shouldSample();
    },
    toString: () => name,
  };
}

function createRoot(name: SamplerName, share: number): Sampler {
  if (name.endsWith('always_off')) return new AlwaysOffSampler();
  return name.endsWith('traceidratio') ? new TraceIdRatioBasedSampler(share) : new AlwaysOnSampler();
}

/** A ratio decides by the trace's id, which the caller chose. */
const decideByOwnId = (sampler: Sampler): Sampler => ({
  shouldSample: () => sampler.shouldSample(ROOT_CONTEXT, newUuid().replaceAll('-', ''), '', SpanKind.INTERNAL, {}, []),
  toString: () => `${sampler}`,
});

import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { AlwaysOffSampler, AlwaysOnSampler, type Sampler, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace';
import { newUuid } from '../../kernel/index.ts';
import { isSampled } from './trace-context.ts';
import type { SamplerName, SamplerSettings } from './types.ts';

const PARENT_BASED = 'parentbased_';

/**
 * Decides which spans are recorded. Those inside a trace of ours follow it, and those with links
 * follow the linked ones. A caller that is not trusted can leave a trace out, but cannot have one
 * recorded: neither by its flag nor by an id that a ratio would choose.
 */
export function chooseSampler({ name, share, trustsCallers }: SamplerSettings): Sampler {
  const root = rootSampler(name, share);
  const isParentBased = name.startsWith(PARENT_BASED);
  const on = new AlwaysOnSampler();
  const off = new AlwaysOffSampler();
  const decide = (traceId: string) => root.shouldSample(ROOT_CONTEXT, traceId, '', SpanKind.INTERNAL, {}, []);
  return {
    shouldSample(...[context, traceId, , , , links]: Parameters<Sampler['shouldSample']>) {
      if (links.length > 0) return (links.some((link) => isSampled(link.context)) ? on : off).shouldSample();
      const parent = trace.getSpanContext(context);
      if (!parent) return decide(traceId);
      if (!parent.isRemote) return (isSampled(parent) ? on : off).shouldSample();
      if (isParentBased && !isSampled(parent)) return off.shouldSample();
      if (!trustsCallers) return decide(newUuid().replaceAll('-', ''));
      return isParentBased ? on.shouldSample() : decide(traceId);
    },
    toString: () => name,
  };
}

function rootSampler(name: SamplerName, share: number): Sampler {
  if (name.endsWith('always_off')) return new AlwaysOffSampler();
  return name.endsWith('traceidratio') ? new TraceIdRatioBasedSampler(share) : new AlwaysOnSampler();
}

/** Which spans are recorded, and what a stranger's header can do about it. */
import { describe, expect, test } from 'bun:test';
import { ROOT_CONTEXT, type SpanContext, SpanKind, trace } from '@opentelemetry/api';
import { SamplingDecision } from '@opentelemetry/sdk-trace';
import { chooseSampler } from '../../../src/telemetry/tracing/choose-sampler.ts';
import { readTraceparent } from '../../../src/telemetry/tracing/create-recorder.ts';
import type { SamplerName } from '../../../src/telemetry/tracing/types.ts';

/** A ratio takes this id first. */
const LOW_ID = '00000000000000000000000000000001';
const ID = 'ffffffff000000000000000000000000';
const SPAN = 'b7ad6b7169203331';

const remote = (flags: 0 | 1, traceId = ID): SpanContext => ({
  traceId,
  spanId: SPAN,
  traceFlags: flags,
  isRemote: true,
});
const local = (flags: 0 | 1): SpanContext => ({ traceId: ID, spanId: SPAN, traceFlags: flags });

type Case = { name: SamplerName; share?: number; trustsCallers?: boolean; parent?: SpanContext; links?: SpanContext[] };

function records({ name, share = 1, trustsCallers = false, parent, links = [] }: Case): boolean {
  const sampler = chooseSampler({ name, share, trustsCallers });
  const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
  const linked = links.map((each) => ({ context: each }));
  const id = parent?.traceId ?? LOW_ID;
  return sampler.shouldSample(context, id, 'x', SpanKind.SERVER, {}, linked).decision !== SamplingDecision.NOT_RECORD;
}

test.each<[boolean, Case]>([
  [true, { name: 'always_on' }],
  [false, { name: 'always_off' }],
  [true, { name: 'traceidratio', share: 0.5 }],
  [false, { name: 'traceidratio', share: 0 }],
  [true, { name: 'parentbased_always_on' }],
  [false, { name: 'parentbased_always_on', parent: remote(0) }],
  [true, { name: 'always_on', parent: remote(0) }],
  [true, { name: 'always_off', parent: local(1) }],
  [false, { name: 'always_on', parent: local(0) }],
])('records %p: %p', (expected, one) => expect(records(one)).toBe(expected));

describe('forced sampling', () => {
  test.each<Case>([
    { name: 'parentbased_always_off', parent: remote(1) },
    { name: 'parentbased_traceidratio', share: 0, parent: remote(1) },
    { name: 'traceidratio', share: 0.000001, parent: remote(1, LOW_ID) },
  ])('is not open to strangers: %p', (one) => expect(records(one)).toBe(false));

  test('is open to callers whom the operator trusts', () => {
    expect(records({ name: 'parentbased_always_off', trustsCallers: true, parent: remote(1) })).toBe(true);
    expect(records({ name: 'always_off', trustsCallers: true, parent: remote(1) })).toBe(false);
  });
});

test('later work is recorded when one of its submissions was, whatever the sampler', () => {
  expect(records({ name: 'always_off', links: [local(0), local(1)] })).toBe(true);
  expect(records({ name: 'always_on', links: [local(0)] })).toBe(false);
});

test.each([
  '',
  `00-${ID}-${SPAN}`,
  `00-${ID.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${ID}-${'0'.repeat(16)}-01`,
  `ff-${ID}-${SPAN}-01`,
  `00-${ID}-${SPAN}-01-more`,
  `01-${ID}-${SPAN}-01-${'x'.repeat(5000)}`,
  `00-${ID}-${SPAN}-01, 00-${ID}-${SPAN}-01`,
  `00-${ID}-${SPAN}-01\n`,
])('no traceparent: %p', (header) => expect(readTraceparent(header)).toBeUndefined());

test('a traceparent of a later version is read as far as it is known', () => {
  expect(readTraceparent(`01-${ID}-${SPAN}-03-more`)).toEqual(remote(1));
});

import { expect, test } from 'bun:test';
import type { JsonObject } from '../../src/kernel/index.ts';
import { addTokenCounts } from '../../src/plugins/hooks/extract-usage.ts';
import type { UsageField } from '../../src/plugins/types.ts';

const MAX = 2_147_483_647;
const rows: [
  name: string,
  tokens: [completion?: number, total?: number],
  reported: JsonObject | null,
  facts: unknown,
][] = [
  ['nothing at all', [], null, null],
  ['counts of the result where the hook says nothing', [70, 90], null, { completionTokens: 70, totalTokens: 90 }],
  ['a count of 0 says nothing', [0, 0], null, null],
  [
    'the hook’s own counts override those of the result',
    [70, 90],
    { totalTokens: 5 },
    { completionTokens: 70, totalTokens: 5 },
  ],
  [
    'upstreamUnits override both',
    [70, 90],
    { upstreamUnits: 7, seconds: 2 },
    { seconds: 2, upstreamUnits: 7, completionTokens: 7, totalTokens: 7 },
  ],
  ['upstreamUnits of 0 stand for nothing', [70], { upstreamUnits: 0 }, { upstreamUnits: 0, completionTokens: 70 }],
  ['an endless count is cut', [1e12], null, { completionTokens: MAX }],
];
test.each(rows)('token counts: %s', (_name, [completion, total], reported, facts) => {
  const result = {
    status: 'SUCCESS',
    ...(completion === undefined ? {} : { completion_tokens: completion }),
    ...(total === undefined ? {} : { total_tokens: total }),
  };
  expect(addTokenCounts({}, result, reported)).toEqual(facts as JsonObject);
});

test('a plugin that declares one of the names as something else keeps its own meaning', () => {
  const schema: Record<string, UsageField> = { totalTokens: { kind: 'boolean' } };
  expect(addTokenCounts(schema, { status: 'SUCCESS', total_tokens: 5 }, { totalTokens: true })).toEqual({
    totalTokens: true,
  });
});

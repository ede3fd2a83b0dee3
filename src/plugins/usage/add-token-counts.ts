import type { CompletedResult } from '../../../contracts/v1.d.ts';
import type { JsonObject } from '../../kernel/index.ts';
import type { UsageField } from '../types.ts';
import { checkUsageFacts } from './check-facts.ts';

/**
 * Facts of a parsed poll, with the vendor's token counts. `completionTokens` and `totalTokens` come
 * from the task result, unless the hook reports them. `upstreamUnits` of the hook, if above 0,
 * overrides both. Counts of 0 are ignored. `null` if there are no facts at all.
 */
export function addTokenCounts(
  schema: Readonly<Record<string, UsageField>>,
  result: CompletedResult,
  reported: JsonObject | null,
): JsonObject | null {
  const { completion_tokens: completion = 0, total_tokens: total = 0 } = result;
  const parsed = {
    ...(completion > 0 ? { completionTokens: completion } : {}),
    ...(total > 0 ? { totalTokens: total } : {}),
  };
  const units = reported?.upstreamUnits;
  const counted: JsonObject =
    typeof units === 'number' && units > 0 ? { completionTokens: units, totalTokens: units } : {};
  const facts = { ...checkCounts(schema, parsed), ...reported, ...checkCounts(schema, counted) };
  return Object.keys(facts).length > 0 ? facts : null;
}

/** Drops the counts if the plugin declares one of their names as something else. */
function checkCounts(schema: Readonly<Record<string, UsageField>>, counts: JsonObject): JsonObject {
  const facts = checkUsageFacts(schema, counts);
  return facts.ok ? (facts.value ?? {}) : {};
}

import type { CompletedResult } from '../../../contracts/v1.d.ts';
import type { JsonObject } from '../../kernel/index.ts';
import type { UsageField } from '../types.ts';
import { checkUsageFacts } from './check-facts.ts';

/**
 * Facts of a parsed poll with the vendor's token counts: `completionTokens` and `totalTokens` are
 * those of the task result where the hook names none, and `upstreamUnits` of the hook, above 0,
 * stands for both. Counts of 0 say nothing. `null` where there is nothing at all.
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
  const facts = { ...checked(schema, parsed), ...reported, ...checked(schema, counted) };
  return Object.keys(facts).length > 0 ? facts : null;
}

/** A plugin that declares one of the names as something else keeps its own meaning. */
function checked(schema: Readonly<Record<string, UsageField>>, counts: JsonObject): JsonObject {
  const facts = checkUsageFacts(schema, counts);
  return facts.ok ? (facts.value ?? {}) : {};
}

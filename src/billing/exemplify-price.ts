import type { JsonObject } from '../kernel/index.ts';
import { parsePriceExpression } from './price-expression.ts';

/** More are not read. */
const MAX_EXAMPLES = 3;

/**
 * What the plugin's own examples would cost in USD before the group ratio, for a price that words
 * cannot say. An example without an answer, such as one that lacks a fact, is left out.
 */
export function exemplifyPrice(
  expression: string,
  model: string,
  examples: readonly { label: string; facts: JsonObject }[],
): { label: string; usd: number }[] {
  const parsed = parsePriceExpression(expression);
  if (!parsed.ok) return [];
  return examples
    .flatMap(({ label, facts }) => {
      const result = parsed.value.evaluate({ facts, model, action: '' });
      return result.ok ? [{ label, usd: result.value.usd }] : [];
    })
    .slice(0, MAX_EXAMPLES);
}

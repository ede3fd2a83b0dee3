import { type Json, type JsonObject, type Sentence, sentence } from '../kernel/index.ts';
import { billingErrors } from './errors.ts';
import { parsePriceExpression } from './parse-price.ts';

/**
 * A fact that a plugin declares, as far as price checks need it. `max` is the largest accepted
 * value; 3600 where it is not known.
 */
export type DeclaredFact = { kind: 'number'; max?: number } | { kind: 'boolean' } | { kind: 'enum'; values: string[] };

/** The most sample inputs that are evaluated when a price is saved (as in new-api). */
const MAX_SAMPLES = 64;
/** The most actions that each sample is evaluated with. */
const MAX_ACTIONS = 8;

/**
 * What saving a price refuses: an expression that does not parse, reads facts that the plugin does
 * not declare, or fails for one of the samples.
 * @throws billing.price_invalid
 */
export function validatePrice(source: string, model: string, declared: Record<string, DeclaredFact> | undefined): void {
  const invalid = (message: Sentence) => billingErrors.price_invalid({ message, param: 'expression' });
  const parsed = parsePriceExpression(source);
  if (!parsed.ok) throw invalid(parsed.error);
  const expression = parsed.value;
  if (declared) {
    for (const key of expression.factKeys) {
      if (!Object.hasOwn(declared, key)) {
        const known = Object.keys(declared).join(', ') || 'none';
        throw invalid(sentence('billing.fact_undeclared', { fact: key, known }));
      }
    }
  }
  // A text literal may be an action, so its price is checked too.
  const actions = ['text_to_video', ...expression.texts].slice(0, MAX_ACTIONS);
  for (const facts of sampleFacts(expression.factKeys, declared)) {
    for (const action of actions) {
      const result = expression.evaluate({ facts, model, action });
      if (!result.ok) {
        throw invalid(
          sentence('billing.price_with_facts', { facts: JSON.stringify(facts), fault: result.error.message }),
        );
      }
    }
  }
}

/**
 * Samples: an ordinary, the smallest and the largest value of each fact that the expression reads.
 * Each value occurs at least once, then combinations follow, evenly spread if there are more than
 * MAX_SAMPLES.
 */
function sampleFacts(keys: string[], declared: Record<string, DeclaredFact> | undefined): JsonObject[] {
  const fields = keys.map((key) => ({ key, values: listValues(declared?.[key]) }));
  const pick = (choose: (values: Json[], index: number) => Json | undefined): JsonObject =>
    Object.fromEntries(fields.map(({ key, values }, index) => [key, choose(values, index) ?? null]));
  const single = fields.flatMap(({ values }, varied) =>
    values.map((value) => pick((own, index) => (index === varied ? value : own[0]))),
  );
  const combinations = fields.reduce((product, { values }) => Math.min(product * values.length, 1e9), 1);
  const count = Math.min(combinations, Math.max(MAX_SAMPLES - single.length, 1));
  const spread = Array.from({ length: count }, (_, nth) => {
    let rest = Math.floor((nth * combinations) / count);
    return pick((values) => {
      const value = values[rest % values.length];
      rest = Math.floor(rest / values.length);
      return value;
    });
  });
  return [...single, ...spread];
}

function listValues(fact: DeclaredFact | undefined): Json[] {
  if (fact?.kind === 'enum') return fact.values;
  if (fact?.kind === 'boolean') return [true, false];
  return [1, 0, fact?.max ?? 3600];
}

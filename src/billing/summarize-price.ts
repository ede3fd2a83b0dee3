import type { BinaryExpression, CallExpression, ConditionalExpression, Expression } from 'acorn';
import type { JsonObject } from '../kernel/index.ts';
import { parsePriceExpression } from './parse-price.ts';

/**
 * A price that words can say: an amount in USD, or one for each value of a fact, times the facts
 * `per`. `value` null: every other value. A boolean fact has the values `true` and `false`.
 */
export type PriceSummary =
  | { kind: 'amount'; usd: number; per: string[] }
  | { kind: 'table'; by: string; rates: { value: string | null; usd: number }[]; per: string[] };

/** The most rows of a table; a longer one is not said in words. */
const MAX_RATES = 20;

/** Null for a price that is more than an amount, or a table of amounts, times facts. */
export function summarizePrice(expression: string): PriceSummary | null {
  const parsed = parsePriceExpression(expression);
  const summary = parsed.ok ? summarize(parsed.value.tree) : undefined;
  return summary === undefined || (summary.kind === 'table' && summary.rates.length > MAX_RATES) ? null : summary;
}

/** The price for a group that pays `ratio` times as much. */
export const scaleSummary = (summary: PriceSummary, ratio: number): PriceSummary =>
  mapAmounts(summary, (usd) => usd * ratio);

function summarize(node: Expression): PriceSummary | undefined {
  switch (node.type) {
    case 'ParenthesizedExpression':
      return summarize(node.expression);
    case 'Literal':
      return typeof node.value === 'number' ? { kind: 'amount', usd: node.value, per: [] } : undefined;
    case 'CallExpression': {
      const key = readFact(node);
      return key === undefined ? undefined : { kind: 'amount', usd: 1, per: [key] };
    }
    case 'BinaryExpression':
      return summarizeOperation(node);
    case 'ConditionalExpression':
      return summarizeChoice(node);
    default:
      return undefined;
  }
}

function summarizeOperation({ left, right, operator }: BinaryExpression): PriceSummary | undefined {
  const one = left.type === 'PrivateIdentifier' ? undefined : summarize(left);
  const other = summarize(right);
  if (!one || !other) return undefined;
  if (operator === '*') return multiply(one, other);
  const isPlain = other.kind === 'amount' && other.per.length === 0;
  if (!isPlain) return undefined;
  if (operator === '/' && other.usd !== 0) return mapAmounts(one, (usd) => usd / other.usd);
  const isSum = operator === '+' && one.kind === 'amount' && one.per.length === 0;
  return isSum ? { kind: 'amount', usd: exact(one.usd + other.usd), per: [] } : undefined;
}

function multiply(one: PriceSummary, other: PriceSummary): PriceSummary | undefined {
  const per = [...one.per, ...other.per];
  const isSquare = new Set(per).size < per.length;
  if (isSquare || (one.kind === 'table' && other.kind === 'table')) return undefined;
  if (one.kind === 'table' && other.kind === 'amount') return { ...mapAmounts(one, (usd) => usd * other.usd), per };
  if (one.kind === 'amount') return { ...mapAmounts(other, (usd) => usd * one.usd), per };
  return undefined;
}

function summarizeChoice({ test, consequent, alternate }: ConditionalExpression): PriceSummary | undefined {
  const choice = readChoice(test);
  const chosen = summarize(consequent);
  const rest = summarize(alternate);
  if (!choice || chosen?.kind !== 'amount' || !rest) return undefined;
  if (chosen.per.toSorted().join() !== rest.per.toSorted().join()) return undefined;
  if (rest.kind === 'table' && rest.by !== choice.by) return undefined;
  const others = rest.kind === 'table' ? rest.rates : [{ value: null, usd: rest.usd }];
  // The first row with a value decides.
  const rates = [{ value: choice.value, usd: chosen.usd }, ...others.filter(({ value }) => value !== choice.value)];
  return { kind: 'table', by: choice.by, rates, per: chosen.per };
}

/** `u("sound")`, or `u("resolution") == "1080p"` in either order. */
function readChoice(node: Expression): { by: string; value: string } | undefined {
  if (node.type === 'ParenthesizedExpression') return readChoice(node.expression);
  if (node.type === 'CallExpression') {
    const by = readFact(node);
    return by === undefined ? undefined : { by, value: 'true' };
  }
  if (node.type !== 'BinaryExpression' || (node.operator !== '==' && node.operator !== '===')) return undefined;
  for (const [call, literal] of [
    [node.left, node.right],
    [node.right, node.left],
  ]) {
    if (call?.type !== 'CallExpression' || literal?.type !== 'Literal') continue;
    const by = readFact(call);
    if (by === undefined || (typeof literal.value !== 'string' && typeof literal.value !== 'boolean')) continue;
    return { by, value: String(literal.value) };
  }
  return undefined;
}

function readFact({ callee, arguments: [key] }: CallExpression): string | undefined {
  const isFact = callee.type === 'Identifier' && callee.name === 'u';
  return isFact && key?.type === 'Literal' && typeof key.value === 'string' ? key.value : undefined;
}

const mapAmounts = (summary: PriceSummary, map: (usd: number) => number): PriceSummary =>
  summary.kind === 'amount'
    ? { ...summary, usd: exact(map(summary.usd)) }
    : { ...summary, rates: summary.rates.map(({ value, usd }) => ({ value, usd: exact(map(usd)) })) };

/** Removes the noise of binary rounding. */
const exact = (usd: number): number => Number(usd.toPrecision(12));

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

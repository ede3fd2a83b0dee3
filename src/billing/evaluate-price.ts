/** What a price expression costs for some facts, and the steps that explain it. */
import type { Expression } from 'acorn';
import {
  err,
  isObject,
  type JsonObject,
  ok,
  type Result,
  type Sentence,
  SentenceError,
  sentence,
  toSentence,
} from '../kernel/index.ts';

/** The inputs of an expression: `u("field")`, `model` and `action`. */
export type PriceInputs = { facts: JsonObject; model: string; action: string };

/**
 * USD before the group ratio. `steps` explain it: each evaluated condition, then the sum with its
 * values filled in.
 */
export type Evaluation = { usd: number; steps: string[] };

export type PriceFault = Sentence & { missingFact?: string };

export const FUNCTIONS: Record<string, (values: number[]) => number> = {
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  abs: ([value = Number.NaN]) => Math.abs(value),
  ceil: ([value = Number.NaN]) => Math.ceil(value),
  floor: ([value = Number.NaN]) => Math.floor(value),
  round: ([value = Number.NaN]) => Math.round(value),
};

type Value = number | string | boolean;

/**
 * A value, and its text with the facts filled in. `precedence`: the precedence of its outermost
 * operator.
 */
type Term = { value: Value; text: string; precedence: number };

type Walk = { source: string; inputs: PriceInputs; steps: string[] };

/** Operator precedence as in JavaScript. */
const PRECEDENCE: Readonly<Record<string, number>> = {
  '||': 1,
  '&&': 2,
  '==': 3,
  '!=': 3,
  '===': 3,
  '!==': 3,
  '<': 4,
  '<=': 4,
  '>': 4,
  '>=': 4,
  '+': 5,
  '-': 5,
  '*': 6,
  '/': 6,
  '%': 6,
};
const UNARY_PRECEDENCE = 7;
const ATOM_PRECEDENCE = 8;

/** Steps are for people: longer ones are truncated, and so are texts from facts and model names. */
const MAX_STEP = 300;
const MAX_TEXT = 60;
const MAX_STEPS = 40;

class Fault extends SentenceError {
  readonly missingFact: string | undefined;
  constructor(said: Sentence, missingFact?: string) {
    super(said);
    this.missingFact = missingFact;
  }
}

/** Evaluates a validated tree by walking it; no part of it is ever executed. */
export function evaluatePrice(tree: Expression, source: string, inputs: PriceInputs): Result<Evaluation, PriceFault> {
  const walked: Walk = { source, inputs, steps: [] };
  try {
    const { value: usd, text } = walk(tree, walked);
    if (typeof usd !== 'number' || !Number.isFinite(usd)) return err(sentence('prices.not_finite'));
    if (usd < 0) return err(sentence('prices.negative'));
    const result = `${writeNumber(usd)} USD`;
    addStep(walked, text === writeNumber(usd) ? result : `${truncate(text, MAX_STEP)} = ${result}`);
    return ok({ usd, steps: walked.steps });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return err({ ...toSentence(error), ...(error.missingFact ? { missingFact: error.missingFact } : {}) });
  }
}

/** Digits of a number that are shown: few enough to hide binary rounding. */
const DIGITS = 12;

/** 0.3 instead of 0.30000000000000004. A whole number is itself as long as its digits are shown. */
export const writeNumber = (value: number): string =>
  Number.isInteger(value) && Math.abs(value) < 10 ** DIGITS ? `${value}` : `${Number(value.toPrecision(DIGITS))}`;

function addStep({ steps }: Walk, step: string): void {
  // The last step is the sum itself and always shown.
  if (steps.length === MAX_STEPS) steps.pop();
  steps.push(step);
}

const truncate = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length)}…` : text);

const atom = (value: Value): Term => ({
  value,
  text: typeof value === 'number' ? writeNumber(value) : truncate(JSON.stringify(value), MAX_TEXT),
  precedence: ATOM_PRECEDENCE,
});

/** An operand in a larger term, in parentheses where precedence requires them. */
const asOperand = (term: Term, precedence: number): string =>
  term.precedence < precedence ? `(${term.text})` : term.text;

function walk(node: Expression, to: Walk): Term {
  switch (node.type) {
    case 'Literal':
      return atom(node.value as Value);
    case 'Identifier':
      return atom(node.name === 'model' ? to.inputs.model : to.inputs.action);
    case 'ParenthesizedExpression':
      return walk(node.expression, to);
    case 'UnaryExpression': {
      const inner = walk(node.argument, to);
      const text = `${node.operator}${asOperand(inner, ATOM_PRECEDENCE)}`;
      if (node.operator === '!') return { value: !inner.value, text, precedence: UNARY_PRECEDENCE };
      const number = toNumber(inner.value);
      return { value: node.operator === '-' ? -number : number, text, precedence: UNARY_PRECEDENCE };
    }
    case 'LogicalExpression': {
      const left = walk(node.left, to);
      if (node.operator === '&&' ? !left.value : left.value) return left;
      const right = walk(node.right, to);
      return { value: right.value, ...join(node.operator, left, right) };
    }
    case 'ConditionalExpression': {
      const holds = Boolean(walk(node.test, to).value);
      addStep(to, `${truncate(to.source.slice(node.test.start, node.test.end), MAX_STEP)} → ${holds}`);
      return walk(holds ? node.consequent : node.alternate, to);
    }
    case 'BinaryExpression': {
      const left = walk(node.left as Expression, to);
      const right = walk(node.right, to);
      return { value: binary(node.operator, left.value, right.value), ...join(node.operator, left, right) };
    }
    case 'CallExpression': {
      const name = (node.callee as { name: string }).name;
      if (name === 'u') return atom(fact((node.arguments[0] as { value: string }).value, to.inputs.facts));
      const terms = node.arguments.map((argument) => walk(argument as Expression, to));
      const value = FUNCTIONS[name]?.(terms.map((term) => toNumber(term.value))) ?? Number.NaN;
      return {
        value,
        text: truncate(`${name}(${terms.map(({ text }) => text).join(', ')})`, MAX_STEP),
        precedence: ATOM_PRECEDENCE,
      };
    }
    default:
      throw new Fault(sentence('billing.expression_node', { node: node.type }));
  }
}

function join(operator: string, left: Term, right: Term): { text: string; precedence: number } {
  const precedence = PRECEDENCE[operator] ?? ATOM_PRECEDENCE;
  // Operators of equal precedence group to the left, so the right operand must bind more tightly.
  const text = `${asOperand(left, precedence)} ${operator} ${asOperand(right, precedence + 1)}`;
  return { text: truncate(text, MAX_STEP), precedence };
}

function fact(key: string, facts: JsonObject): Value {
  const value = Object.hasOwn(facts, key) ? facts[key] : undefined;
  if (value === undefined || value === null || isObject(value) || Array.isArray(value)) {
    throw new Fault(sentence('prices.fact', { fact: key }), key);
  }
  return value as Value;
}

function toNumber(value: Value): number {
  if (typeof value === 'string') throw new Fault(sentence('prices.text'));
  return Number(value);
}

function binary(operator: string, left: Value, right: Value): Value {
  switch (operator) {
    case '==':
    case '===':
      return left === right;
    case '!=':
    case '!==':
      return left !== right;
    case '+':
      return toNumber(left) + toNumber(right);
    case '-':
      return toNumber(left) - toNumber(right);
    case '*':
      return toNumber(left) * toNumber(right);
    case '/':
      return toNumber(left) / toNumber(right);
    case '%':
      return toNumber(left) % toNumber(right);
    case '<':
      return toNumber(left) < toNumber(right);
    case '<=':
      return toNumber(left) <= toNumber(right);
    case '>':
      return toNumber(left) > toNumber(right);
    default:
      return toNumber(left) >= toNumber(right);
  }
}

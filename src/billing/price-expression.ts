import { type Expression, parseExpressionAt } from 'acorn';
import { err, isObject, type JsonObject, ok, type Result } from '../kernel/index.ts';

/** What an expression may read: `u("field")`, `model` and `action`. */
export type PriceInputs = { facts: JsonObject; model: string; action: string };

export type PriceExpression = {
  source: string;
  /** Every literal key that `u()` reads. */
  factKeys: string[];
  /** USD before the group ratio; an error names what is wrong with the facts or the result. */
  evaluate(inputs: PriceInputs): Result<number, { message: string; missingFact?: string }>;
};

type Value = number | string | boolean;

const FUNCTIONS: Record<string, (values: number[]) => number> = {
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  abs: ([value = Number.NaN]) => Math.abs(value),
  ceil: ([value = Number.NaN]) => Math.ceil(value),
  floor: ([value = Number.NaN]) => Math.floor(value),
  round: ([value = Number.NaN]) => Math.round(value),
};
const BINARY = new Set(['+', '-', '*', '/', '%', '<', '<=', '>', '>=', '==', '!=', '===', '!==']);
const UNARY = new Set(['-', '+', '!']);
const NAMES = new Set(['model', 'action']);

/** Longer texts are refused: a price is a formula, not a program. */
const MAX_SOURCE = 4096;
/** Nesting beyond this is refused, so that walking the tree cannot exhaust the stack. */
const MAX_DEPTH = 64;

class PriceFault extends Error {
  readonly missingFact: string | undefined;
  constructor(message: string, missingFact?: string) {
    super(message);
    this.missingFact = missingFact;
  }
}

/**
 * Parses one JavaScript expression and admits it by a whitelist of node types. It is evaluated by walking that tree, never by
 * running it, so that an expression can reach nothing but its inputs.
 */
export function parsePriceExpression(source: string): Result<PriceExpression, { message: string }> {
  if (source.trim() === '')
    return err({ message: 'The expression is empty. Write a number of USD, for example 0.05 * u("seconds").' });
  if (source.length > MAX_SOURCE) return err({ message: `The expression is longer than ${MAX_SOURCE} characters.` });
  let tree: Expression;
  try {
    tree = parseExpressionAt(source, 0, { ecmaVersion: 2022 });
  } catch (error) {
    return err({
      message: `The expression does not parse: ${error instanceof Error ? error.message : 'unknown reason'}`,
    });
  }
  if (source.slice(tree.end).trim() !== '') return err({ message: 'There is text after the end of the expression.' });
  const factKeys = new Set<string>();
  const fault = admit(tree, factKeys, 0);
  if (fault) return err({ message: fault });
  return ok({
    source,
    factKeys: [...factKeys],
    evaluate(inputs) {
      try {
        const usd = walk(tree, inputs);
        if (typeof usd !== 'number' || !Number.isFinite(usd))
          return err({ message: 'The price is not a finite number.' });
        if (usd < 0) return err({ message: 'The price is negative.' });
        return ok(usd);
      } catch (error) {
        if (error instanceof PriceFault) {
          return err({ message: error.message, ...(error.missingFact ? { missingFact: error.missingFact } : {}) });
        }
        throw error;
      }
    },
  });
}

/** The reason why a node is not allowed, or undefined. Collects the fact keys on its way. */
function admit(node: Expression, factKeys: Set<string>, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return 'The expression is nested too deeply.';
  const inner = (child: unknown) => admit(child as Expression, factKeys, depth + 1);
  switch (node.type) {
    case 'Literal':
      return ['number', 'string', 'boolean'].includes(typeof node.value)
        ? undefined
        : 'Only numbers, texts and true or false may be written out.';
    case 'Identifier':
      return NAMES.has(node.name) ? undefined : `"${node.name}" is not known. Use u("field"), model or action.`;
    case 'UnaryExpression':
      return UNARY.has(node.operator) ? inner(node.argument) : `The operator ${node.operator} is not allowed.`;
    case 'BinaryExpression':
      return BINARY.has(node.operator)
        ? (inner(node.left) ?? inner(node.right))
        : `The operator ${node.operator} is not allowed.`;
    case 'LogicalExpression':
      return node.operator === '??' ? 'The operator ?? is not allowed.' : (inner(node.left) ?? inner(node.right));
    case 'ConditionalExpression':
      return inner(node.test) ?? inner(node.consequent) ?? inner(node.alternate);
    case 'ParenthesizedExpression':
      return inner(node.expression);
    case 'CallExpression': {
      if (node.callee.type !== 'Identifier' || node.optional)
        return 'Only u() and min, max, abs, ceil, floor, round may be called.';
      const name = node.callee.name;
      if (name === 'u') {
        const [key] = node.arguments;
        if (node.arguments.length !== 1 || key?.type !== 'Literal' || typeof key.value !== 'string') {
          return 'u() takes one quoted field name, for example u("seconds").';
        }
        factKeys.add(key.value);
        return undefined;
      }
      if (!Object.hasOwn(FUNCTIONS, name))
        return `"${name}" is not a known function. Use u, min, max, abs, ceil, floor or round.`;
      if (node.arguments.length === 0) return `${name}() needs a value.`;
      for (const argument of node.arguments) {
        const fault = inner(argument);
        if (fault) return fault;
      }
      return undefined;
    }
    default:
      return `A ${node.type} is not allowed in a price.`;
  }
}

function walk(node: Expression, inputs: PriceInputs): Value {
  switch (node.type) {
    case 'Literal':
      return node.value as Value;
    case 'Identifier':
      return node.name === 'model' ? inputs.model : inputs.action;
    case 'ParenthesizedExpression':
      return walk(node.expression, inputs);
    case 'UnaryExpression': {
      const value = walk(node.argument, inputs);
      if (node.operator === '!') return !value;
      return node.operator === '-' ? -toNumber(value) : toNumber(value);
    }
    case 'LogicalExpression': {
      const left = walk(node.left, inputs);
      if (node.operator === '&&') return left ? walk(node.right, inputs) : left;
      return left ? left : walk(node.right, inputs);
    }
    case 'ConditionalExpression':
      return walk(node.test, inputs) ? walk(node.consequent, inputs) : walk(node.alternate, inputs);
    case 'BinaryExpression':
      return binary(node.operator, walk(node.left as Expression, inputs), walk(node.right, inputs));
    case 'CallExpression': {
      const name = (node.callee as { name: string }).name;
      if (name === 'u') return fact((node.arguments[0] as { value: string }).value, inputs.facts);
      return (
        FUNCTIONS[name]?.(node.arguments.map((argument) => toNumber(walk(argument as Expression, inputs)))) ??
        Number.NaN
      );
    }
    default:
      throw new PriceFault(`A ${node.type} is not allowed in a price.`);
  }
}

function fact(key: string, facts: JsonObject): Value {
  const value = Object.hasOwn(facts, key) ? facts[key] : undefined;
  if (value === undefined || value === null || isObject(value) || Array.isArray(value)) {
    throw new PriceFault(`The price needs the usage fact "${key}", which the request does not give.`, key);
  }
  return value as Value;
}

function toNumber(value: Value): number {
  if (typeof value === 'string') throw new PriceFault('A text stands where the price needs a number.');
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

import { type Expression, parseExpressionAt } from 'acorn';
import { err, ok, type Result, type Sentence, sentence } from '../kernel/index.ts';
import { type Evaluation, evaluatePrice, FUNCTIONS, type PriceFault, type PriceInputs } from './evaluate-price.ts';

export type PriceExpression = {
  source: string;
  /** Validated: only node types of a price. */
  tree: Expression;
  /** Every literal key that `u()` reads. */
  factKeys: string[];
  /** Every other text literal, such as an action to compare with. */
  texts: string[];
  /**
   * USD before the group ratio, with its steps. An error says what is wrong with the facts or the
   * result.
   */
  evaluate(inputs: PriceInputs): Result<Evaluation, PriceFault>;
};

/** What a price may contain. Its functions are `FUNCTIONS` in `evaluate-price.ts`. */
const BINARY = new Set(['+', '-', '*', '/', '%', '<', '<=', '>', '>=', '==', '!=', '===', '!==']);
const UNARY = new Set(['-', '+', '!']);
const NAMES = new Set(['model', 'action']);

/** Longer sources are refused: a price is a formula, not a program. */
export const MAX_SOURCE = 4096;
/** Deeper nesting is refused, so that walking the tree cannot exhaust the stack. */
const MAX_DEPTH = 64;

/**
 * Parses one JavaScript expression and validates it against a whitelist of node types. It is
 * evaluated by walking that tree, never executed, so an expression can reach nothing but its
 * inputs.
 */
export function parsePriceExpression(source: string): Result<PriceExpression, Sentence> {
  if (source.trim() === '') return err(sentence('billing.expression_empty'));
  if (source.length > MAX_SOURCE) return err(sentence('billing.expression_length', { max: MAX_SOURCE }));
  let tree: Expression;
  try {
    // Keep parentheses in the tree, so that its end includes the last one.
    tree = parseExpressionAt(source, 0, { ecmaVersion: 2022, preserveParens: true });
  } catch (error) {
    return err(
      sentence('billing.expression_unparsed', { fault: error instanceof Error ? error.message : 'unknown reason' }),
    );
  }
  if (source.slice(tree.end).trim() !== '') return err(sentence('billing.expression_tail'));
  const found = { factKeys: new Set<string>(), texts: new Set<string>() };
  const fault = validate(tree, found, 0);
  if (fault) return err(fault);
  return ok({
    source,
    tree,
    factKeys: [...found.factKeys],
    texts: [...found.texts],
    evaluate: (inputs) => evaluatePrice(tree, source, inputs),
  });
}

type Found = { factKeys: Set<string>; texts: Set<string> };

/** Why a node is not allowed, or `undefined`. Collects fact keys and texts on the way. */
function validate(node: Expression, found: Found, depth: number): Sentence | undefined {
  if (depth > MAX_DEPTH) return sentence('billing.expression_depth');
  const inner = (child: unknown) => validate(child as Expression, found, depth + 1);
  switch (node.type) {
    case 'Literal':
      if (typeof node.value === 'string') found.texts.add(node.value);
      return ['number', 'string', 'boolean'].includes(typeof node.value)
        ? undefined
        : sentence('billing.expression_literal');
    case 'Identifier':
      return NAMES.has(node.name) ? undefined : sentence('billing.expression_name', { name: node.name });
    case 'UnaryExpression':
      return UNARY.has(node.operator)
        ? inner(node.argument)
        : sentence('billing.expression_operator', { operator: node.operator });
    case 'BinaryExpression':
      return BINARY.has(node.operator)
        ? (inner(node.left) ?? inner(node.right))
        : sentence('billing.expression_operator', { operator: node.operator });
    case 'LogicalExpression':
      return node.operator === '??' ? sentence('billing.expression_nullish') : (inner(node.left) ?? inner(node.right));
    case 'ConditionalExpression':
      return inner(node.test) ?? inner(node.consequent) ?? inner(node.alternate);
    case 'ParenthesizedExpression':
      return inner(node.expression);
    case 'CallExpression': {
      if (node.callee.type !== 'Identifier' || node.optional) return sentence('billing.expression_call');
      const name = node.callee.name;
      if (name === 'u') {
        const [key] = node.arguments;
        if (node.arguments.length !== 1 || key?.type !== 'Literal' || typeof key.value !== 'string') {
          return sentence('billing.expression_field');
        }
        found.factKeys.add(key.value);
        return undefined;
      }
      if (!Object.hasOwn(FUNCTIONS, name)) return sentence('billing.expression_function', { name });
      if (node.arguments.length === 0) return sentence('billing.expression_arguments', { name });
      for (const argument of node.arguments) {
        const fault = inner(argument);
        if (fault) return fault;
      }
      return undefined;
    }
    default:
      return sentence('billing.expression_node', { node: node.type });
  }
}

import type { PluginFault } from '../types.ts';
import {
  collectNodes,
  createNameIndex,
  type FunctionNames,
  findReturns,
  isFunction,
  type PluginSyntax,
  readKey,
  readName,
  type Syntax,
} from './plugin-syntax.ts';
import { makeWarning } from './warning-ids.ts';

/** Hooks that say how a task stands. */
const HOOKS = ['parseTaskResult', 'parseBatchResult'] as const;
const RUNNING: ReadonlySet<unknown> = new Set(['NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS']);
const FINAL: ReadonlySet<unknown> = new Set(['SUCCESS', 'FAILURE']);
/** Calls that ask whether something is known: `Object.hasOwn(STATUSES, status)`. */
const LOOKUPS: ReadonlySet<string | undefined> = new Set(['hasOwn', 'hasOwnProperty', 'has', 'includes', 'get']);

/**
 * Finds where a hook takes every unknown status for a running task: such a task never ends. What a
 * boolean such as `done` decides is not an unknown status.
 */
export function findStatusFallbacks(syntax: PluginSyntax): PluginFault[] {
  const found = new Map<Syntax, PluginFault>();
  const namesIn = createNameIndex();
  for (const hook of HOOKS) {
    const start = syntax.hooks.get(hook);
    if (!start) continue;
    const functions = reachableFunctions(syntax, start);
    const names = functions.map(namesIn);
    const hasLiteral = (values: ReadonlySet<unknown>): boolean =>
      names.some(({ nodes }) => nodes.some(({ type, value }) => type === 'Literal' && values.has(value)));
    const catchAll = hasLiteral(FINAL) && !hasLiteral(new Set(['UNKNOWN']));
    for (const fn of functions) {
      for (const node of findFallbacks(fn, namesIn(fn), { syntax, catchAll })) {
        const message = 'treats an unknown status as a running task, so that a lost task never ends';
        if (!found.has(node))
          found.set(node, makeWarning('status.fallback', { path: `exports/${hook}`, message, node }));
      }
    }
  }
  return [...found.values()];
}

/** The function and the module's own that it uses, by call or as an argument. */
function reachableFunctions({ functions }: PluginSyntax, start: Syntax): Syntax[] {
  const reached = new Set([start]);
  for (const fn of reached) {
    for (const node of collectNodes(fn)) {
      const used = node.type === 'Identifier' ? functions.get(node.name ?? '') : undefined;
      if (used) reached.add(used);
    }
  }
  return [...reached];
}

type Rules = {
  syntax: PluginSyntax;
  /** Whether the last branch catches what no other names: none of them returns UNKNOWN. */
  catchAll: boolean;
};

function findFallbacks(fn: Syntax, names: FunctionNames, { syntax, catchAll }: Rules): Syntax[] {
  const { nodes } = names;
  const comparesTexts = nodes.some(isTextComparison);
  const readLiteral = (node: Syntax | null | undefined): unknown =>
    node?.type === 'Identifier' ? syntax.values.get(node.name ?? '')?.value : node?.value;
  /** Whether an expression is one of the statuses, or a result that has one. */
  const gives = (node: Syntax | null | undefined, values: ReadonlySet<unknown>): boolean =>
    node?.type === 'ObjectExpression'
      ? (node.properties ?? []).some((one) => readKey(one) === 'status' && gives(one.value as Syntax, values))
      : values.has(readLiteral(node));
  const sets = (node: Syntax | null | undefined, values: ReadonlySet<unknown>): boolean =>
    listStatements(node).some((one) => {
      if (one.type === 'ReturnStatement') return gives(one.argument, values);
      const expression = one.type === 'ExpressionStatement' ? (one.expression as Syntax) : undefined;
      return expression?.type === 'AssignmentExpression' && gives(expression.right, values);
    });
  const assigned = (values: ReadonlySet<unknown>, name: string | undefined): boolean =>
    names.of(name ?? '').assigned.some(({ left, right }) => readName(left) === name && gives(right, values));

  const found = nodes.filter((node) => {
    const { operator, left, right, test, consequent, alternate } = node;
    switch (node.type) {
      case 'LogicalExpression':
        return (operator === '||' || operator === '??') && gives(right, RUNNING);
      case 'AssignmentExpression':
        return (operator === '||=' || operator === '??=') && gives(right, RUNNING);
      case 'AssignmentPattern':
        return /status|state/i.test(readName(left) ?? '') && gives(right, RUNNING);
      case 'ConditionalExpression': {
        const [known, unknown] = branches(test, consequent as Syntax, alternate);
        if (testsKnownStatus(test, names)) return gives(unknown, RUNNING);
        return catchAll && comparesText(test) && gives(known, FINAL) && gives(alternate, RUNNING);
      }
      case 'IfStatement': {
        const [known, unknown] = branches(test, consequent as Syntax, alternate);
        if (testsKnownStatus(test, names) && sets(unknown, RUNNING)) return true;
        return (
          catchAll &&
          comparesText(test) &&
          sets(known, FINAL) &&
          alternate?.type !== 'IfStatement' &&
          sets(alternate, RUNNING)
        );
      }
      case 'SwitchStatement':
        return sets(findDefault(node), RUNNING);
      case 'VariableDeclaration':
        return (
          catchAll &&
          comparesTexts &&
          node.kind === 'let' &&
          (node.declarations ?? []).some(({ id, init }) => gives(init, RUNNING) && assigned(FINAL, readName(id)))
        );
      default:
        return false;
    }
  });
  const last = Array.isArray((fn.body as Syntax)?.body) ? ((fn.body as Syntax).body as Syntax[]).at(-1) : undefined;
  const others = findReturns(fn).filter((one) => one !== last?.argument);
  if (
    catchAll &&
    comparesTexts &&
    last?.type === 'ReturnStatement' &&
    gives(last.argument, RUNNING) &&
    others.some((one) => gives(one, FINAL))
  ) {
    found.push(last);
  }
  return found.map(findPosition);
}

/** What to point at: the branch, where a statement has several. */
const findPosition = (node: Syntax): Syntax =>
  node.type === 'SwitchStatement' ? ((node.cases ?? []).find(({ test }) => !test) ?? node) : node;

/** The statements of a branch that run whatever comes. */
function listStatements(node: Syntax | null | undefined): Syntax[] {
  if (!node) return [];
  const { body } = node;
  return node.type === 'BlockStatement' && Array.isArray(body) ? body.flatMap(listStatements) : [node];
}

/** The statements of `default`, as a block; those that it falls through to included. */
function findDefault({ cases = [] }: Syntax): Syntax | undefined {
  const at = cases.findIndex(({ test }) => !test);
  if (at === -1) return undefined;
  const body = cases.slice(at).map(({ consequent }) => consequent as Syntax[]);
  return { type: 'BlockStatement', body: body.find(({ length }) => length > 0) ?? [], start: 0, end: 0 };
}

const isNegated = (test: Syntax | null | undefined): boolean =>
  test?.type === 'UnaryExpression' ? test.operator === '!' : /^===?$/.test(test?.operator ?? '');

/** The branch for what is known, and the other. */
const branches = (
  test: Syntax | null | undefined,
  consequent: Syntax,
  alternate: Syntax | null | undefined,
): [Syntax | null | undefined, Syntax | null | undefined] =>
  isNegated(test) && testsAbsence(test) ? [alternate, consequent] : [consequent, alternate];

const isNothing = (node: Syntax | undefined): boolean =>
  readName(node) === 'undefined' || (node?.type === 'Literal' && node.value === null && node.raw === 'null');

/** `!x`, `x === undefined`, `x == null`. */
const testsAbsence = (test: Syntax | null | undefined): boolean =>
  test?.type === 'UnaryExpression' || (test?.type === 'BinaryExpression' && isNothing(test.right));

/** Whether a node compares a text, as a status is. */
const isTextComparison = ({ type, operator, right, callee, cases }: Syntax): boolean =>
  (type === 'BinaryExpression' && /^===?$/.test(operator ?? '') && typeof right?.value === 'string') ||
  (type === 'CallExpression' && !!callee && LOOKUPS.has(readKey(callee))) ||
  (cases ?? []).some((one) => typeof one.test?.value === 'string');

const comparesText = (test: Syntax | null | undefined): boolean => !!test && collectNodes(test).some(isTextComparison);

/** How many names a test is followed through. */
const MAX_NAMES = 8;

/** Whether a test asks for a status that a table has, or that there is one at all. */
function testsKnownStatus(test: Syntax | null | undefined, names: FunctionNames, left = MAX_NAMES): boolean {
  if (!test || left === 0) return false;
  if (test.type === 'UnaryExpression' && test.operator === '!') return testsKnownStatus(test.argument, names, left);
  if (test.type === 'BinaryExpression') {
    if (test.operator === 'in') return true;
    return isNothing(test.right) && testsKnownStatus(test.left, names, left);
  }
  if (test.type === 'CallExpression') return LOOKUPS.has(test.callee ? readKey(test.callee) : undefined);
  if (test.type === 'MemberExpression') return test.computed === true || /stat(?:us|e)$/i.test(readKey(test) ?? '');
  const { name } = test;
  if (test.type !== 'Identifier' || name === undefined) return false;
  if (/stat(?:us|e)$/i.test(name)) return true;
  const [declared] = names.of(name).declared;
  return !isFunction(declared?.init) && testsKnownStatus(declared?.init, names, left - 1);
}

import { err, isObject, ok, parseJson, type Result, type Sentence, sentence } from '../../kernel/index.ts';

/*
 * Access policies of custom OAuth providers: an administrator writes one as JSON, and a person's
 * profile at the provider decides by it whether they may sign in.
 */

const OPERATORS = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'not_in',
  'contains',
  'not_contains',
  'exists',
  'not_exists',
] as const;
type Operator = (typeof OPERATORS)[number];

type Condition = { field: string; op: Operator; value: unknown };
/** A policy without conditions and groups admits everybody. */
export type AccessPolicy = { logic: 'and' | 'or'; conditions: Condition[]; groups: AccessPolicy[] };

const MAX_DEPTH = 5;
const MAX_ENTRIES = 50;
const MAX_FIELD = 128;

/** Parses the JSON text of a policy. The empty text admits everybody. */
export function parsePolicy(text: string): Result<AccessPolicy, Sentence> {
  if (text.trim() === '') return ok({ logic: 'and', conditions: [], groups: [] });
  return readPolicy(parseJson(text), 1);
}

function readPolicy(value: unknown, depth: number): Result<AccessPolicy, Sentence> {
  if (!isObject(value)) return err(sentence('policy.object'));
  const unknown = Object.keys(value).find((name) => !['logic', 'conditions', 'groups'].includes(name));
  if (unknown !== undefined) return err(sentence('policy.unknown', { name: unknown.slice(0, MAX_FIELD) }));
  const { logic = 'and', conditions = [], groups = [] } = value;
  if (logic !== 'and' && logic !== 'or') return err(sentence('policy.logic'));
  if (!Array.isArray(conditions) || !Array.isArray(groups)) return err(sentence('policy.lists'));
  if (conditions.length + groups.length > MAX_ENTRIES) return err(sentence('policy.entries', { max: MAX_ENTRIES }));
  if (depth > MAX_DEPTH) return err(sentence('policy.depth', { max: MAX_DEPTH }));
  const policy: AccessPolicy = { logic, conditions: [], groups: [] };
  for (const entry of conditions) {
    const condition = readCondition(entry);
    if (!condition.ok) return condition;
    policy.conditions.push(condition.value);
  }
  for (const entry of groups) {
    const group = readPolicy(entry, depth + 1);
    if (!group.ok) return group;
    policy.groups.push(group.value);
  }
  return ok(policy);
}

function readCondition(value: unknown): Result<Condition, Sentence> {
  if (!isObject(value)) return err(sentence('policy.condition'));
  const { field } = value;
  const op = OPERATORS.find((known) => known === value.op);
  if (typeof field !== 'string' || field === '' || field.length > MAX_FIELD) return err(sentence('policy.field'));
  if (!op) return err(sentence('policy.op', { names: OPERATORS.join(', ') }));
  if ((op === 'in' || op === 'not_in') && !Array.isArray(value.value)) return err(sentence('policy.list', { op }));
  if (/^[gl]te?$/.test(op) && toNumber(value.value) === undefined) return err(sentence('policy.number', { op }));
  return ok({ field, op, value: value.value });
}

export type Verdict = { admitted: true } | { admitted: false; condition: Condition | undefined };

/** Whether the policy admits the profile; if not, with the first condition that fails. */
export function checkPolicy(policy: AccessPolicy, profile: Record<string, unknown>): Verdict {
  const verdicts = [
    ...policy.conditions.map(
      (condition): Verdict => (holds(condition, profile) ? { admitted: true } : { admitted: false, condition }),
    ),
    ...policy.groups.map((group) => checkPolicy(group, profile)),
  ];
  const refusal = verdicts.find(({ admitted }) => !admitted);
  if (refusal === undefined) return { admitted: true };
  const isEnough = policy.logic === 'or' && verdicts.some(({ admitted }) => admitted);
  return isEnough ? { admitted: true } : refusal;
}

function holds({ field, op, value }: Condition, profile: Record<string, unknown>): boolean {
  const current = readPath(profile, field);
  switch (op) {
    case 'eq':
      return isSame(current, value);
    case 'ne':
      return !isSame(current, value);
    case 'gt':
      return compare(current, value, (left, right) => left > right);
    case 'gte':
      return compare(current, value, (left, right) => left >= right);
    case 'lt':
      return compare(current, value, (left, right) => left < right);
    case 'lte':
      return compare(current, value, (left, right) => left <= right);
    case 'in':
      return isAmong(current, value);
    case 'not_in':
      return !isAmong(current, value);
    case 'contains':
      return includes(current, value);
    case 'not_contains':
      return !includes(current, value);
    case 'exists':
      return current !== undefined && current !== null;
    case 'not_exists':
      return current === undefined || current === null;
  }
}

const toNumber = (value: unknown): number | undefined => {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
};

/** A number equals its text form: providers write ids and levels either way. */
function isSame(current: unknown, value: unknown): boolean {
  if (current === value) return true;
  const kinds = [typeof current, typeof value];
  return kinds.includes('number') && kinds.includes('string') && toNumber(current) === toNumber(value);
}

function compare(current: unknown, value: unknown, rule: (left: number, right: number) => boolean): boolean {
  const left = toNumber(current);
  const right = toNumber(value);
  return left !== undefined && right !== undefined && rule(left, right);
}

const isAmong = (current: unknown, values: unknown): boolean =>
  Array.isArray(values) && values.some((value) => isSame(current, value));

function includes(current: unknown, value: unknown): boolean {
  if (Array.isArray(current)) return current.some((entry) => isSame(entry, value));
  return typeof current === 'string' && typeof value === 'string' && value !== '' && current.includes(value);
}

const MAX_MESSAGE = 512;
const MAX_SHOWN = 100;

/**
 * Fills in the administrator's message for a refusal. `{{provider}}`, `{{field}}`, `{{op}}`,
 * `{{required}}` and `{{current}}` describe the failed condition, `{{current.a.b}}` a field of the
 * profile, `{{required.a.b}}` the condition on that field.
 */
export function describeRefusal(
  template: string,
  facts: { provider: string; policy: AccessPolicy; condition: Condition | undefined; profile: Record<string, unknown> },
): string {
  const { provider, policy, condition, profile } = facts;
  const variables: Record<string, unknown> = {
    provider,
    field: condition?.field,
    op: condition?.op,
    required: condition?.value,
    current: condition && readPath(profile, condition.field),
  };
  const message = template.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (whole, name: string) => {
    if (Object.hasOwn(variables, name)) return show(variables[name]);
    if (name.startsWith('current.')) return show(readPath(profile, name.slice('current.'.length)));
    if (name.startsWith('required.')) return show(readRequired(policy, name.slice('required.'.length)));
    return whole;
  });
  return message.slice(0, MAX_MESSAGE);
}

function readRequired(policy: AccessPolicy, field: string): unknown {
  const own = policy.conditions.find((condition) => condition.field === field);
  if (own) return own.value;
  return policy.groups.map((group) => readRequired(group, field)).find((value) => value !== undefined);
}

const show = (value: unknown): string => {
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  return text.slice(0, MAX_SHOWN);
};

/**
 * The value at a dotted path (`data.user.id`, `emails.0.value`), or `undefined`. A property of
 * `value` may itself have dots in its name.
 */
export function readPath(value: unknown, path: string): unknown {
  if (isObject(value) && Object.hasOwn(value, path)) return value[path];
  let current = value;
  for (const step of path.split('.')) {
    if (Array.isArray(current) && /^\d{1,4}$/.test(step)) current = current[Number(step)];
    else if (isObject(current) && Object.hasOwn(current, step)) current = current[step];
    else return undefined;
  }
  return current;
}

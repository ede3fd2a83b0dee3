import { isObject, parseJson } from '../../kernel/index.ts';
import { integer, json, type OptionRules } from './option-rule.ts';

const MAX_GROUPS = 1000;
const MAX_WAIT_SECONDS = 43_200;
const MAX_TASKS = 1_000_000;
const MAX_BYTES = 10 * 1024 ** 4;
const MAX_PRIORITY = 10;
const MAX_MODEL = 255;
/** Models that one may be replaced by. */
const MAX_FALLBACKS = 8;

/** The bounds, and what each may be at most. */
const BOUNDS: Readonly<Record<string, number>> = {
  max_wait_seconds: MAX_WAIT_SECONDS,
  max_waiting: MAX_TASKS,
  max_waiting_per_user: MAX_TASKS,
  max_waiting_bytes: MAX_BYTES,
};

const isGroups = (value: unknown, isValid: (own: unknown) => boolean): boolean =>
  isObject(value) && Object.keys(value).length <= MAX_GROUPS && Object.values(value).every(isValid);

const isBounds = (value: unknown): boolean =>
  isObject(value) &&
  Object.entries(value).every(
    ([name, bound]) =>
      Object.hasOwn(BOUNDS, name) &&
      Number.isInteger(bound) &&
      Number(bound) >= 0 &&
      Number(bound) <= (BOUNDS[name] ?? 0),
  );

const isPriority = (value: unknown): boolean => Number.isInteger(value) && Math.abs(Number(value)) <= MAX_PRIORITY;

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() === value && value.length > 0 && value.length <= MAX_MODEL;

const isFallback = (value: unknown): boolean => {
  if (!isObject(value) || Object.keys(value).some((key) => key !== 'models' && key !== 'after_seconds')) return false;
  const { models, after_seconds: after = 0 } = value;
  const seconds = Number.isInteger(after) && Number(after) >= 0 && Number(after) <= MAX_WAIT_SECONDS;
  return (
    Array.isArray(models) && models.length > 0 && models.length <= MAX_FALLBACKS && models.every(isName) && seconds
  );
};

const isFallbacks = (value: unknown): boolean =>
  isObject(value) &&
  Object.keys(value).length <= MAX_GROUPS &&
  Object.entries(value).every(([model, own]) => isName(model) && isFallback(own));

export const queueOptions = {
  /** How long a task waits for an account with room; 0: none waits. */
  'queue.max_wait_seconds': { proof: 'none', ...integer(3600, 0, MAX_WAIT_SECONDS) },
  /** Tasks that may wait together. */
  'queue.max_waiting': { proof: 'none', ...integer(100_000, 1, MAX_TASKS) },
  'queue.max_waiting_per_user': { proof: 'none', ...integer(1000, 1, MAX_TASKS) },
  /** What the requests and files of waiting tasks may take together. */
  'queue.max_waiting_bytes': { proof: 'none', ...integer(10 * 1024 ** 3, 0, MAX_BYTES) },
  /** Group name to bounds of its own. */
  'queue.group_limits': {
    proof: 'none',
    ...json('{}', (value) =>
      isGroups(parseJson(value), isBounds)
        ? undefined
        : `a JSON object of at most ${MAX_GROUPS} group names to objects of ${Object.keys(BOUNDS).join(', ')}, whole numbers`,
    ),
  },
  /** Group name to priority: the highest goes first. */
  'queue.group_priorities': {
    proof: 'none',
    ...json('{}', (value) =>
      isGroups(parseJson(value), isPriority)
        ? undefined
        : `a JSON object of at most ${MAX_GROUPS} group names to whole numbers from -${MAX_PRIORITY} to ${MAX_PRIORITY}`,
    ),
  },
  /** Group name to models, each with those that may serve instead. */
  'queue.model_fallbacks': {
    proof: 'none',
    ...json('{}', (value) =>
      isGroups(parseJson(value), isFallbacks)
        ? undefined
        : `a JSON object of at most ${MAX_GROUPS} group names to objects of model names to {"models": 1 to ${MAX_FALLBACKS} names, "after_seconds": 0 to ${MAX_WAIT_SECONDS}, or absent}`,
    ),
  },
} satisfies OptionRules;

import { isObject, type Json, type JsonObject } from '../kernel/index.ts';
import type { RelayKind } from '../store/ports/index.ts';
import { relayErrors } from './errors.ts';

/**
 * `text`: read elsewhere. `flag`: true or false. `count`: how many results, also as a text of
 * digits. `limit`: the most tokens of an answer; 0 and null set none. `quantity`: a number or its
 * text, else the price cannot read it. `options`: an object with the flag `include_usage`.
 */
type Rule = 'text' | 'flag' | 'count' | 'limit' | 'quantity' | 'options';

/** `lowers`: the kinds whose API has this limit. Vendors of the others may ignore it. */
type Member = { rule: Rule; kinds?: readonly RelayKind[]; lowers?: readonly RelayKind[] };

/**
 * All members of a relayed request that billing, limits or routing read. Gateway and vendor must
 * read them alike, so each has one type and one spelling.
 */
const MEMBERS: Readonly<Record<string, Member>> = {
  model: { rule: 'text' },
  input: { rule: 'text', kinds: ['speech'] },
  stream: { rule: 'flag' },
  stream_options: { rule: 'options', kinds: ['chat', 'response'] },
  // For images it is a color.
  background: { rule: 'flag', kinds: ['response'] },
  seconds: { rule: 'quantity' },
  n: { rule: 'count' },
  best_of: { rule: 'count' },
  batch_size: { rule: 'count', kinds: ['image', 'image_edit', 'video'] },
  num_images: { rule: 'count', kinds: ['image', 'image_edit'] },
  num_videos: { rule: 'count', kinds: ['video'] },
  num_outputs: { rule: 'count', kinds: ['image', 'image_edit', 'video'] },
  sample_count: { rule: 'count', kinds: ['image', 'image_edit', 'video'] },
  max_tokens: { rule: 'limit', lowers: ['chat'] },
  max_completion_tokens: { rule: 'limit', lowers: ['chat'] },
  max_output_tokens: { rule: 'limit', lowers: ['response'] },
  max_new_tokens: { rule: 'limit' },
};
const INCLUDE_USAGE = 'include_usage';

/** What vendors call the length of a video beside `seconds`, in small letters and digits alone. */
const DURATIONS: ReadonlySet<string> = new Set([
  'seconds',
  'duration',
  'durations',
  'durationsec',
  'durationseconds',
  'durationinseconds',
  'nseconds',
  'numseconds',
  'lengthseconds',
  'videoseconds',
  'videoduration',
  'clipduration',
]);
/** `5s` is a length of several vendors. */
const DURATION = /^\d{1,9}(\.\d{1,6})?s?$/;

/** A quantity as text, which OpenAI's videos API expects instead of a number. */
const QUANTITY = /^\d{1,9}(\.\d{1,6})?$/;
const DIGITS = /^\d{1,9}$/;
const MAX_QUANTITY = 999_999_999;

/** The names that the gateway reads of a request of this kind. */
export const namesOfKind = (kind: RelayKind): string[] =>
  Object.entries(MEMBERS).flatMap(([name, { kinds }]) => (kinds === undefined || kinds.includes(kind) ? [name] : []));

type Members = { kind: RelayKind; values: JsonObject; isForm: boolean };

/**
 * Checks the members that the gateway reads. The values of a form are texts.
 * @throws tasks.relay_request_invalid naming the member
 */
export function checkMembers({ kind, values, isForm }: Members): void {
  const names = namesOfKind(kind);
  refuseOtherSpellings(values, names);
  for (const name of names) {
    const value = values[name];
    if (value === undefined || value === null) continue;
    switch (MEMBERS[name]?.rule) {
      case 'flag':
        readFlag(isForm ? { [name]: flagOfText(value) } : values, name, relayErrors.relay_request_invalid);
        break;
      case 'count':
        readCount(name, value);
        break;
      case 'limit':
        if (!isLimit(isForm && DIGITS.test(String(value)) ? Number(value) : value)) {
          throw invalid(name, `must be a whole number from 1 to ${MAX_QUANTITY}, not a text`);
        }
        break;
      case 'options':
        if (!isObject(value)) throw invalid(name, 'must be an object');
        refuseOtherSpellings(value as JsonObject, [INCLUDE_USAGE], `${name}.`);
        readFlag(value as JsonObject, INCLUDE_USAGE, (options) =>
          relayErrors.relay_request_invalid({ ...options, param: `${name}.${INCLUDE_USAGE}` }),
        );
    }
  }
}

/**
 * The name as vendors may read it. Many match names without regard to case, some of them by
 * Unicode's folding, and some end a text at a NUL: `Model`, `STREAM`, `ſtream` and `model\0x` would
 * reach them as what the gateway has not read.
 */
export function plainName(name: string): string {
  const end = name.indexOf('\0');
  const text = end === -1 ? name : name.slice(0, end);
  return text.length > MAX_NAME || /^[a-z0-9_]*$/.test(text) ? text : text.normalize('NFKC').toLowerCase().trim();
}

function refuseOtherSpellings(values: JsonObject, names: readonly string[], prefix = ''): void {
  const known = new Set(names);
  for (const name of Object.keys(values)) {
    const plain = plainName(name);
    if (plain === name || !known.has(plain)) continue;
    const message = `${JSON.stringify(name)} could be read as "${prefix}${plain}": write it like this, or leave it out.`;
    throw relayErrors.relay_request_invalid({ message, param: prefix + name });
  }
}

/** No spelling of a name in the table is longer. */
const MAX_NAME = 64;

type Refuse = typeof relayErrors.relay_request_invalid;

/** Reads a flag. Clients also write null for a flag that they do not set. @throws `refuse` */
export function readFlag(values: Record<string, unknown>, name: string, refuse: Refuse): boolean {
  const value = values[name] ?? false;
  if (typeof value === 'boolean') return value;
  throw refuse({ message: `${name} must be true or false.`, param: name });
}

const flagOfText = (value: Json): Json => (value === 'true' ? true : value === 'false' ? false : value);

function readCount(name: string, value: Json): number {
  const count = typeof value === 'string' && QUANTITY.test(value) ? Number(value) : value;
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= MAX_QUANTITY) return count;
  throw invalid(name, `must be a whole number from 1 to ${MAX_QUANTITY}`);
}

const isLimit = (value: Json): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_QUANTITY;

const invalid = (name: string, rule: string) =>
  relayErrors.relay_request_invalid({
    message: `"${name}" ${rule}. Leave it out for the vendor's default.`,
    param: name,
  });

const readNumbers = (rule: Rule, { kind, values }: Omit<Members, 'isForm'>): [name: string, number][] =>
  namesOfKind(kind).flatMap((name): [string, number][] => {
    const value = values[name];
    return MEMBERS[name]?.rule === rule && value !== undefined && value !== null ? [[name, Number(value)]] : [];
  });

/** The most results that checked members ask for. */
export const mostResults = (members: Omit<Members, 'isForm'>): number =>
  Math.max(1, ...readNumbers('count', members).map(([, count]) => count));

/**
 * The largest limit that checked members name, for each result. `otherwise`: where none is named
 * that this API has, and in place of one that is 0. A name of another API only raises the limit.
 */
export function largestLimit(members: Omit<Members, 'isForm'>, otherwise: number): number {
  const named = readNumbers('limit', members);
  const isLimited = named.some(([name]) => MEMBERS[name]?.lowers?.includes(members.kind));
  const limits = named.map(([, limit]) => (limit === 0 ? otherwise : limit));
  return Math.max(...limits, ...(isLimited ? [] : [otherwise]), ...thoughtLimits(members.values));
}

/** Limits of thoughts, which some vendors do not count among the tokens of an answer. */
const thoughtLimits = ({ thinking_budget: own = null, thinking = null, reasoning = null }: JsonObject): number[] =>
  [own, isObject(thinking) ? thinking.budget_tokens : null, isObject(reasoning) ? reasoning.max_tokens : null].filter(
    (limit): limit is number => typeof limit === 'number' && isLimit(limit),
  );

/** Whether a vendor may read the length of a video under this name, however it is written. */
export const namesDuration = (kind: RelayKind, name: string): boolean =>
  kind === 'video' && DURATIONS.has(plainName(name).replace(/[^a-z0-9]/g, ''));

/**
 * The quantities of checked members as usage facts: the largest that any of their names gives,
 * since the vendor may read that one. `null`: one is there that the vendor could read differently,
 * so that prices that need it refuse the request.
 * @throws tasks.relay_request_invalid for less than one second
 */
export function readQuantities(members: Omit<Members, 'isForm'>): JsonObject {
  const { kind, values } = members;
  const count = mostResults(members);
  const lengths = Object.keys(values)
    .filter((name) => name === 'seconds' || namesDuration(kind, name))
    .flatMap((name) => readLength(name, values[name] ?? null));
  return {
    ...(lengths.length > 0 ? { seconds: lengths.includes(null) ? null : Math.max(...lengths.map(Number)) } : {}),
    ...(count > 1 || (values.n ?? null) !== null ? { n: count } : {}),
  };
}

/**
 * Below one second the vendor would deliver its minimum for nothing. Other names than `seconds` may
 * also tell the vendor to choose.
 */
function readLength(name: string, value: Json): (number | null)[] {
  if (value === null) return [];
  const isOwn = name === 'seconds';
  const isText = typeof value === 'string' && (isOwn ? QUANTITY : DURATION).test(value);
  if (!isText && typeof value !== 'number') return [null];
  const amount = Number(String(value).replace(/s$/, ''));
  if (amount >= 1 && amount <= MAX_QUANTITY) return [amount];
  if (isOwn) throw invalid(name, `must be a number from 1 to ${MAX_QUANTITY}`);
  return [null];
}

/** @throws tasks.relay_request_invalid for videos that the price does not count */
export function refuseUncounted(members: Omit<Members, 'isForm'>, factKeys: readonly string[]): void {
  if (members.kind !== 'video' || factKeys.includes('n')) return;
  const uncounted = readNumbers('count', members).find(([, count]) => count > 1);
  if (uncounted) throw invalid(uncounted[0], 'must be 1: send one request for each video');
}

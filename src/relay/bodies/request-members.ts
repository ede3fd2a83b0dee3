/** The members of relayed requests that the gateway reads: their rules, and what they ask for. */
import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { RelayKind } from '../../store/ports/index.ts';
import { relayErrors } from '../errors.ts';

/**
 * `text`: read elsewhere. `flag`: true or false. `count`: how many results, also as a text of
 * digits. `limit`: the most tokens of an answer; 0 and null set none. `quantity`: a number or its
 * text, else the price cannot read it. `options`: an object with the flag `include_usage`.
 */
type Rule = 'text' | 'flag' | 'count' | 'limit' | 'quantity' | 'options';

/** `lowers`: the kinds whose API has this limit. Vendors of the others may ignore it. */
type Member = { rule: Rule; kinds?: readonly RelayKind[]; lowers?: readonly RelayKind[] };

/** Members with further models, which some vendors take where the first one fails. */
const OTHER_MODELS = ['models', 'fallbacks', 'fallback_models'] as const;

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
  service_tier: { rule: 'text' },
  ...Object.fromEntries(OTHER_MODELS.map((name) => [name, { rule: 'text' } as const])),
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

/** What vendors charge a picture by, and its names in small letters and digits alone. */
const CHOICES = {
  size: ['size', 'imagesize', 'videosize', 'width', 'height'],
  quality: ['quality', 'imagequality', 'videoquality'],
  resolution: ['resolution', 'imageresolution', 'videoresolution', 'outputresolution'],
};
const CHOICE_BY_NAME: ReadonlyMap<string, string> = new Map(
  Object.entries(CHOICES).flatMap(([choice, names]) => names.map((name) => [name, choice] as const)),
);
const PICTURES: readonly RelayKind[] = ['image', 'image_edit', 'video'];

/** `5s` is a length of several vendors. */
const DURATION = /^\d{1,9}(\.\d{1,6})?s?$/;

/** A quantity as text, which OpenAI's videos API expects instead of a number. */
const QUANTITY = /^\d{1,9}(\.\d{1,6})?$/;
const DIGITS = /^\d{1,9}$/;
const MAX_QUANTITY = 999_999_999;

/** The members that the gateway reads from a kind of request. `spellings`: each by its letters. */
type Names = { all: readonly string[]; counts: string[]; limits: string[]; spellings: ReadonlyMap<string, string> };
const namesByKind = new Map<RelayKind, Names>();

/** The names of the members that the gateway reads from this kind of request. */
export const listNames = (kind: RelayKind): readonly string[] => findNames(kind).all;

function findNames(kind: RelayKind): Names {
  const known = namesByKind.get(kind);
  if (known) return known;
  const all = Object.keys(MEMBERS).filter((name) => MEMBERS[name]?.kinds?.includes(kind) ?? true);
  const withRule = (rule: Rule) => all.filter((name) => MEMBERS[name]?.rule === rule);
  const names = { all, counts: withRule('count'), limits: withRule('limit'), spellings: toSpellings(all) };
  namesByKind.set(kind, names);
  return names;
}

type Members = { kind: RelayKind; values: JsonObject; isForm: boolean };

/**
 * Checks the members that the gateway reads. The values of a form are texts.
 * @throws tasks.relay_request_invalid naming the member
 */
export function checkMembers({ kind, values, isForm }: Members): void {
  const { all, spellings } = findNames(kind);
  refuseOtherSpellings(values, spellings);
  for (const name of all) {
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
          throw invalid(name, `must be a whole number from 1 to ${MAX_QUANTITY}, not a string`);
        }
        break;
      case 'options':
        if (!isObject(value)) throw invalid(name, 'must be an object');
        refuseOtherSpellings(value as JsonObject, toSpellings([INCLUDE_USAGE]), `${name}.`);
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
export function normalizeMemberName(name: string): string {
  const end = name.indexOf('\0');
  const text = end === -1 ? name : name.slice(0, end);
  return text.length > MAX_NAME || /^[a-z0-9_]*$/.test(text) ? text : text.normalize('NFKC').toLowerCase().trim();
}

/** The letters and digits of a name: what `sampleCount` and `sample_count` have in common. */
const stripSeparators = (name: string): string => normalizeMemberName(name).replace(/[^a-z0-9]/g, '');

const toSpellings = (names: readonly string[]): ReadonlyMap<string, string> =>
  new Map(names.map((name) => [stripSeparators(name), name]));

function refuseOtherSpellings(values: JsonObject, spellings: Names['spellings'], prefix = ''): void {
  for (const name of Object.keys(values)) {
    const plain = spellings.get(stripSeparators(name));
    if (plain === undefined || plain === name) continue;
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

const readNumbers = (values: JsonObject, names: readonly string[]): { name: string; number: number }[] =>
  names.filter((name) => (values[name] ?? null) !== null).map((name) => ({ name, number: Number(values[name]) }));

/** The most results that checked members ask for. */
export const mostResults = (members: Omit<Members, 'isForm'>): number =>
  Math.max(1, ...readCounts(members).map(({ number }) => number), ...innerCounts(members));

const readCounts = ({ kind, values }: Omit<Members, 'isForm'>) => readNumbers(values, findNames(kind).counts);

const SERIES = 'sequential_image_generation';
/** Images of a series whose request does not bound it. */
const MOST_OF_SERIES = 15;

/** The most images that a series may have, of which vendors make one for each result. */
export function mostOfSeries({ kind, values }: Omit<Members, 'isForm'>): { name: string; images: number } {
  const { max_images: most, [SERIES]: mode, [`${SERIES}_options`]: options } = values;
  const own = kind === 'image' || kind === 'image_edit';
  const bounds = [most, isObject(options) ? options.max_images : undefined].map(Number).filter(isPositive);
  const unbounded = bounds.length === 0 && mode === 'auto' ? [MOST_OF_SERIES] : bounds;
  return { name: mode === 'auto' ? SERIES : 'max_images', images: own ? Math.max(1, ...unbounded) : 1 };
}
const isPositive = (count: number): boolean => Number.isSafeInteger(count) && count > 0;

/**
 * The largest limit that checked members name, for each result. `otherwise`: where none is named
 * that this API has, and in place of one that is 0. A name of another API only raises the limit.
 */
export function largestLimit({ kind, values }: Omit<Members, 'isForm'>, otherwise: number): number {
  const named = readNumbers(values, findNames(kind).limits);
  const isLimited = named.some(({ name }) => MEMBERS[name]?.lowers?.includes(kind));
  const limits = named.map(({ number }) => (number === 0 ? otherwise : number));
  return Math.max(...limits, ...(isLimited ? [] : [otherwise]), ...thoughtLimits(values));
}

/** Limits of thoughts, which some vendors do not count among the tokens of an answer. */
const thoughtLimits = ({ thinking_budget: own = null, thinking = null, reasoning = null }: JsonObject): number[] =>
  [own, isObject(thinking) ? thinking.budget_tokens : null, isObject(reasoning) ? reasoning.max_tokens : null].filter(
    (limit): limit is number => typeof limit === 'number' && isLimit(limit),
  );

/** Whether a vendor may read the length of a video under this name, however it is written. */
export const namesDuration = (kind: RelayKind, name: string): boolean =>
  kind === 'video' && DURATIONS.has(stripSeparators(lastName(name)));

/** What a vendor may read under this name to charge a picture by, however it is written. */
export const findChoice = (kind: RelayKind, name: string): string | undefined =>
  PICTURES.includes(kind) ? CHOICE_BY_NAME.get(stripSeparators(lastName(name))) : undefined;

/** The last name of a member that a form writes as `parameters[duration]`. */
const lastName = (name: string): string => name.split(/[[\]]+/).findLast((part) => part !== '') ?? '';

type Inner = [name: string, value: Json];

/**
 * The members at any depth, of a request for a video: vendors take some of its quantities in an
 * object of their own, such as `parameters`. They are added to one list, since lists or generators
 * for each level would take as many times as long as there are levels.
 */
function listInner(value: Json, found: Inner[] = []): Inner[] {
  if (Array.isArray(value)) for (const item of value) listInner(item, found);
  else if (isObject(value))
    for (const [name, inner] of Object.entries(value) as Inner[]) {
      found.push([name, inner]);
      listInner(inner, found);
    }
  return found;
}

/** Counts of results that stand deeper in a request for a video, or in a form as `a[n]`. */
function innerCounts({ kind, values }: Omit<Members, 'isForm'>): number[] {
  if (kind !== 'video') return [];
  const counts = new Set(findNames(kind).counts.map(stripSeparators));
  const inner = Object.entries(values).flatMap(([name, value]): Inner[] => [
    ...(name.endsWith(']') ? [[lastName(name), value ?? null] as Inner] : []),
    ...listInner(value ?? null),
  ]);
  return inner
    .filter(([name]) => counts.has(stripSeparators(name)))
    .map(([, count]) => (typeof count === 'string' && QUANTITY.test(count) ? Number(count) : count))
    .filter((count): count is number => typeof count === 'number' && count >= 1 && count <= MAX_QUANTITY);
}

/**
 * The quantities of checked members as usage facts: the largest that any of their names gives,
 * since the vendor may read that one. `null`: one is there that the vendor could read differently,
 * so that prices that need it refuse the request.
 * @throws tasks.relay_request_invalid for less than one second
 */
export function readQuantities(members: Omit<Members, 'isForm'>): JsonObject {
  const { kind, values } = members;
  const count = mostResults(members);
  const named = kind === 'video' ? listInner(values) : Object.entries(values);
  const lengths = named
    .filter(([name]) => name === 'seconds' || namesDuration(kind, name))
    .flatMap(([name, value]) => readLength(name, value ?? null));
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

/** Facts that grow with the results of a request, of the kinds that may have several. */
const COUNTING: Partial<Record<RelayKind, readonly string[]>> = {
  ...{ chat: ['n', 'output_tokens'], response: ['n', 'output_tokens'], video: ['n'] },
  ...{ image: ['n', 'images', 'output_tokens'], image_edit: ['n', 'images', 'output_tokens'] },
};

/**
 * Refuses what the vendor would charge for and the price does not read. `asked`: by the client
 * itself; what the channel adds is its operator's own.
 * @throws tasks.relay_request_invalid
 */
export function refuseUncounted(asked: Omit<Members, 'isForm'>, factKeys: readonly string[]): void {
  const { kind, values } = asked;
  const reads = (fact: string): boolean => factKeys.includes(fact);
  const counting = COUNTING[kind];
  if (counting && mostResults(asked) > 1 && !counting.some(reads)) {
    const { name } = readCounts(asked).find(({ number }) => number > 1) ?? { name: 'n' };
    throw invalid(name, 'must be 1: send one request for each result');
  }
  const series = mostOfSeries(asked);
  if (series.images > 1 && !reads('images') && !reads('output_tokens'))
    throw invalid(series.name, 'asks for a series, whose images the price of this model does not count');
  const other = OTHER_MODELS.find((name) => namesOther(values[name] ?? null, values.model ?? null));
  if (other !== undefined) throw invalid(other, 'names other models than the one that is billed');
  const tier = readTier(values);
  if (tier !== DEFAULT && !CHEAP_TIERS.has(tier) && !reads('service_tier'))
    throw invalid('service_tier', 'names a tier that the price of this model does not know');
  if (asksForMemory(values.tools ?? null))
    throw invalid('tools', `has a memory_limit other than "${USUAL_MEMORY}", which no price reads`);
}

/** OpenAI's larger containers cost up to 64 times as much. */
const USUAL_MEMORY = '1g';

/** Whether a tool runs in a container that costs more than usual. */
const asksForMemory = (tools: Json): boolean =>
  Array.isArray(tools) &&
  tools.some(
    (tool) =>
      isObject(tool) &&
      [tool.container, tool.environment].some(
        (place) => isObject(place) && (place.memory_limit ?? USUAL_MEMORY) !== USUAL_MEMORY,
      ),
  );

const namesOther = (value: Json, model: Json): boolean =>
  Array.isArray(value) ? value.some((item) => namesOther(item, model)) : value !== null && value !== model;

const DEFAULT = 'default';
/** Tiers that cost no more than without one. What `auto` means stands in the vendor's account. */
const CHEAP_TIERS: ReadonlySet<string> = new Set(['auto', 'flex', 'batch', 'standard', 'standard_only', 'on_demand']);

/** How urgently the vendor serves the request, which some of them charge for. */
export const readTier = ({ service_tier: tier = null }: JsonObject): string =>
  tier === null ? DEFAULT : readWord(tier);

/** What the vendor could read differently than the price. */
const UNKNOWN = 'unknown';

const readWord = (value: Json): string =>
  typeof value === 'string' && /^[\w.*:-]{1,40}$/.test(value) ? value.toLowerCase() : UNKNOWN;

/**
 * Those of size, quality and resolution that the price reads: `default` where the request names
 * none, `unknown` where the vendor could read it differently. `videos`: the facts of those that it
 * builds on, whose size the vendor may take instead.
 */
export function readChoices(
  { kind, values }: Omit<Members, 'isForm'>,
  { factKeys, videos }: { factKeys: readonly string[]; videos: readonly JsonObject[] },
): JsonObject {
  const read = Object.keys(CHOICES).filter((fact) => PICTURES.includes(kind) && factKeys.includes(fact));
  if (read.length === 0) return {};
  const named = listInner(values).filter(([, value]) => (value ?? null) !== null);
  return Object.fromEntries(
    read.map((fact) => {
      const words = new Set([
        ...named.filter(([name]) => findChoice(kind, name) === fact).map(([, value]) => readWord(value)),
        ...videos.map((facts) => readWord(facts[fact] ?? null)),
      ]);
      const [word = DEFAULT] = words;
      return [fact, words.size > 1 ? UNKNOWN : word];
    }),
  );
}

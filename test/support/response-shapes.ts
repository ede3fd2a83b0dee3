/**
 * What the types of OpenAI's client (openai 6, `resources/responses/responses.d.ts`) demand of
 * responses and of the events of a stream, checked on values. Each fault names its place.
 */
type Check = (value: unknown, at: string) => string[];

const of =
  (wanted: string, isRight: (value: unknown) => boolean): Check =>
  (value, at) =>
    isRight(value) ? [] : [`${at} must be ${wanted}: ${JSON.stringify(value)}`];

const text = of('a text', (value) => typeof value === 'string');
const count = of('a whole number', (value) => Number.isSafeInteger(value) && (value as number) >= 0);
const flag = of('true or false', (value) => typeof value === 'boolean');
const nothing = of('null', (value) => value === null);
const oneOf = (...values: unknown[]): Check => of(values.map(String).join(' or '), (value) => values.includes(value));
const within = (max: number): Check =>
  of(`0 to ${max}`, (value) => typeof value === 'number' && value >= 0 && value <= max);
const nullOr =
  (check: Check): Check =>
  (value, at) =>
    value === null ? [] : check(value, at);
const absentOr =
  (check: Check): Check =>
  (value, at) =>
    value === undefined ? [] : check(value, at);

const list =
  (check: Check): Check =>
  (value, at) =>
    Array.isArray(value) ? value.flatMap((item, i) => check(item, `${at}[${i}]`)) : [`${at} must be a list`];

const object =
  (members: Record<string, Check>): Check =>
  (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${at} must be an object`];
    return Object.entries(members).flatMap(([name, check]) =>
      check((value as Record<string, unknown>)[name], `${at}.${name}`),
    );
  };

const metadata: Check = (value, at) => {
  const entries = Object.entries(value ?? {});
  const wrong = entries.filter(([name, entry]) => name.length > 64 || typeof entry !== 'string' || entry.length > 512);
  return entries.length > 16 || wrong.length > 0 ? [`${at} breaks the limits of metadata`] : [];
};

const outputText = object({ type: oneOf('output_text'), text, annotations: list(() => []), logprobs: list(() => []) });
const message = object({
  id: text,
  type: oneOf('message'),
  role: oneOf('assistant'),
  status: oneOf('in_progress', 'completed', 'incomplete'),
  content: list(outputText),
});
/** OpenAI sends null while a response runs, though its types do not say so. */
const usage = nullOr(
  object({
    input_tokens: count,
    input_tokens_details: object({ cached_tokens: count }),
    output_tokens: count,
    output_tokens_details: object({ reasoning_tokens: count }),
    total_tokens: count,
  }),
);
const response = object({
  id: text,
  object: oneOf('response'),
  created_at: of('unix seconds', (value) => Number.isSafeInteger(value) && (value as number) > 1_600_000_000),
  status: oneOf('completed', 'failed', 'in_progress', 'cancelled', 'queued', 'incomplete'),
  error: nullOr(object({ type: oneOf('server_error'), code: oneOf('server_error'), message: text })),
  incomplete_details: nothing,
  instructions: nullOr(text),
  metadata,
  model: text,
  output: list(message),
  parallel_tool_calls: flag,
  temperature: nullOr(within(2)),
  tool_choice: oneOf('auto'),
  tools: list(() => []),
  top_p: nullOr(within(1)),
  usage,
  background: absentOr(nullOr(flag)),
  completed_at: absentOr(nullOr(count)),
});

const at = { output_index: count, content_index: count, item_id: text };
const EVENTS: Record<string, Record<string, Check>> = {
  'response.created': { response },
  'response.in_progress': { response },
  'response.completed': { response },
  'response.failed': { response },
  'response.incomplete': { response },
  'response.output_item.added': { output_index: count, item: message },
  'response.output_item.done': { output_index: count, item: message },
  'response.content_part.added': { ...at, part: outputText },
  'response.content_part.done': { ...at, part: outputText },
  'response.output_text.delta': { ...at, delta: text, logprobs: list(() => []) },
  'response.output_text.done': { ...at, text, logprobs: list(() => []) },
};

export const faultsOfResponse = (value: unknown): string[] => response(value, 'response');

/** Events have these members and no other. */
export function faultsOfEvent(value: unknown): string[] {
  const event = value as Record<string, unknown>;
  const members = EVENTS[String(event.type)];
  if (!members) return [`unknown event ${event.type}`];
  const known = { type: text, sequence_number: count, ...members };
  const strangers = Object.keys(event).filter((name) => !Object.hasOwn(known, name));
  return [...object(known)(event, String(event.type)), ...strangers.map((name) => `${event.type} has ${name}`)];
}

import { isObject, type Json } from '../../../kernel/index.ts';
import { cleanExchange } from '../../../plugins/author/index.ts';
import { type HookCall, pickPlace } from '../../../plugins/index.ts';
import { TASK_STATUSES } from '../../../store/ports/index.ts';

/** Limits that keep a call readable at a glance. */
const AT_A_GLANCE = { maxText: 80, maxItems: 5 };
const MAX_LINE = 400;

type Place = { line?: number; column?: number };
type Limits = typeof AT_A_GLANCE;

/** A copy with long texts and lists shortened. */
export function shorten(value: Json, limits: Limits = AT_A_GLANCE): Json {
  const { maxText, maxItems } = limits;
  if (typeof value === 'string') {
    const points = [...value];
    return points.length > maxText ? `${points.slice(0, maxText).join('')}… (${points.length} characters)` : value;
  }
  if (Array.isArray(value)) {
    const more = value.length - maxItems;
    const first = value.slice(0, maxItems).map((one) => shorten(one, limits));
    return [...first, ...(more > 0 ? [`… ${more} more`] : [])];
  }
  if (!isObject(value)) return value;
  const members = Object.entries(value as { [key: string]: Json });
  return Object.fromEntries(members.map(([key, one]) => [key, shorten(one, limits)]));
}

/** An argument or a result without credentials, with long texts and lists shortened. */
const shown = (value: Json): Json => shorten(cleanExchange(value));

function line(value: Json): string {
  const text = JSON.stringify(shown(value));
  return text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text;
}

const shownText = (text: string): string => String(cleanExchange(text));

/** A call for programs, shortened as for people. */
export const summarizeHookCall = ({ hook, args, outcome, console, ms }: HookCall) => ({
  event: 'hook',
  hook,
  ms: Math.round(ms * 100) / 100,
  args: args.map(shown),
  ...(outcome.ok
    ? { result: shown(outcome.value ?? null) }
    : { error: shownText(outcome.message), kind: outcome.kind, ...pickPlace(outcome) }),
  console: console.map(shownText),
});

/**
 * A status that the gateway does not know counts as a failed poll, which looks like a task that
 * does not end.
 */
function statusNotes(hook: string, value: Json | undefined): string[] {
  if (hook !== 'parseTaskResult' || !isObject(value)) return [];
  const { status } = value;
  if (status === 'UNKNOWN' || TASK_STATUSES.some((known) => known === status)) return [];
  const what = status === undefined ? 'a result without status' : `the status ${JSON.stringify(status)}`;
  return [`  note ${what} counts as a failed poll; known are ${TASK_STATUSES.join(', ')}, UNKNOWN`];
}

/**
 * A call for people: the hook, its arguments, its console output, its result. `find` gives the
 * place of a failure in the author's file.
 */
export function describeHookCall(
  { hook, args, outcome, console, ms }: HookCall,
  find: (place: Place) => string = () => '',
): string {
  return [
    `${hook}  ${ms.toFixed(1)} ms`,
    ...args.map((value) => `  in   ${line(value)}`),
    ...console.map((text) => `  log  ${shownText(text)}`),
    ...(outcome.ok
      ? [`  out  ${line(outcome.value ?? null)}`, ...statusNotes(hook, outcome.value)]
      : [`  FAIL ${shownText(outcome.message)} (${[outcome.kind, find(outcome)].filter(Boolean).join(' at ')})`]),
    '',
  ].join('\n');
}

import { isObject, type Json } from '../../kernel/index.ts';
import { cleanExchange, type HookCall } from '../../plugins/index.ts';

/** Limits that keep a call readable at a glance. */
const MAX_TEXT = 80;
const MAX_ITEMS = 5;
const MAX_LINE = 400;

function shorten(value: Json): Json {
  if (typeof value === 'string') {
    const points = [...value];
    return points.length > MAX_TEXT ? `${points.slice(0, MAX_TEXT).join('')}… (${points.length} characters)` : value;
  }
  if (Array.isArray(value)) {
    const more = value.length - MAX_ITEMS;
    return [...value.slice(0, MAX_ITEMS).map(shorten), ...(more > 0 ? [`… ${more} more`] : [])];
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value as { [key: string]: Json }).map(([key, one]) => [key, shorten(one)]));
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
    : { error: shownText(outcome.message), kind: outcome.kind }),
  console: console.map(shownText),
});

/** A call for people: the hook, its arguments, its console output, its result. */
export function describeHookCall({ hook, args, outcome, console, ms }: HookCall): string {
  return [
    `${hook}  ${ms.toFixed(1)} ms`,
    ...args.map((value) => `  in   ${line(value)}`),
    ...console.map((text) => `  log  ${shownText(text)}`),
    outcome.ok ? `  out  ${line(outcome.value ?? null)}` : `  FAIL ${shownText(outcome.message)} (${outcome.kind})`,
    '',
  ].join('\n');
}

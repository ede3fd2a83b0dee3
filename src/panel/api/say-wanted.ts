import type { TFunction } from 'i18next';

/** What a field takes, as the gateway says it: "a text of 1 to 8 characters that matches ^a". */
const KINDS: readonly (readonly [name: string, begin: string])[] = [
  ['text', 'a text'],
  ['whole', 'a whole number'],
  ['number', 'a number'],
  ['list', 'a list'],
  ['object', 'a JSON object'],
  ['value', 'a JSON value'],
];
const RANGE = /^ of (?:(at least|at most) )?(-?\d+)(?: to (-?\d+))?(?: \w+)?$/;
const MATCHES = ' that matches ';

/** Says it in the user's language. Values that are written out stay as they are. */
export function sayWanted(text: string, t: TFunction): string {
  const said = splitAlternatives(text).map((each) => sayOne(each, t));
  return new Intl.ListFormat(t('language.tag'), { type: 'disjunction' }).format(said);
}

/** "true or false" is one of them. */
const splitAlternatives = (text: string): string[] =>
  text
    .replaceAll('true or false', 'true|false')
    .split(/, | or /)
    .map((each) => each.replaceAll('true|false', 'true or false'));

function sayOne(text: string, t: TFunction): string {
  const say = t as (key: string, values: object) => string;
  if (text === 'true or false') return t('wanted.boolean');
  const at = text.indexOf(MATCHES);
  const what = at < 0 ? text : text.slice(0, at);
  const [name, begin] = KINDS.find(([, start]) => what.startsWith(start)) ?? [];
  if (name === undefined || begin === undefined) return text;
  const [all, bound, first, second] = RANGE.exec(what.slice(begin.length)) ?? [];
  const range = all === undefined ? '' : bound === 'at least' ? '.min' : bound === 'at most' ? '.max' : '.range';
  const values = { min: first, max: second ?? first };
  const said = say(`wanted.${name}${range}`, values);
  return at < 0 ? said : t('wanted.matches', { what: said, pattern: text.slice(at + MATCHES.length) });
}

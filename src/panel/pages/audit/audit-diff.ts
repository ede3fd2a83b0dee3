/** One line of a difference: undefined where there was, or is, nothing. */
export type Change = { field: string; before: string | undefined; after: string | undefined };

type Detail = Readonly<Record<string, unknown>>;
/** Unix seconds in words. */
type ShowTime = (seconds: number) => string;

/**
 * What an entry says has changed, by field; the fields of `before` and `after` that are the same
 * are left out, and `updated_at`: the entry itself says when. Empty for what was made or taken away
 * as a whole: then there is nothing to compare.
 */
export function listChanges({ before, after }: Detail, time: ShowTime): Change[] {
  if (before === undefined || after === undefined) return [];
  if (!isObject(before) && !isObject(after)) return [{ field: '', before: show(before), after: show(after) }];
  const [was, is] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
  return [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter((field) => field !== 'updated_at' && JSON.stringify(was[field]) !== JSON.stringify(is[field]))
    .map((field) => ({ field, before: showField(field, was[field], time), after: showField(field, is[field], time) }));
}

/** What an entry says besides, or of the one state that it knows. */
export function listFacts(detail: Detail, time: ShowTime): { field: string; value: string }[] {
  const { before, after, ...others } = detail;
  const only = before === undefined ? after : after === undefined ? before : undefined;
  const state = isObject(only) ? only : only === undefined ? {} : { '': only };
  return Object.entries({ ...state, ...others })
    .map(([field, value]) => ({ field, value: showField(field, value, time) ?? '' }))
    .filter(({ value }) => value !== '');
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Moments are Unix seconds in fields that end in `_at`; 0: never. */
function showField(field: string, value: unknown, time: ShowTime): string | undefined {
  if (typeof value !== 'number' || !field.endsWith('_at')) return show(value);
  return value === 0 ? undefined : time(value);
}

function show(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value.join(', ');
  return JSON.stringify(value);
}

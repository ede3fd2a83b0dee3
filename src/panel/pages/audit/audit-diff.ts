/** One changed field; undefined means no value. */
export type Change = { field: string; before: string | undefined; after: string | undefined };

type Detail = Readonly<Record<string, unknown>>;
/** Formats Unix seconds. */
type FormatTime = (seconds: number) => string;

/**
 * The fields that differ between `before` and `after`, without `updated_at`. Empty if something was
 * created or deleted as a whole: there is nothing to compare.
 */
export function listChanges({ before, after }: Detail, formatTime: FormatTime): Change[] {
  if (before === undefined || after === undefined) return [];
  if (!isObject(before) && !isObject(after))
    return [{ field: '', before: formatValue(before), after: formatValue(after) }];
  const [oldFields, newFields] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
  return [...new Set([...Object.keys(oldFields), ...Object.keys(newFields)])]
    .filter((field) => field !== 'updated_at' && JSON.stringify(oldFields[field]) !== JSON.stringify(newFields[field]))
    .map((field) => ({
      field,
      before: formatField(field, oldFields[field], formatTime),
      after: formatField(field, newFields[field], formatTime),
    }));
}

/**
 * The other fields of an entry, and those of its only state where one of `before` and `after` is
 * missing.
 */
export function listFacts(detail: Detail, formatTime: FormatTime): { field: string; value: string }[] {
  const { before, after, ...others } = detail;
  const onlyState = before === undefined ? after : after === undefined ? before : undefined;
  const state = isObject(onlyState) ? onlyState : onlyState === undefined ? {} : { '': onlyState };
  return Object.entries({ ...state, ...others })
    .map(([field, value]) => ({ field, value: formatField(field, value, formatTime) ?? '' }))
    .filter(({ value }) => value !== '');
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Fields that end in `_at` are Unix seconds; 0 means never. */
function formatField(field: string, value: unknown, formatTime: FormatTime): string | undefined {
  if (typeof value !== 'number' || !field.endsWith('_at')) return formatValue(value);
  return value === 0 ? undefined : formatTime(value);
}

function formatValue(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value.join(', ');
  return JSON.stringify(value);
}

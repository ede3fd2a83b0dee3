/** How many values of a label have series of their own, unless a metric says another number. */
export const MAX_LABEL_VALUES = 200;

/** The value that stands for all those that came after the limit was reached. */
const OTHER = 'other';

/** Lets the first `max` values through, so that a metric's series stay bounded. */
export function boundedLabel(max: number = MAX_LABEL_VALUES): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= max) return OTHER;
    known.add(value);
    return value;
  };
}

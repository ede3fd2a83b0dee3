/** A text whose parts in backticks are code, and names of codes and headers unless `isMarked`. */
export function WithCode({ text, isMarked = false }: { text: string; isMarked?: boolean }) {
  return text.split(isMarked ? marked : codes).map((part, at) => {
    const key = `${at} ${part}`;
    return at % 2 === 1 ? <code key={key}>{part.replaceAll('`', '')}</code> : part;
  });
}

const marked = /(`[^`]+`)/;

/** `code`, snake_case and Header-Names such as X-Callback-Url. */
const codes = /(`[^`]+`|\b[a-z]+(?:_[a-z0-9]+)+\b|\b[A-Z][a-z]*(?:-[A-Z][a-z]+)+\b)/;

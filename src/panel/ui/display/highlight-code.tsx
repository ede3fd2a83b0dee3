import type { ReactNode } from 'react';
import classes from './highlight-code.module.css';

/** A text, with the colon that makes it a name; the flag of a command; a number; a word. */
const token =
  /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`\n]*`)(\s*:)?|(?<![\w-])(--?[A-Za-z][\w-]*)|(?<!\w)(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?!\w)|(\.?[A-Za-z_$][\w$]*)/g;

/** Those of curl, Python and JavaScript: no program of the panel uses one of them as a name. */
const keywords = new Set(
  `curl import from as of def class function return if else for in while do is not and or const let
   new throw await async`.split(/\s+/),
);
const constants = new Set(['true', 'false', 'null', 'True', 'False', 'None']);

/** JSON or a program, with its texts, names, numbers and keywords in colours. */
export function highlightCode(text: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(token)) {
    const [whole, quoted, colon, flag, number, word = ''] = match;
    const kind = quoted
      ? colon === undefined
        ? classes.text
        : classes.name
      : flag
        ? classes.name
        : number || constants.has(word)
          ? classes.number
          : keywords.has(word) && classes.keyword;
    if (!kind) continue;
    const shown = quoted ?? whole;
    parts.push(
      text.slice(end, match.index),
      <span key={match.index} className={kind}>
        {shown}
      </span>,
    );
    end = match.index + shown.length;
  }
  return [...parts, text.slice(end)];
}

/** What a property or attribute refers to: the id of a part of the same file, as it is meant. */
export type Reference = { property: string; id: string };
/** A rule of a style sheet: whom it meets, and what it refers to. */
export type StyleRule = { selectors: string; references: Reference[] };

/** The property and attribute of dashed lines. */
export const DASHES = 'stroke-dasharray';
const NO_DASHES = /^(?:none|inherit|initial|unset|revert|[0., ]*)$/i;

/** Before an address without quotation marks. */
const BARE_URL = /url\(\s*(?!["'\s])/iy;
const URL_CONTENT = /url\(([^)]*)/gi;
/** Functions that load or draw something by other means than `url()`. */
const DRAWING_FUNCTION = /(?:^|[^\w-])((?:-\w+-)?(?:image-set|image|src|element|cross-fade|paint|canvas))\(/i;
/** In the name of a part of the file these would end it for one reader and not for another. */
const AMBIGUOUS = /[()"';]/;

/**
 * A style without its comments, as a browser reads it. Undefined: a text in it could be read in two
 * ways, so that it might hide a reference.
 */
export function readStyle(style: string): string | undefined {
  let read = '';
  for (let at = 0; at < style.length; ) {
    if (style.startsWith('/*', at)) {
      const end = style.indexOf('*/', at + 2);
      if (end === -1) return read;
      read += ' ';
      at = end + 2;
      continue;
    }
    const char = style.charAt(at);
    BARE_URL.lastIndex = at;
    const bare = BARE_URL.exec(style)?.[0];
    const opening = bare ?? (char === '"' || char === "'" ? char : undefined);
    if (opening === undefined) {
      read += char;
      at += 1;
      continue;
    }
    const end = style.indexOf(bare === undefined ? char : ')', at + opening.length);
    const content = style.slice(at + opening.length, end === -1 ? style.length : end);
    if (/[{}\n\r\f]/.test(content) || (content.trimStart().startsWith('#') && AMBIGUOUS.test(content)))
      return undefined;
    const next = end === -1 ? style.length : end + 1;
    read += style.slice(at, next);
    at = next;
  }
  return read;
}

/**
 * The rules of a read style sheet that refer to parts of the file. `decode` gives an id as it is
 * meant. What stands in no rule meets everything.
 */
export function readRules(sheet: string, decode: (id: string) => string): StyleRule[] {
  const rules: StyleRule[] = [];
  const open: { selectors: string; declarations: string }[] = [{ selectors: '*', declarations: '' }];
  const end = (): void => {
    const rule = open.pop();
    const references = rule ? readReferences(rule.declarations, decode) : [];
    if (rule && references.length > 0) rules.push({ selectors: rule.selectors, references });
  };
  let from = 0;
  for (let at = 0; at <= sheet.length; at += 1) {
    const char = sheet.charAt(at);
    if (char !== '' && char !== ';' && char !== '{' && char !== '}') continue;
    const text = sheet.slice(from, at);
    from = at + 1;
    const inner = open.at(-1);
    if (char === '{') open.push({ selectors: text.trim(), declarations: '' });
    else if (inner) inner.declarations += `${text};`;
    if (char === '}' && open.length > 1) end();
  }
  while (open.length > 0) end();
  return rules;
}

/** What declarations refer to, by property. */
export function readReferences(declarations: string, decode: (id: string) => string): Reference[] {
  return declarations.split(';').flatMap((declaration) => {
    const colon = declaration.indexOf(':');
    const property = declaration.slice(0, Math.max(0, colon)).trim().toLowerCase();
    const value = declaration.slice(colon + 1);
    return idsIn(value).map((id) => ({ property, id: decode(id) }));
  });
}

/** Whether a value of `stroke-dasharray` draws dashes. */
export const drawsDashes = (value: string): boolean => !NO_DASHES.test(value.trim());

/** Whether a read style has dashed lines, anywhere in it. */
export const hasDashes = (style: string): boolean =>
  style.split(/[;{}]/).some((declaration) => {
    const [property = '', ...value] = declaration.split(':');
    return property.trim().toLowerCase() === DASHES && drawsDashes(value.join(':'));
  });

/** The ids of the file's parts that a value refers to, as they are written. */
export const idsIn = (value: string): string[] =>
  [...value.matchAll(URL_CONTENT)].flatMap(([, content = '']) => {
    const [bare = '', quoted = ''] = content.trim().split(/["']/);
    const address = (bare === '' ? quoted : bare).trim();
    return address.startsWith('#') ? [address.slice(1)] : [];
  });

/** A function of a style that loads or draws something, if it has one. */
export const drawingFunctionIn = (style: string): string | undefined => DRAWING_FUNCTION.exec(style)?.[1];

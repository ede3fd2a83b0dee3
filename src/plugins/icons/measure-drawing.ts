/**
 * Refuses an icon that would keep browsers busy: a few lines of SVG can refer to each other so that
 * millions of elements are drawn.
 */

/** An element with what it refers to. */
export type DrawnElement = {
  name: string;
  ids: string[];
  classes: string[];
  references: Reference[];
  children: DrawnElement[];
  /** Characters of the lines that it draws, each of which could be a corner with a marker. */
  lineLength: number;
};

/** Far more than drawings need; browsers draw this many in milliseconds. */
export const MAX_DRAWN = 10_000;
const MAX_RULES = 1000;
/** Elements around each other, in references of references too. */
const MAX_OPEN = 1000;
/** What a browser draws apart before it uses it, in elements. */
const REFERENCE_COST = 20;
const GRADIENTS = new Set(['lineargradient', 'radialgradient']);
/** Count once for the element; all other properties are taken over by everything inside it. */
const OWN = new Set(['href', 'mask', '-webkit-mask', 'mask-image', '-webkit-mask-image', 'clip-path', 'filter']);
/** A name, classes or an id. What else a selector has, such as `*`, may meet anything. */
const SIMPLE_SELECTOR = /^(?:[\w-]+|(?=[.#]))(?:[.#][\w-]+)*$/;
const MARKS = /[.#][\w-]+/g;
/**
 * A rule such as `@media` inside another, a step of `@keyframes`, or characters that are white
 * space here and not in CSS.
 */
const UNREAD_SELECTOR = /@|(?:^|,)\s*(?:from|to)\s*(?:,|$)|[^\t\n\r -~]/i;

/** `circle`: a part of the file is drawn within itself. */
export type DrawingFault = { kind: 'too_much' } | { kind: 'circle'; id: string };

/** Ends the measurement at the first fault. */
class Fault extends Error {
  readonly fault: DrawingFault;

  constructor(fault: DrawingFault) {
    super(fault.kind);
    this.fault = fault;
  }
}

/**
 * Whether a browser would draw too many elements: those of the file and, for each reference to a
 * part of it, those of the part again. It counts never less than what is drawn, and may count more:
 * a rule of a style sheet counts for all elements that it could meet.
 */
export function measureDrawing(root: DrawnElement, rules: readonly StyleRule[]): DrawingFault | undefined {
  if (rules.length > MAX_RULES) return { kind: 'too_much' };
  try {
    return createMeasure(root, rules)(root) > MAX_DRAWN ? { kind: 'too_much' } : undefined;
  } catch (error) {
    if (error instanceof Fault) return error.fault;
    throw error;
  }
}

function createMeasure(root: DrawnElement, rules: readonly StyleRule[]): (element: DrawnElement) => number {
  const byId = new Map<string, DrawnElement[]>();
  let lineLength = 0;
  const note = (element: DrawnElement): void => {
    lineLength += element.lineLength;
    for (const id of element.ids) {
      const others = byId.get(id);
      if (others) others.push(element);
      else byId.set(id, [element]);
    }
    for (const child of element.children) note(child);
  };
  note(root);
  const styled = rules.map(({ selectors, references }) => ({ meets: meetsAny(selectors), references }));
  const costs = new Map<DrawnElement, number>();
  const open = new Set<DrawnElement>();
  /**
   * The most that an element with this id costs, and the part of it that is more than a gradient.
   */
  const ofIds = new Map<string, { any: number; drawn: number }>();

  function measureId(id: string): { any: number; drawn: number } {
    const known = ofIds.get(id);
    if (known) return known;
    const found = { any: 0, drawn: 0 };
    for (const target of byId.get(id) ?? []) {
      if (open.has(target)) throw new Fault({ kind: 'circle', id });
      const cost = measure(target);
      found.any = Math.max(found.any, cost);
      if (!GRADIENTS.has(target.name)) found.drawn = Math.max(found.drawn, REFERENCE_COST + cost);
    }
    ofIds.set(id, found);
    return found;
  }

  function measureReference({ property, id }: Reference): number {
    const { any, drawn } = measureId(id);
    if (property === 'href') return any;
    return property.startsWith('marker') ? drawn * Math.max(1, lineLength / 4) : drawn;
  }

  function measure(element: DrawnElement): number {
    const known = costs.get(element);
    if (known !== undefined) return known;
    if (open.size >= MAX_OPEN) throw new Fault({ kind: 'too_much' });
    open.add(element);
    let own = 1;
    let perDrawn = 1;
    const met = styled.filter(({ meets }) => meets(element)).flatMap(({ references }) => references);
    for (const reference of [...element.references, ...met]) {
      const cost = measureReference(reference);
      if (OWN.has(reference.property)) own += cost;
      else perDrawn += cost;
    }
    for (const child of element.children) own += measure(child);
    open.delete(element);
    if (own * perDrawn > MAX_DRAWN) throw new Fault({ kind: 'too_much' });
    costs.set(element, own * perDrawn);
    return own * perDrawn;
  }
  return measure;
}

/**
 * Whether one of the selectors could meet an element, by the name, classes and id after its last
 * combinator.
 */
function meetsAny(selectors: string): (element: DrawnElement) => boolean {
  if (UNREAD_SELECTOR.test(selectors)) return () => true;
  const each = selectors.split(',').map(
    (selector) =>
      selector
        .trim()
        .split(/[\s>+~]+/)
        .at(-1) ?? '',
  );
  if (!each.every((selector) => SIMPLE_SELECTOR.test(selector))) return () => true;
  const parts = each.map((selector) => ({
    name: /^[\w-]*/.exec(selector)?.[0] ?? '',
    marks: selector.match(MARKS) ?? [],
  }));
  return ({ name, ids, classes }) =>
    parts.some(
      (part) =>
        (part.name === '' || part.name.toLowerCase() === name) &&
        part.marks.every((mark) => (mark.startsWith('.') ? classes : ids).includes(mark.slice(1))),
    );
}

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

import type { Reference, StyleRule } from './read-style.ts';

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

/** Far more than drawings need; browsers draw so many in milliseconds. */
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
  /** The most that an element of an id costs, and what of it is more than a gradient. */
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

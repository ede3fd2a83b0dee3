/** Which drawings are accepted as icons of plugins: SVG that runs nothing and loads nothing. */
import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes';
import { err, ok, type Result, type Sentence, SentenceError, sentence, toSentence } from '../../kernel/index.ts';
import {
  DASHES,
  type DrawnElement,
  drawingFunctionIn,
  drawsDashes,
  hasDashes,
  idsIn,
  MAX_DRAWN,
  measureDrawing,
  type Reference,
  readReferences,
  readRules,
  readStyle,
  type StyleRule,
} from './measure-drawing.ts';

/**
 * Far more than drawings need. The parser walks all open elements to resolve a prefix, so its time
 * is depth times size.
 */
const MAX_DEPTH = 64;
const MAX_ATTRIBUTES = 128;
/**
 * `use` copies other elements. The number is limited, and nested copies are refused: otherwise a
 * small file could draw without end.
 */
const MAX_USES = 256;

const SVG = 'http://www.w3.org/2000/svg';
/**
 * Namespaces whose elements do something. Elements without a namespace draw nothing in a browser,
 * and other namespaces only mean something to the editor that wrote them.
 */
const ACTIVE_NAMESPACES = [
  'http://www.w3.org/1999/xhtml',
  'http://www.w3.org/1998/math/mathml',
  'http://www.w3.org/1999/xsl/transform',
  'http://www.w3.org/2001/xml-events',
  'http://www.mozilla.org/xbl',
  'http://www.mozilla.org/keymaster/gatekeeper/there.is.only.xul',
];
/**
 * Elements that run code, contain another document or are links. Refused with any prefix and in any
 * case.
 */
const ACTIVE_ELEMENTS = new Set(
  'script foreignobject a handler listener iframe frame object embed audio video canvas form base link meta'.split(' '),
);
const ANIMATIONS = new Set(['animate', 'set', 'animatemotion', 'animatetransform', 'animatecolor']);
/** Attributes whose value is a URL. */
const URL_ATTRIBUTES = new Set(['href', 'src', 'base', 'action', 'formaction', 'ping', 'data', 'codebase', 'classid']);

/** Attributes that may refer to a part of the file like the property of the same name. */
const PAINTS = new Set([
  'fill',
  'stroke',
  'mask',
  'clip-path',
  'filter',
  'cursor',
  'marker',
  'marker-start',
  'marker-mid',
  'marker-end',
]);

/** Aborts the parse at the first fault. */
class SvgFault extends SentenceError {}

const refuse = (fault: Sentence): never => {
  throw new SvgFault(fault);
};

/**
 * Checks that a drawing is well-formed SVG that runs nothing and loads nothing. The error is the
 * end of a sentence that begins with "The icon".
 */
export function checkSvg(bytes: Uint8Array): Result<null, Sentence> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return err(sentence('icon.svg_utf8'));
  }
  const parser = new SaxesParser({ xmlns: true, position: true });
  const drawing = createDrawing();
  parser.on('error', (error) => refuse(sentence('icon.svg_xml', { words: error.message.replace(/\.$/, '') })));
  parser.on('xmldecl', ({ version, encoding }) => {
    if (version !== '1.0') refuse(sentence('icon.svg_version'));
    if (encoding !== undefined && !['utf-8', 'us-ascii'].includes(encoding.toLowerCase()))
      refuse(sentence('icon.svg_encoding', { name: encoding }));
  });
  parser.on('doctype', () => refuse(sentence('icon.svg_doctype')));
  parser.on('processinginstruction', ({ target }) =>
    refuse(sentence('icon.svg_instruction', { name: `<?${target}?>` })),
  );
  parser.on('opentagstart', () => drawing.begin());
  // Called before namespaces of attributes are resolved, whose time grows with their number.
  parser.on('attribute', () => drawing.countAttribute());
  parser.on('opentag', (tag) => drawing.open(tag));
  parser.on('text', (data) => drawing.text(data));
  parser.on('cdata', (data) => drawing.text(data));
  parser.on('closetag', () => drawing.close());
  try {
    parser.write(text).close();
    drawing.end();
  } catch (error) {
    if (error instanceof SvgFault) return err(toSentence(error));
    throw error;
  }
  return ok(null);
}

/**
 * An id without white space. Browsers strip some kinds of it from some addresses; without any, no
 * reference misses the part that a browser would find.
 */
const spacelessId = (id: string): string => id.replace(/\s/g, '');

/** An id as a browser decodes it from the fragment of an address. */
function decodeId(fragment: string): string {
  try {
    return spacelessId(decodeURIComponent(fragment));
  } catch {
    return refuse(sentence('icon.svg_fragment', { name: fragment.trim() }));
  }
}

/**
 * Browsers draw up to a million dashes of one line, however short it is: four such lines closed a
 * page of Chromium.
 */
const DASHED = sentence('icon.svg_dashed', { name: DASHES });

/** What an attribute refers to in the file. */
function referencesIn(attribute: string, value: string): Reference[] {
  if (attribute === DASHES && drawsDashes(value)) refuse(DASHED);
  if (attribute === 'style') return readReferences(readAttributeStyle(value), decodeId);
  if (PAINTS.has(attribute))
    return idsIn(readAttributeStyle(value)).map((id) => ({ property: attribute, id: decodeId(id) }));
  const id = attribute === 'href' ? /^\s*#(.*)$/s.exec(value)?.[1] : undefined;
  return id === undefined ? [] : [{ property: attribute, id: decodeId(id) }];
}

/**
 * A style without comments. Refuses one that could be read in two ways, or that hides references.
 */
function readAttributeStyle(text: string): string {
  const style = readStyle(text);
  if (style === undefined) return refuse(sentence('icon.svg_style_text'));
  const drawn = drawingFunctionIn(style);
  if (drawn !== undefined) refuse(sentence('icon.svg_function', { name: drawn }));
  if (hasDashes(style)) refuse(DASHED);
  if (style.includes('--') && idsIn(style).length > 0) refuse(sentence('icon.svg_variables'));
  return style;
}

function createDrawing() {
  const stack: DrawnElement[] = [];
  const rules: StyleRule[] = [];
  let root: DrawnElement | undefined;
  let elements = 0;
  let attributes = 0;
  /** The text of the open style element, joined across comments and CDATA sections. */
  let style: string | undefined;
  /** Ids of elements that are copied, and of elements that contain a copy. */
  const copiedIds = new Set<string>();
  const copyingIds = new Set<string>();
  let uses = 0;

  function checkElement({ name, local, uri }: SaxesTagNS): void {
    const element = local.toLowerCase();
    if (stack.length === 0 && (local !== 'svg' || (uri !== SVG && uri !== '')))
      refuse(sentence('icon.svg_root', { uri: SVG }));
    if (ACTIVE_NAMESPACES.some((active) => uri.toLowerCase().startsWith(active)))
      refuse(sentence('icon.svg_foreign', { uri: `${uri} (<${name}>)` }));
    if (ACTIVE_ELEMENTS.has(element)) refuse(sentence('icon.svg_element', { name: `<${name}>` }));
    if (style !== undefined) refuse(sentence('icon.svg_style', { name: `<${name}>` }));
  }

  function checkAttribute(element: string, { name, prefix, local, value }: SaxesAttributeNS): void {
    if (prefix === 'xmlns' || name === 'xmlns') return;
    const attribute = local.toLowerCase();
    if (attribute.startsWith('on')) refuse(sentence('icon.svg_event', { name }));
    const place = `attribute ${name}`;
    const fault = URL_ATTRIBUTES.has(attribute)
      ? findUrlFault(value, place)
      : findStyleFault(value, { place, isStyle: attribute === 'style' });
    if (fault) refuse(fault);
    if (ANIMATIONS.has(element) && idsIn(value).length > 0)
      refuse(sentence('icon.svg_animate_references', { place: `attribute ${name}` }));
    if (ANIMATIONS.has(element) && attribute === 'attributename') {
      const target = foldUrl(value).replace(/^.*:/, '');
      if (URL_ATTRIBUTES.has(target) || target.startsWith('on') || ['style', 'class', 'id', DASHES].includes(target))
        refuse(sentence('icon.svg_animate', { name: value.trim() }));
    }
  }

  function readElement(name: string, attributesOf: readonly SaxesAttributeNS[]): DrawnElement {
    const element: DrawnElement = { name, ids: [], classes: [], references: [], children: [], lineLength: 0 };
    for (const attribute of attributesOf) {
      checkAttribute(name, attribute);
      const { local, value } = attribute;
      const references = referencesIn(local.toLowerCase(), value);
      if (name === 'image' && references.length > 0 && local === 'href') refuse(sentence('icon.svg_image_itself'));
      if (name === 'use') for (const { property, id } of references) if (property === 'href') copiedIds.add(id);
      element.references.push(...references);
      if (local === 'id') element.ids.push(spacelessId(value));
      if (local === 'class') element.classes.push(...value.split(/\s+/));
      if (local === 'd' || local === 'points') element.lineLength += value.length;
    }
    return element;
  }

  return {
    begin(): void {
      attributes = 0;
      if (stack.length >= MAX_DEPTH) refuse(sentence('icon.svg_depth', { max: MAX_DEPTH }));
    },
    countAttribute(): void {
      attributes += 1;
      if (attributes > MAX_ATTRIBUTES) refuse(sentence('icon.svg_attributes', { max: MAX_ATTRIBUTES }));
    },
    open(tag: SaxesTagNS): void {
      checkElement(tag);
      elements += 1;
      if (elements > MAX_DRAWN) refuse(sentence('icon.svg_elements', { max: MAX_DRAWN }));
      const name = tag.local.toLowerCase();
      const element = readElement(name, Object.values(tag.attributes));
      root ??= element;
      stack.at(-1)?.children.push(element);
      stack.push(element);
      if (name === 'use') {
        uses += 1;
        if (uses > MAX_USES) refuse(sentence('icon.svg_uses', { max: MAX_USES }));
        for (const { ids } of stack) for (const id of ids) copyingIds.add(id);
      }
      if (name === 'style') style = '';
    },
    text(data: string): void {
      if (style !== undefined) style += data;
    },
    close(): void {
      stack.pop();
      if (style === undefined) return;
      const fault = findStyleFault(style, { place: 'style', isStyle: true });
      if (fault) refuse(fault);
      rules.push(...readRules(readAttributeStyle(style), decodeId));
      style = undefined;
    },
    end(): void {
      for (const id of copiedIds) if (copyingIds.has(id)) refuse(sentence('icon.svg_use_nested', { name: `#${id}` }));
      const fault = root && measureDrawing(root, rules);
      if (fault?.kind === 'circle') refuse(sentence('icon.svg_circle', { name: fault.id }));
      if (fault) refuse(sentence('icon.svg_drawn', { max: MAX_DRAWN }));
    },
  };
}

/** Embedded raster images and fonts. Any other `data:` may be a document that runs code. */
const INERT_DATA = /^data:(image\/(png|jpeg|gif|webp)|font\/[a-z0-9-]+|application\/font-[a-z]+);base64,[a-z0-9+/=]*$/;
const URL_CALL = /url\(["']?([^"')]*)/g;
const FORBIDDEN = ['javascript:', 'vbscript:', 'http://', 'https://', '@import'];

/** A URL as browsers read it: without white space, control and format characters; lower case. */
const foldUrl = (text: string): string => text.replace(/[\s\p{Cc}\p{Cf}]/gu, '').toLowerCase();

/**
 * What is wrong with a URL: only parts of the same file (`#id`) and embedded images are allowed.
 */
function findUrlFault(value: string, place: string): Sentence | undefined {
  const url = foldUrl(value);
  const word = FORBIDDEN.find((forbidden) => url.includes(forbidden));
  if (word) return sentence('icon.svg_word_in', { name: word, place });
  if (url === '' || url.startsWith('#') || INERT_DATA.test(url)) return undefined;
  return sentence('icon.svg_outside', { place });
}

/**
 * What is wrong with a style, or with the value of another attribute: a word that loads or runs
 * something, or a URL outside the file. `isStyle`: the text is a style sheet. Other attributes are
 * checked like one if they call a function, as `fill="url(#g)"` does.
 */
function findStyleFault(value: string, { place, isStyle }: { place: string; isStyle: boolean }): Sentence | undefined {
  const text = foldUrl(value);
  const word = FORBIDDEN.find((forbidden) => text.includes(forbidden));
  if (word) return sentence('icon.svg_word_in', { name: word, place });
  if (text.startsWith('data:') && !INERT_DATA.test(text)) return sentence('icon.svg_data', { place });
  if (!isStyle && !text.includes('(')) return undefined;
  if (text.includes('\\')) return sentence('icon.svg_escapes', { place });
  for (const [, url = ''] of text.matchAll(URL_CALL)) {
    const fault = findUrlFault(url, place);
    if (fault) return fault;
  }
  // Other functions take URLs as plain texts.
  return text.replace(URL_CALL, '').includes('//') ? sentence('icon.svg_outside', { place }) : undefined;
}

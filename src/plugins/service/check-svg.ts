import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes';
import { err, ok, type Result } from '../../kernel/index.ts';
import { findStyleFault, findUrlFault, foldUrl } from './check-svg-text.ts';

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

/** Aborts the parse at the first fault. */
class SvgFault extends Error {}

const refuse = (fault: string): never => {
  throw new SvgFault(fault);
};

/**
 * Checks that a drawing is well-formed SVG that runs nothing and loads nothing. The error is the
 * end of a sentence that begins with "The icon".
 */
export function checkSvg(bytes: Uint8Array): Result<null, string> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return err('is not an SVG image in UTF-8');
  }
  const parser = new SaxesParser({ xmlns: true, position: true });
  const drawing = createDrawing();
  parser.on('error', (error) => refuse(`is not well-formed XML: ${error.message.replace(/\.$/, '')}`));
  parser.on('xmldecl', ({ version, encoding }) => {
    if (version !== '1.0') refuse('must be XML 1.0');
    if (encoding !== undefined && !['utf-8', 'us-ascii'].includes(encoding.toLowerCase()))
      refuse(`declares the encoding ${encoding}; only UTF-8 is allowed`);
  });
  parser.on('doctype', () => refuse('must not have a DOCTYPE or entities'));
  parser.on('processinginstruction', ({ target }) => refuse(`must not have a processing instruction (<?${target}?>)`));
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
    if (error instanceof SvgFault) return err(error.message);
    throw error;
  }
  return ok(null);
}

type OpenElement = { name: string; id: string | undefined };

function createDrawing() {
  const stack: OpenElement[] = [];
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
      refuse(`must have the root element svg of ${SVG}`);
    if (ACTIVE_NAMESPACES.some((active) => uri.toLowerCase().startsWith(active)))
      refuse(`must not have elements of ${uri} (<${name}>)`);
    if (ACTIVE_ELEMENTS.has(element)) refuse(`must not have the element <${name}>`);
    if (style !== undefined) refuse(`must have nothing but text in style (<${name}>)`);
  }

  function checkAttribute(element: string, { name, prefix, local, value }: SaxesAttributeNS): void {
    if (prefix === 'xmlns' || name === 'xmlns') return;
    const attribute = local.toLowerCase();
    if (attribute.startsWith('on')) refuse(`must not have the event attribute ${name}`);
    const fault = URL_ATTRIBUTES.has(attribute) ? findUrlFault(value) : findStyleFault(value, attribute === 'style');
    if (fault) refuse(`${fault} (attribute ${name})`);
    if (ANIMATIONS.has(element) && attribute === 'attributename') {
      const target = foldUrl(value).replace(/^.*:/, '');
      if (URL_ATTRIBUTES.has(target) || target.startsWith('on') || target === 'style')
        refuse(`must not animate ${value.trim()}`);
    }
  }

  return {
    begin(): void {
      attributes = 0;
      if (stack.length >= MAX_DEPTH) refuse(`nests more than ${MAX_DEPTH} elements deep`);
    },
    countAttribute(): void {
      attributes += 1;
      if (attributes > MAX_ATTRIBUTES) refuse(`has more than ${MAX_ATTRIBUTES} attributes on one element`);
    },
    open(tag: SaxesTagNS): void {
      checkElement(tag);
      const name = tag.local.toLowerCase();
      let id: string | undefined;
      for (const attribute of Object.values(tag.attributes)) {
        checkAttribute(name, attribute);
        if (attribute.local === 'id') id = attribute.value;
        if (name === 'use' && attribute.local === 'href') copiedIds.add(attribute.value.trim().slice(1));
      }
      stack.push({ name, id });
      if (name === 'use') {
        uses += 1;
        if (uses > MAX_USES) refuse(`has more than ${MAX_USES} use elements`);
        for (const outer of stack) if (outer.id !== undefined) copyingIds.add(outer.id);
      }
      if (name === 'style') style = '';
    },
    text(data: string): void {
      if (style !== undefined) style += data;
    },
    close(): void {
      stack.pop();
      if (style === undefined) return;
      const fault = findStyleFault(style, true);
      if (fault) refuse(`${fault} (style)`);
      style = undefined;
    },
    end(): void {
      for (const id of copiedIds)
        if (copyingIds.has(id)) refuse(`must not use an element that contains a use element (#${id})`);
    },
  };
}

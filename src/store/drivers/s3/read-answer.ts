import { SaxesParser } from 'saxes';

/** An element of an answer in XML; namespaces and attributes mean nothing there. */
export type XmlElement = { name: string; text: string; children: XmlElement[] };

/** Answers of S3 have four levels. */
const MAX_DEPTH = 16;

/** The outermost element; undefined when it is not well-formed XML. */
export function readXml(text: string): XmlElement | undefined {
  const root: XmlElement = { name: '', text: '', children: [] };
  const open = [root];
  const parser = new SaxesParser();
  const refuse = (): never => {
    throw new Error('not an answer of S3');
  };
  parser.on('error', refuse);
  parser.on('doctype', refuse);
  parser.on('opentag', ({ name }) => {
    const element: XmlElement = { name, text: '', children: [] };
    if (open.length > MAX_DEPTH) refuse();
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on('closetag', () => open.pop());
  parser.on('text', (data) => {
    const element = open.at(-1);
    if (element) element.text += data;
  });
  try {
    parser.write(text).close();
    return root.children[0];
  } catch {
    return undefined;
  }
}

export const childrenOf = (element: XmlElement | undefined, name: string): XmlElement[] =>
  element?.children.filter((child) => child.name === name) ?? [];

/** The text of the first child of that name; empty without one. */
export const textOf = (element: XmlElement | undefined, name: string): string =>
  childrenOf(element, name)[0]?.text.trim() ?? '';

/** The server's name for an error; empty when the text is no error of S3. */
export function errorCode(element: XmlElement | undefined): string {
  if (element?.name !== 'Error') return '';
  const code = textOf(element, 'Code');
  // It is shown and logged.
  return /^[A-Za-z0-9.]{1,64}$/.test(code) ? code : 'Unknown';
}

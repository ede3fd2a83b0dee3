/**
 * The declaration file read as text: which members a type has, which are optional, and the words
 * that a union allows.
 */

export type Member = { optional: boolean; type: string };
export type Members = Map<string, Member>;

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');

/** The text between an opening brace and the one that closes it. */
function block(text: string, from: number): string {
  const start = text.indexOf('{', from) + 1;
  let depth = 1;
  let end = start;
  for (; depth > 0 && end < text.length; end++) {
    if (text[end] === '{') depth++;
    else if (text[end] === '}') depth--;
  }
  return text.slice(start, end - 1);
}

/** The parts between separators outside brackets. */
function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = [''];
  let depth = 0;
  for (const char of text.replaceAll('=>', '__')) {
    if ('{([<'.includes(char)) depth++;
    if ('})]>'.includes(char)) depth--;
    if (char === separator && depth === 0) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

export function membersFor(body: string): Members {
  const members: Members = new Map();
  for (const part of splitOutside(body, ';')) {
    const [, name = '', optional, type = ''] = /^(?:readonly )?(\w+)(\?)?\s*(?::|(?=\())\s*([\s\S]+)$/.exec(part) ?? [];
    if (name !== '') members.set(name, { optional: optional === '?', type: type.trim() });
  }
  return members;
}

export function readDeclarations(source: string) {
  const text = withoutComments(source);

  function alias(name: string): string {
    const start = text.search(new RegExp(`export type ${name} =`));
    if (start < 0) throw new Error(`no type ${name}`);
    return splitOutside(text.slice(text.indexOf('=', start) + 1), ';')[0] ?? '';
  }

  /** All members of an interface, inherited ones too. */
  function members(name: string): Members {
    const found = new RegExp(`export interface ${name}(?: extends ([\\w, ]+))? \\{`).exec(text);
    if (!found) throw new Error(`no interface ${name}`);
    const inherited = (found[1] ?? '').split(',').flatMap((base) => (base.trim() ? [...members(base.trim())] : []));
    return new Map([...inherited, ...membersFor(block(text, found.index))]);
  }

  /** The object types of a union, one after another; other parts of the union are left out. */
  const alternatives = (name: string): Members[] =>
    splitOutside(alias(name), '|').flatMap((part) => (part.startsWith('{') ? [membersFor(block(part, 0))] : []));

  /**
   * The words that a type is a union of, `undefined` when it is none; names of types are followed.
   */
  function words(type: string): string[] | undefined {
    const parts = splitOutside(type, '|').flatMap((part): (string | undefined)[] => {
      const literal = /^'([^']*)'$/.exec(part)?.[1];
      if (literal !== undefined) return [literal];
      if (!/^[A-Z]\w+$/.test(part) || !text.includes(`export type ${part} =`)) return [undefined];
      return words(alias(part)) ?? [undefined];
    });
    const known = parts.filter((part) => part !== undefined);
    return known.length === parts.length && parts.length > 0 ? known : undefined;
  }

  return { alias, members, alternatives, words };
}

export type CodeLanguage = 'curl' | 'python' | 'javascript';

type CodeRequest = {
  url: string;
  body: Readonly<Record<string, unknown>>;
  apiKey: string;
  /** The member of the answer that is printed: the task's id, or the images. */
  result?: 'id' | 'data';
};

/** Stands for a key that the panel does not know: keys are shown once, when they are made. */
export const keyPlaceholder = 'YOUR_API_KEY';

/** Complete programs that send the request. */
export const codeGenerators: Readonly<Record<CodeLanguage, (request: CodeRequest) => string>> = {
  curl: ({ url, body, apiKey }) =>
    [
      `curl ${quoteForShell(url)} \\`,
      `  -H ${quoteForShell(`Authorization: Bearer ${apiKey}`)} \\`,
      `  -H 'Content-Type: application/json' \\`,
      `  --data-raw ${quoteForShell(JSON.stringify(body, null, 2))}`,
    ].join('\n'),

  python: ({ url, body, apiKey, result = 'id' }) =>
    [
      'import json',
      'import urllib.request',
      '',
      `body = ${toLiteral(body, pythonSyntax)}`,
      'request = urllib.request.Request(',
      `    ${JSON.stringify(url)},`,
      '    data=json.dumps(body).encode(),',
      `    headers={"Authorization": "Bearer ${apiKey}", "Content-Type": "application/json"},`,
      ')',
      'with urllib.request.urlopen(request) as response:',
      `    ${toName(result)} = json.load(response)`,
      `${pythonSyntax.print}(${toName(result)}["${result}"])`,
    ].join('\n'),

  javascript: ({ url, body, apiKey, result = 'id' }) =>
    [
      `const body = ${toLiteral(body, javascriptSyntax)};`,
      `const response = await fetch(${JSON.stringify(url)}, {`,
      "  method: 'POST',",
      `  headers: { Authorization: 'Bearer ${apiKey}', 'Content-Type': 'application/json' },`,
      '  body: JSON.stringify(body),',
      '});',
      `const ${toName(result)} = await response.json();`,
      `${javascriptSyntax.print}(${toName(result)}.${result});`,
    ].join('\n'),
};

const toName = (result: 'id' | 'data'): string => (result === 'id' ? 'task' : 'images');

/**
 * Inside single quotes a shell expands nothing; a single quote itself is escaped outside of them.
 */
const quoteForShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

type LanguageSyntax = {
  true: string;
  false: string;
  null: string;
  print: string;
  /** Indentation of one level. */
  indent: string;
  key(name: string): string;
};

const pythonSyntax: LanguageSyntax = {
  true: 'True',
  false: 'False',
  null: 'None',
  print: 'print',
  indent: '    ',
  key: (name) => JSON.stringify(name),
};
/** In an object literal a plain `__proto__` sets the prototype. */
const javascriptSyntax: LanguageSyntax = {
  true: 'true',
  false: 'false',
  null: 'null',
  print: 'console.log',
  indent: '  ',
  key: (name) => (name === '__proto__' ? '["__proto__"]' : JSON.stringify(name)),
};

/**
 * Renders a JSON value as a literal over several lines. JSON strings and numbers are valid in both
 * languages.
 */
function toLiteral(value: unknown, syntax: LanguageSyntax, indent = ''): string {
  if (value === null || value === undefined) return syntax.null;
  if (typeof value === 'boolean') return value ? syntax.true : syntax.false;
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = indent + syntax.indent;
  const parts = Array.isArray(value)
    ? value.map((child: unknown) => toLiteral(child, syntax, inner))
    : Object.entries(value).map(([name, child]) => `${syntax.key(name)}: ${toLiteral(child, syntax, inner)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return parts.length === 0 ? `${open}${close}` : `${open}\n${inner}${parts.join(`,\n${inner}`)},\n${indent}${close}`;
}

export type CodeLanguage = 'curl' | 'python' | 'javascript';

/** Proper names, the same in every language of the panel. */
export const codeLanguages: Readonly<Record<CodeLanguage, string>> = {
  ...{ curl: 'curl', python: 'Python', javascript: 'JavaScript' },
};

/**
 * What a program does with the answer: it prints the task's id or the images, prints all of it or
 * its lines as they come, stores its bytes, or prints its headers.
 */
type CodeResult = 'id' | 'data' | 'json' | 'lines' | 'file' | 'headers';

export type CodeRequest = {
  url: string;
  /** Default: POST. */
  method?: string;
  body?: Readonly<Record<string, unknown>>;
  /** Fields of a form, sent instead of `body`. `@name` is a file of that name. */
  form?: Readonly<Record<string, string>>;
  /** Headers besides those for the key and the body. */
  headers?: Readonly<Record<string, string>>;
  /** Empty: the request needs none. */
  apiKey: string;
  result?: CodeResult;
};

/** Stands for a key that the panel does not know: keys are shown once, when they are made. */
export const keyPlaceholder = 'YOUR_API_KEY';

/** Complete programs that send the request. Those in Python need a package for forms alone. */
export const codeGenerators: Readonly<Record<CodeLanguage, (request: CodeRequest) => string>> = {
  curl(request) {
    const { url, method = 'POST', body, form, result = 'id' } = request;
    const isImplied = method === 'GET' || (method === 'POST' && (body ?? form) !== undefined);
    const flags =
      result === 'headers' ? ' -I' : `${result === 'lines' ? ' -N' : ''}${isImplied ? '' : ` -X ${method}`}`;
    return [
      `curl${flags} ${quoteForShell(url)}`,
      ...Object.entries(listHeaders(request)).map(([name, value]) => `-H ${quoteForShell(`${name}: ${value}`)}`),
      ...Object.entries(form ?? {}).map(([name, value]) => `-F ${quoteForShell(`${name}=${value}`)}`),
      ...(body === undefined
        ? []
        : [`--data-raw ${quoteForShell(JSON.stringify(body, null, 2).replaceAll('\n', '\n  '))}`]),
      ...(result === 'file' ? ['-o result'] : []),
    ].join(' \\\n  ');
  },

  python(request) {
    const { url, method = 'POST', body, form, result = 'id' } = request;
    const sent = listHeaders(request);
    const headers = Object.keys(sent).length === 0 ? [] : [`    headers=${writeInline(sent)},`];
    if (form !== undefined) {
      const fields = Object.entries(form).map(([name, value]) => {
        const part = isFile(value)
          ? `open(${JSON.stringify(value.slice(1))}, "rb")`
          : `(None, ${JSON.stringify(value)})`;
        return `        ${JSON.stringify(name)}: ${part},`;
      });
      return [
        'import requests',
        '',
        'response = requests.post(',
        `    ${JSON.stringify(url)},`,
        ...headers,
        ...['    files={', ...fields, '    },', ')', 'print(response.json())'],
      ].join('\n');
    }
    const needsJson = body !== undefined || result === 'id' || result === 'data' || result === 'json';
    const isImplied = method === (body === undefined ? 'GET' : 'POST');
    return [
      ...(needsJson ? ['import json'] : []),
      'import urllib.request',
      '',
      ...(body === undefined ? [] : [`body = ${toLiteral(body, pythonSyntax)}`]),
      'request = urllib.request.Request(',
      `    ${JSON.stringify(url)},`,
      ...(body === undefined ? [] : ['    data=json.dumps(body).encode(),']),
      ...headers,
      ...(isImplied ? [] : [`    method="${method}",`]),
      ')',
      ...pythonAnswers[result],
    ].join('\n');
  },

  javascript(request) {
    const { url, method = 'POST', body, form, result = 'id' } = request;
    const files = Object.values(form ?? {}).some(isFile);
    const fields = Object.entries(form ?? {}).map(([name, value]) => {
      const part = isFile(value)
        ? `await openAsBlob(${quote(value.slice(1))}), ${quote(value.slice(1))}`
        : quote(value);
      return `body.set(${quote(name)}, ${part});`;
    });
    const headers = listHeaders(request);
    const options = [
      ...(method === 'GET' ? [] : [`  method: '${method}',`]),
      ...(Object.keys(headers).length === 0 ? [] : [`  headers: ${writeObject(headers)},`]),
      ...(form === undefined ? [] : ['  body,']),
      ...(body === undefined ? [] : ['  body: JSON.stringify(body),']),
    ];
    return [
      ...(files ? ["import { openAsBlob } from 'node:fs';", ''] : []),
      ...(result === 'file' ? ["import { writeFile } from 'node:fs/promises';", ''] : []),
      ...(form === undefined ? [] : ['const body = new FormData();', ...fields]),
      ...(body === undefined ? [] : [`const body = ${toLiteral(body, javascriptSyntax)};`]),
      ...(options.length === 0
        ? [`const response = await fetch(${JSON.stringify(url)});`]
        : [`const response = await fetch(${JSON.stringify(url)}, {`, ...options, '});']),
      ...javascriptAnswers[result],
    ].join('\n');
  },
};

const pythonAnswers: Readonly<Record<CodeResult, readonly string[]>> = {
  id: ['with urllib.request.urlopen(request) as response:', '    task = json.load(response)', 'print(task["id"])'],
  data: [
    'with urllib.request.urlopen(request) as response:',
    '    images = json.load(response)',
    'print(images["data"])',
  ],
  json: ['with urllib.request.urlopen(request) as response:', '    print(json.load(response))'],
  lines: [
    'with urllib.request.urlopen(request) as response:',
    '    for line in response:',
    '        print(line.decode(), end="")',
  ],
  file: [
    'with urllib.request.urlopen(request) as response, open("result", "wb") as file:',
    '    file.write(response.read())',
  ],
  headers: ['with urllib.request.urlopen(request) as response:', '    print(response.headers)'],
};

/** What programs in JavaScript print with; the panel itself never does. */
export const print = 'console.log';

const javascriptAnswers: Readonly<Record<CodeResult, readonly string[]>> = {
  id: ['const task = await response.json();', `${print}(task.id);`],
  data: ['const images = await response.json();', `${print}(images.data);`],
  json: [`${print}(await response.json());`],
  lines: [`for await (const text of response.body.pipeThrough(new TextDecoderStream())) ${print}(text);`],
  file: ["await writeFile('result', Buffer.from(await response.arrayBuffer()));"],
  headers: [`${print}(response.headers);`],
};

const isFile = (value: string): boolean => value.startsWith('@');

const listHeaders = ({ apiKey, headers, body }: CodeRequest): Readonly<Record<string, string>> => ({
  ...(apiKey === '' ? {} : { Authorization: `Bearer ${apiKey}` }),
  ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  ...headers,
});

/** An object of texts on one line, as Python writes it. */
const writeInline = (values: Readonly<Record<string, string>>): string =>
  `{${Object.entries(values)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(', ')}}`;

/** An object of texts on one line, as JavaScript writes it. */
const writeObject = (values: Readonly<Record<string, string>>): string =>
  `{ ${Object.entries(values)
    .map(([name, value]) => `${/^\w+$/.test(name) ? name : quote(name)}: ${quote(value)}`)
    .join(', ')} }`;

/** In single quotes, where that needs no escape. */
const quote = (text: string): string => (/['\\\n\u2028]/.test(text) ? JSON.stringify(text) : `'${text}'`);

/**
 * Inside single quotes a shell expands nothing; a single quote itself is escaped outside of them.
 */
const quoteForShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

type LanguageSyntax = {
  true: string;
  false: string;
  null: string;
  /** Indentation of one level. */
  indent: string;
  key(name: string): string;
};

const pythonSyntax: LanguageSyntax = {
  true: 'True',
  false: 'False',
  null: 'None',
  indent: '    ',
  key: (name) => JSON.stringify(name),
};
/** In an object literal a plain `__proto__` sets the prototype. */
const javascriptSyntax: LanguageSyntax = {
  true: 'true',
  false: 'false',
  null: 'null',
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

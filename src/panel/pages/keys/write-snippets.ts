/** What a first request needs. `body` is sent as JSON. */
export type SnippetRequest = { url: string; apiKey: string; body: Readonly<Record<string, unknown>> };

export type Snippet = { language: string; text: string };

/** The same request for three places to send it from. Languages have the names that their users call them by. */
export const writeSnippets = (request: SnippetRequest): readonly Snippet[] => [
  { language: 'curl', text: writeCurl(request) },
  { language: 'Python', text: writePython(request) },
  { language: 'JavaScript', text: writeJavaScript(request) },
];

function writeCurl({ url, apiKey, body }: SnippetRequest): string {
  // Within single quotes a shell takes everything but a single quote.
  const data = JSON.stringify(body, null, 2).replaceAll("'", `'\\''`);
  return [
    `curl ${url} \\`,
    `  -H 'Authorization: Bearer ${apiKey}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${data}'`,
  ].join('\n');
}

function writePython({ url, apiKey, body }: SnippetRequest): string {
  return `import requests

response = requests.post(
    ${JSON.stringify(url)},
    headers={"Authorization": ${JSON.stringify(`Bearer ${apiKey}`)}},
    json=${indent(pythonLiteral(body))},
)
response.raise_for_status()
print(response.json()["id"])`;
}

function writeJavaScript({ url, apiKey, body }: SnippetRequest): string {
  return `const response = await fetch(${JSON.stringify(url)}, {
  method: 'POST',
  headers: {
    Authorization: ${JSON.stringify(`Bearer ${apiKey}`)},
    'Content-Type': 'application/json',
  },
  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}),
});
const task = await response.json();
console.log(task.id);`;
}

const indent = (text: string): string => text.replaceAll('\n', '\n    ');

/** JSON text is Python's too, but for these three words where they stand for values. */
function pythonLiteral(value: unknown, depth = 0): string {
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (value === null || value === undefined) return 'None';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = '    '.repeat(depth + 1);
  const lines = Array.isArray(value)
    ? value.map((item) => `${inner}${pythonLiteral(item, depth + 1)},`)
    : Object.entries(value).map(
        ([name, item]) => `${inner}${JSON.stringify(name)}: ${pythonLiteral(item, depth + 1)},`,
      );
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join('\n')}\n${'    '.repeat(depth)}${close}`;
}

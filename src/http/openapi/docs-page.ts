import { isObject, randomToken } from '../../kernel/index.ts';
import type { OpenApiDocument, Operation } from './types.ts';

const ACCESS_LABEL: Record<NonNullable<Operation['x-access']>, string> = {
  public: 'public',
  user: 'signed in',
  session: 'browser session',
  admin: 'administrator',
  root: 'root',
  apiKey: 'API key',
  apiKeyOrCapability: 'API key or signed link',
  refreshCookie: 'refresh cookie',
  operator: 'metrics token',
};

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --soft: color-mix(in srgb, currentColor 60%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 2rem 1rem 6rem; }
h1 { margin: 0; } h2 { margin: 2.5rem 0 .5rem; font-size: 1.1rem; }
p { margin: .5rem 0; max-width: 46rem; } .soft { color: var(--soft); }
details { border-top: 1px solid var(--line); } summary { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: .6rem 0; cursor: pointer; }
summary::marker { content: ''; } code, pre { font: .875rem/1.5 ui-monospace, monospace; }
.method { font-weight: 700; min-width: 4.5rem; } .access { margin-left: auto; font-size: .8rem; color: var(--soft); }
table { border-collapse: collapse; font-size: .875rem; } th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-top: 1px solid var(--line); }
pre { overflow-x: auto; padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; }
`;

/** The API reference as one page that loads nothing: no script, no font, no image. */
export function renderDocs(document: OpenApiDocument): { html: string; contentSecurityPolicy: string } {
  const nonce = randomToken(16);
  const groups = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const tag = operation.tags?.[0] ?? 'Other';
      groups.set(tag, [...(groups.get(tag) ?? []), renderOperation(method, path, operation)]);
    }
  }
  const sections = [...groups].map(([tag, rows]) => `<section><h2>${escapeHtml(tag)}</h2>${rows.join('')}</section>`);
  const intro = document.info.description.split('\n\n').map((text) => `<p>${escapeHtml(text)}</p>`);
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(document.info.title)} API</title>
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(document.info.title)} API</h1>
<p class="soft">Version ${escapeHtml(document.info.version)} · <a href="/api/openapi.json">openapi.json</a></p>
${intro.join('\n')}
${sections.join('\n')}
${renderCodes(document['x-codes'])}
</main>
</body>
</html>
`;
  return {
    html,
    contentSecurityPolicy: `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}

function renderOperation(method: string, path: string, operation: Operation): string {
  const parts = [
    describePart('Parameters', operation.parameters && listParameters(operation.parameters)),
    describePart('Body', operation.requestBody && jsonSchemaOf(operation.requestBody)),
  ].join('');
  const access = operation['x-access'];
  return `<details><summary><code class="method">${escapeHtml(method.toUpperCase())}</code><code>${escapeHtml(path)}</code><span>${escapeHtml(
    operation.summary ?? '',
  )}</span><span class="access">${access ? ACCESS_LABEL[access] : ''}</span></summary>${
    parts || '<p class="soft">No parameters, no body.</p>'
  }</details>`;
}

function renderCodes(codes: OpenApiDocument['x-codes']): string {
  const rows = codes.map(
    ({ panel, openai, status, message }) =>
      `<tr><td>${status}</td><td><code>${escapeHtml(panel)}</code></td><td><code>${escapeHtml(openai)}</code></td><td>${escapeHtml(message)}</td></tr>`,
  );
  return `<section><h2>Codes</h2><table><thead><tr><th>Status</th><th>/api</th><th>/v1</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></section>`;
}

function describePart(title: string, value: unknown): string {
  if (value === undefined || (isObject(value) && Object.keys(value).length === 0)) return '';
  return `<p>${title}</p><pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`;
}

/** The schema of a body. */
function jsonSchemaOf(body: unknown): unknown {
  const { content } = body as { content?: Record<string, { schema?: unknown }> };
  return content?.['application/json']?.schema ?? body;
}

/** `{ "id (path)": {schema} }`: what a reader needs to know of the parameters. */
const listParameters = (parameters: unknown): unknown =>
  Array.isArray(parameters)
    ? Object.fromEntries(
        parameters.map((parameter: { name: string; in: string; required?: boolean; schema?: unknown }) => [
          `${parameter.name} (${parameter.in}${parameter.required ? '' : ', optional'})`,
          parameter.schema ?? {},
        ]),
      )
    : parameters;

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);

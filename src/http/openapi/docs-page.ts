import { createHash } from 'node:crypto';
import { isObject } from '../../kernel/index.ts';
import { escapeHtml, exampleOf, renderParameters, renderSchema } from './docs-schema.ts';
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

/** Colours are the panel's. */
const STYLE = `
:root { color-scheme: light dark; --page: #fbfaf7; --raised: #ffffff; --text: #222523; --soft: #5c5c56; --line: #e8e6df; --brand: #0b784d; }
@media (prefers-color-scheme: dark) { :root { --page: #121917; --raised: #18211e; --text: #e3e8e6; --soft: #b4bebb; --line: #2b3633; --brand: #35c98a; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { font: 15px/1.55 system-ui, -apple-system, 'Segoe UI', 'PingFang SC', 'Noto Sans CJK SC', 'Microsoft YaHei', sans-serif; margin: 0; background: var(--page); color: var(--text); }
a { color: var(--brand); text-underline-offset: .2em; } :focus-visible { outline: 2px solid var(--brand); outline-offset: 2px; }
.frame { display: grid; grid-template-columns: 13rem minmax(0, 60rem); gap: 3rem; justify-content: center; padding: 2rem 1.25rem 6rem; }
nav { position: sticky; top: 2rem; align-self: start; max-height: calc(100vh - 4rem); overflow-y: auto; font-size: .875rem; }
nav ul { list-style: none; margin: 1rem 0 0; padding: 0; } nav li a { display: block; padding: .2rem 0; color: var(--soft); text-decoration: none; } nav li a:hover { color: var(--text); }
h1 { margin: 0; font-size: 1.75rem; letter-spacing: -.02em; } h2 { margin: 2.75rem 0 .75rem; font-size: 1.15rem; } h3 { margin: 1rem 0 .35rem; font-size: .8rem; color: var(--soft); }
p { margin: .5rem 0; max-width: 46rem; } .soft { color: var(--soft); }
details { background: var(--raised); border: 1px solid var(--line); border-radius: .5rem; margin: .4rem 0; padding: 0 1rem; } details[open] { padding-bottom: 1rem; }
summary { display: flex; flex-wrap: wrap; align-items: baseline; gap: .1rem .9rem; padding: .6rem 0; cursor: pointer; list-style: none; } summary::-webkit-details-marker { display: none; }
code, pre { font: .8125rem/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.method { font-weight: 700; min-width: 3.6rem; color: var(--brand); } .access { margin-left: auto; font-size: .8rem; color: var(--soft); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .875rem; } th, td { text-align: left; vertical-align: top; padding: .4rem 1rem .4rem 0; border-top: 1px solid var(--line); } td:first-child { width: 15rem; min-width: 11rem; }
pre { overflow-x: auto; margin: .35rem 0; padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--page); white-space: pre; overflow-wrap: normal; }
@media (max-width: 60rem) { .frame { grid-template-columns: minmax(0, 1fr); gap: 1.5rem; padding-top: 1.25rem; } nav { position: static; max-height: none; } nav ul { display: flex; flex-wrap: wrap; gap: 0 1rem; } .access { margin-left: 0; } td:first-child { width: auto; min-width: 7rem; } }
`;

/**
 * The API reference as one page that loads nothing: no script, no font, no image. The same document
 * always gives the same page.
 */
export function renderDocs(document: OpenApiDocument): { html: string; contentSecurityPolicy: string } {
  const groups = new Map<string, string[]>(document.tags.map(({ name }) => [name, []]));
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const tag = operation.tags?.[0] ?? 'Other';
      groups.set(tag, [...(groups.get(tag) ?? []), renderOperation(method, path, operation)]);
    }
  }
  const sections = [...groups]
    .filter(([, rows]) => rows.length > 0)
    .map(([title, rows]) => ({ title, body: rows.join('') }));
  sections.push({ title: 'Objects', body: renderObjects(document.components.schemas) });
  sections.push({ title: 'Codes', body: renderCodes(document['x-codes']) });
  const title = `${escapeHtml(document.info.title)} API`;
  const intro = document.info.description.split('\n\n').map((text) => `<p>${escapeHtml(text)}</p>`);
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<div class="frame">
<nav aria-label="Sections">
<a href="/">← Panel</a>
<ul>${sections.map((section) => `<li><a href="#${anchor(section.title)}">${escapeHtml(section.title)}</a></li>`).join('')}</ul>
</nav>
<main>
<h1>${title}</h1>
<p class="soft">Version ${escapeHtml(document.info.version)} · <a href="/api/openapi.json">openapi.json</a></p>
${intro.join('\n')}
<p>In the examples, <code>$TASKGATE</code> is the address of this gateway and <code>$KEY</code> an API key.</p>
${sections.map((section) => `<section id="${anchor(section.title)}"><h2>${escapeHtml(section.title)}</h2>${section.body}</section>`).join('\n')}
</main>
</div>
</body>
</html>
`;
  const digest = createHash('sha256').update(STYLE).digest('base64');
  return {
    html,
    contentSecurityPolicy: `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}

const anchor = (title: string): string => title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

function renderOperation(method: string, path: string, operation: Operation): string {
  const body = contentOf(operation.requestBody);
  const parts = [
    operation.description ? `<p>${escapeHtml(operation.description)}</p>` : '',
    part('Example', renderExample({ method, path, operation })),
    part('Parameters', Array.isArray(operation.parameters) ? renderParameters(operation.parameters) : ''),
    ...body.map(({ type, schema }) => part(`Body, ${type}`, renderSchema(schema))),
    ...Object.entries(operation.responses ?? {}).map(([status, response]) => renderResponse(status, response)),
  ].join('');
  const access = operation['x-access'];
  return `<details><summary><code class="method">${escapeHtml(method.toUpperCase())}</code><code>${escapeHtml(path)}</code><span>${escapeHtml(
    operation.summary ?? '',
  )}</span><span class="access">${access ? ACCESS_LABEL[access] : ''}</span></summary>${parts}</details>`;
}

/** A command for the routes that API keys open; the others need a session's token. */
function renderExample({ method, path, operation }: { method: string; path: string; operation: Operation }): string {
  if (operation['x-access'] !== 'apiKey') return '';
  const lines = [`curl "$TASKGATE${path}"`, '-H "Authorization: Bearer $KEY"'];
  if (method !== 'get' && method !== 'post') lines[0] = `curl -X ${method.toUpperCase()} "$TASKGATE${path}"`;
  const [body] = contentOf(operation.requestBody);
  if (body?.type === 'application/json') {
    lines.push('--json', `'${JSON.stringify(exampleOf(body.schema))}'`);
    lines.splice(-2, 2, lines.slice(-2).join(' '));
  } else if (body) {
    for (const [name, value] of Object.entries(exampleOf(body.schema) as object)) lines.push(`-F '${name}=${value}'`);
  } else if (method === 'post') lines.splice(1, 0, '-X POST');
  return `<pre>${escapeHtml(lines.join(' \\\n  '))}</pre>`;
}

function renderResponse(status: string, response: unknown): string {
  if (!isObject(response) || status === 'default') return '';
  const description = typeof response.description === 'string' ? `<p>${escapeHtml(response.description)}</p>` : '';
  const contents = contentOf(response).map(({ type, schema }) =>
    type === 'application/json' ? renderSchema(schema) : `<p><code>${escapeHtml(type)}</code></p>`,
  );
  return part(`Answer ${status}`, description + contents.join(''));
}

const contentOf = (holder: unknown): { type: string; schema: unknown }[] =>
  isObject(holder) && isObject(holder.content)
    ? Object.entries(holder.content).map(([type, media]) => ({
        type,
        schema: isObject(media) ? media.schema : undefined,
      }))
    : [];

const renderObjects = (schemas: unknown): string =>
  Object.entries(isObject(schemas) ? schemas : {})
    .map(([name, schema]) => {
      const about = isObject(schema) && typeof schema.description === 'string' ? schema.description : '';
      return `<details id="object-${escapeHtml(name)}" open><summary><code>${escapeHtml(name)}</code><span>${escapeHtml(
        about,
      )}</span></summary>${renderSchema(schema)}</details>`;
    })
    .join('');

function renderCodes(codes: OpenApiDocument['x-codes']): string {
  const rows = codes.map(
    ({ panel, openai, status, message }) =>
      `<tr><td>${status} <code>${escapeHtml(openai)}</code></td><td><code>${escapeHtml(panel)}</code></td><td>${escapeHtml(message)}</td></tr>`,
  );
  return `<div class="wide"><table><thead><tr><th>On /v1</th><th>On /api</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

const part = (title: string, html: string): string => (html === '' ? '' : `<h3>${escapeHtml(title)}</h3>${html}`);

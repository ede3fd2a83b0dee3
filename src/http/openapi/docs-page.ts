import { createHash } from 'node:crypto';
import { isObject } from '../../kernel/index.ts';
import { embedScript } from '../panel-files/embed-script.ts' with { type: 'macro' };
import { escapeHtml, makeExample, renderParameters, renderSchema } from './docs-schema.ts';
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

/** The panel's font, where the panel was built; `url` is the path of its file. */
const fontFace = (url: string): string =>
  url === ''
    ? ''
    : `@font-face { font-family: 'Instrument Sans Variable'; src: url(${url}) format('woff2'); font-weight: 400 700; font-display: swap; }`;

/** What is the gateway's own on the page: its name, and the path of the panel's font or nothing. */
type Looks = { gatewayName: string; fontUrl: string };

/**
 * The API reference as one page that loads nothing but the panel's font: no file of a script, no
 * image. It can be read without its script. The same document always gives the same page.
 */
export function renderDocs(
  document: OpenApiDocument,
  { gatewayName, fontUrl }: Looks,
): { html: string; contentSecurityPolicy: string } {
  const style = `${fontFace(fontUrl)}${DOCS_STYLE}`;
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
  const title = `${escapeHtml(gatewayName)} API`;
  const intro = document.info.description.split('\n\n').map((text) => `<p>${escapeHtml(text)}</p>`);
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<div class="frame">
<nav aria-label="Sections">
<a href="/" target="_top">← Panel</a>
<div class="tools" hidden><input id="search" type="search" placeholder="Search (/)" aria-label="Search" autocomplete="off"></div>
<ul>${sections.map((section) => `<li><a href="#${anchor(section.title)}">${escapeHtml(section.title)}</a></li>`).join('')}</ul>
</nav>
<main>
<h1>${title}</h1>
<p class="soft">Version ${escapeHtml(document.info.version)} · <a href="/api/openapi.json">openapi.json</a></p>
${intro.join('\n')}
<p id="static">In the examples, <code>$TASKGATE</code> is the address of this gateway, <code>$KEY</code> an API key and <code>$TOKEN</code> an access token.</p>
<div class="tools" hidden>
<label>API key, or an access token for /api<input id="key" type="password" autocomplete="off" placeholder="sk-…"></label>
<label>Model<input id="model" list="models" autocomplete="off"></label><datalist id="models"></datalist>
<label>Language of the examples<select id="language"><option value="curl">curl</option><option value="python">Python</option><option value="javascript">JavaScript</option></select></label>
</div>
<p id="nothing" hidden>Nothing has these words.</p>
${sections.map((section) => `<section id="${anchor(section.title)}"><h2>${escapeHtml(section.title)}</h2>${section.body}</section>`).join('\n')}
</main>
</div>
<script type="module">${DOCS_SCRIPT}</script>
</body>
</html>
`;
  return {
    html,
    contentSecurityPolicy: `default-src 'none'; script-src ${hashSource(DOCS_SCRIPT)}; style-src ${hashSource(style)}; ${fontUrl === '' ? '' : "font-src 'self'; "}connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`,
  };
}

/** For a content security policy. */
const hashSource = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const anchor = (title: string): string => title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

function renderOperation(method: string, path: string, operation: Operation): string {
  const body = listContents(operation.requestBody);
  const parts = [
    operation.description ? `<p>${escapeHtml(operation.description)}</p>` : '',
    part('Example', renderExample({ method, path, operation })),
    part('Parameters', Array.isArray(operation.parameters) ? renderParameters(operation.parameters) : ''),
    ...body.map(({ type, schema }) => part(`Body, ${type}`, renderSchema(schema))),
    ...Object.entries(operation.responses ?? {}).map(([status, response]) => renderResponse(status, response)),
  ].join('');
  const access = operation['x-access'];
  return `<details id="${escapeHtml(operation.operationId ?? '')}"${renderData({ method, path, operation })}><summary><code class="method">${escapeHtml(method.toUpperCase())}</code><code>${escapeHtml(path)}</code><span>${escapeHtml(
    operation.summary ?? '',
  )}</span><span class="access">${access ? ACCESS_LABEL[access] : ''}</span></summary>${parts}</details>`;
}

type Described = { method: string; path: string; operation: Operation };

/** What stands for the reader's secret in an example; empty where none is needed. */
function findCredential({ 'x-access': access = 'public' }: Operation): string {
  if (access === 'public' || access === 'refreshCookie') return '';
  return access === 'apiKey' || access === 'apiKeyOrCapability' ? '$KEY' : '$TOKEN';
}

/** The example that the page's script begins with. */
function renderData({ method, path, operation }: Described): string {
  const [body] = listContents(operation.requestBody);
  const fields = (Array.isArray(operation.parameters) ? operation.parameters : []).map(({ in: place, name }) => ({
    in: place,
    name,
  }));
  const data = {
    ...{ method: method.toUpperCase(), path, auth: findCredential(operation), fields: JSON.stringify(fields) },
    body: body?.type === 'application/json' ? JSON.stringify(makeExample(body.schema)) : '',
  };
  return Object.entries(data)
    .map(([name, value]) => ` data-${name}="${escapeHtml(value)}"`)
    .join('');
}

/** A command; the page's script writes it in other languages, but for forms. */
function renderExample({ method, path, operation }: Described): string {
  const secret = findCredential(operation);
  const lines = [`curl "$TASKGATE${path}"`, ...(secret ? [`-H "Authorization: Bearer ${secret}"`] : [])];
  if (method === 'head') lines[0] = `curl -I "$TASKGATE${path}"`;
  else if (method !== 'get' && method !== 'post') lines[0] = `curl -X ${method.toUpperCase()} "$TASKGATE${path}"`;
  const [body] = listContents(operation.requestBody);
  if (body?.type === 'application/json') lines.push(`--json '${JSON.stringify(makeExample(body.schema))}'`);
  else if (body)
    for (const [name, value] of Object.entries(makeExample(body.schema) as object)) lines.push(`-F '${name}=${value}'`);
  else if (method === 'post') lines.splice(1, 0, '-X POST');
  const isForm = body !== undefined && body.type !== 'application/json';
  return `<pre tabindex="0"${isForm ? '' : ' class="example"'}>${escapeHtml(lines.join(' \\\n  '))}</pre>`;
}

function renderResponse(status: string, response: unknown): string {
  if (!isObject(response) || status === 'default') return '';
  const description = typeof response.description === 'string' ? `<p>${escapeHtml(response.description)}</p>` : '';
  const contents = listContents(response).map(({ type, schema }) =>
    type === 'application/json' ? renderSchema(schema) : `<p><code>${escapeHtml(type)}</code></p>`,
  );
  return part(`Answer ${status}`, description + contents.join(''));
}

const listContents = (holder: unknown): { type: string; schema: unknown }[] =>
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
      `<tr class="code"><td>${status} <code>${escapeHtml(openai)}</code></td><td><code>${escapeHtml(panel)}</code></td><td>${escapeHtml(message)}</td></tr>`,
  );
  return `<div class="wide"><table><thead><tr><th>On /v1</th><th>On /api</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

const part = (title: string, html: string): string => (html === '' ? '' : `<h3>${escapeHtml(title)}</h3>${html}`);

const LIGHT =
  'color-scheme: light; --page: #fbfaf7; --raised: #ffffff; --text: #222523; --soft: #5c5c56; --line: #e8e6df; --brand: #0b784d;';
const DARK =
  'color-scheme: dark; --page: #121917; --raised: #18211e; --text: #e3e8e6; --soft: #b4bebb; --line: #2b3633; --brand: #35c98a;';
const scheme = (selector: string, colours: string): string => `${selector} { ${colours} }`;

/** Colours and fonts are the panel's. */
export const DOCS_STYLE = `
${scheme(':root', LIGHT)} ${scheme(':root[data-scheme=light]', LIGHT)}
@media (prefers-color-scheme: dark) { ${scheme(':root:not([data-scheme])', DARK)} } ${scheme(':root[data-scheme=dark]', DARK)}
[hidden] { display: none !important; }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { font: 15px/1.55 'Instrument Sans Variable', system-ui, -apple-system, 'Segoe UI', 'PingFang SC', 'Noto Sans CJK SC', 'Microsoft YaHei', sans-serif; margin: 0; background: var(--page); color: var(--text); }
a { color: var(--brand); text-underline-offset: .2em; } :focus-visible { outline: 2px solid var(--brand); outline-offset: 2px; }
.frame { display: grid; grid-template-columns: 13rem minmax(0, 60rem); gap: 3rem; justify-content: center; padding: 2rem 1.25rem 6rem; }
nav { position: sticky; top: 2rem; align-self: start; max-height: calc(100vh - 4rem); overflow-y: auto; font-size: .875rem; }
nav ul { list-style: none; margin: 1rem 0 0; padding: 0; } nav li a { display: block; padding: .2rem 0; color: var(--soft); text-decoration: none; } nav li a:hover { color: var(--text); }
h1, h2, h3 { font-weight: 600; } h1 { margin: 0; font-size: 1.75rem; letter-spacing: -.02em; } h2 { margin: 2.75rem 0 .75rem; font-size: 1.15rem; } h3 { margin: 1rem 0 .35rem; font-size: .8rem; color: var(--soft); }
p { margin: .5rem 0; max-width: 46rem; } .soft { color: var(--soft); }
details { background: var(--raised); border: 1px solid var(--line); border-radius: .5rem; margin: .4rem 0; padding: 0 1rem; } details[open] { padding-bottom: 1rem; }
summary { display: flex; flex-wrap: wrap; align-items: baseline; gap: .1rem .9rem; padding: .6rem 0; cursor: pointer; list-style: none; } summary::-webkit-details-marker { display: none; }
code, pre { font: .8125rem/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.method { font-weight: 700; min-width: 3.6rem; color: var(--brand); } .access { margin-left: auto; font-size: .8rem; color: var(--soft); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .875rem; } th, td { text-align: left; vertical-align: top; padding: .4rem 1rem .4rem 0; border-top: 1px solid var(--line); } td:first-child { width: 15rem; min-width: 11rem; }
input, select, textarea, button { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--line); border-radius: .4rem; padding: .35rem .6rem; min-width: 0; }
button { background: var(--brand); border-color: var(--brand); color: var(--page); font-weight: 600; cursor: pointer; padding-inline: 1rem; } button:disabled { opacity: .6; }
textarea { font: .8125rem/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; width: 100%; resize: vertical; }
.tools { display: flex; flex-wrap: wrap; gap: .75rem 1rem; margin: 1.25rem 0 0; } .tools label { display: grid; gap: .2rem; font-size: .8rem; color: var(--soft); flex: 1 1 12rem; } .tools input, .tools select { font-size: .9375rem; color: var(--text); background: var(--raised); }
.try { display: grid; gap: .5rem; justify-items: start; } .try label { display: grid; grid-template-columns: 10rem minmax(0, 24rem); gap: .75rem; align-items: center; width: 100%; } .try + div pre { max-height: 28rem; }
nav #search { width: 100%; margin-top: 1rem; background: var(--raised); }
pre { overflow-x: auto; margin: .35rem 0; padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--page); white-space: pre; overflow-wrap: normal; }
@media (max-width: 60rem) { .frame { grid-template-columns: minmax(0, 1fr); gap: 1.5rem; padding-top: 1.25rem; } nav { position: static; max-height: none; } nav ul { display: flex; flex-wrap: wrap; gap: 0 1rem; } .access { margin-left: 0; } td:first-child { width: auto; min-width: 7rem; } }
`;

/** What the API reference runs in a browser. */
export const DOCS_SCRIPT = embedScript('reference/reference.ts');

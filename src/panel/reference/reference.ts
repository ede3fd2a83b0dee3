/**
 * What the API reference does in a browser: it finds operations, writes their examples in three
 * languages with the reader's key and model, and sends requests. The key stays in this page.
 */
type Field = { in: 'path' | 'query' | 'header'; name: string };
type Call = { method: string; url: string; headers: Record<string, string>; body: string | null };

const find = <T extends Element = HTMLElement>(selector: string, within: ParentNode = document): T => {
  const found = within.querySelector<T>(selector);
  if (!found) throw new Error(selector);
  return found;
};
const make = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  members: Partial<HTMLElementTagNameMap[Name]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] => {
  const element = Object.assign(document.createElement(name), members);
  element.append(...children);
  return element;
};

const key = find<HTMLInputElement>('#key');
const model = find<HTMLInputElement>('#model');
const language = find<HTMLSelectElement>('#language');
const search = find<HTMLInputElement>('#search');
const operations = [...document.querySelectorAll<HTMLDetailsElement>('details[data-method]')];

// In the panel's frame, the panel is around this page already.
if (window.self !== window.top) find('nav > a').remove();

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** Downloads are bytes; all other answers are read as JSON. */
const isFile = ({ url }: Call): boolean => /\/(?:content|speech)(?:\?|$)/.test(url);
const CURL: Record<string, string> = { GET: 'curl', HEAD: 'curl -I' };

const WRITERS: Record<string, (call: Call) => string> = {
  curl(call) {
    const { method, url, headers, body } = call;
    const program = CURL[method] ?? (method === 'POST' && body ? 'curl' : `curl -X ${method}`);
    const lines = [`${program} ${quote(url)}`];
    for (const [name, value] of Object.entries(headers))
      if (!body || name !== 'Content-Type') lines.push(`-H ${quote(`${name}: ${value}`)}`);
    if (body) lines.push(`--json ${quote(body)}`);
    if (isFile(call) && method !== 'HEAD') lines.push('-o content');
    return lines.join(' \\\n  ');
  },
  python(call) {
    const { method, url, headers, body } = call;
    const { 'Content-Type': _, ...others } = headers;
    const lines = [`    ${JSON.stringify(url)},`, `    headers=${JSON.stringify(others)},`];
    if (body) lines.push(`    json=${toPython(JSON.parse(body))},`);
    const shown = method === 'HEAD' ? 'answer.headers' : isFile(call) ? 'len(answer.content)' : 'answer.json()';
    return `import requests\n\nanswer = requests.${method.toLowerCase()}(\n${lines.join('\n')}\n)\nprint(${shown})`;
  },
  javascript(call) {
    const { method, url, headers, body } = call;
    const lines = [`  method: '${method}',`, `  headers: ${JSON.stringify(headers)},`];
    if (body) lines.push(`  body: JSON.stringify(${body}),`);
    const shown = method === 'HEAD' ? 'answer.headers' : `await answer.${isFile(call) ? 'blob' : 'json'}()`;
    return `const answer = await fetch(${JSON.stringify(url)}, {\n${lines.join('\n')}\n});\nconsole.log(${shown});`;
  },
};

function toPython(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(toPython).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${toPython(inner)}`);
  return `{${members.join(', ')}}`;
}

/** The request as the fields say; parameters without a value stay as `{name}`. */
function writeCall(operation: HTMLElement, secret: string): Call {
  // `auth` is what stands for the reader's key; empty where none is needed.
  const { method = '', path = '', body = '', auth } = operation.dataset;
  let url = path;
  const query = new URLSearchParams();
  const headers: Record<string, string> = auth ? { Authorization: `Bearer ${secret || auth}` } : {};
  for (const input of operation.querySelectorAll<HTMLInputElement>('input[data-in]')) {
    const { in: place, name = '' } = input.dataset;
    if (input.value === '') continue;
    if (place === 'path') url = url.replace(`{${name}}`, encodeURIComponent(input.value));
    else if (place === 'query') query.set(name, input.value);
    else headers[name] = input.value;
  }
  const text = operation.querySelector('textarea')?.value ?? withModel(body);
  if (text) headers['Content-Type'] = 'application/json';
  return { method, url: `${location.origin}${url}${query.size > 0 ? `?${query}` : ''}`, headers, body: text || null };
}

function withModel(body: string): string {
  if (body === '' || model.value === '') return body;
  const value = JSON.parse(body) as Record<string, unknown>;
  return JSON.stringify('model' in value ? { ...value, model: model.value } : value);
}

function writeExample(operation: HTMLElement): void {
  const example = operation.querySelector('pre.example');
  if (!example) return;
  try {
    example.textContent = WRITERS[language.value]?.(writeCall(operation, key.value)) ?? '';
  } catch {
    example.textContent = 'The body is no JSON.';
  }
}

const writeOpenExamples = (): void => {
  for (const operation of operations) if (operation.open) writeExample(operation);
};

/** The form that sends the request, made when an operation is first opened. */
function addForm(operation: HTMLElement): void {
  const fields = JSON.parse(operation.dataset.fields ?? '[]') as Field[];
  const form = make('form', { className: 'try' });
  for (const field of fields) {
    const input = make('input', { required: field.in === 'path', autocomplete: 'off', spellcheck: false });
    Object.assign(input.dataset, field);
    form.append(make('label', {}, make('code', {}, field.name), input));
  }
  const { body } = operation.dataset;
  if (body) {
    const value = JSON.stringify(JSON.parse(withModel(body)), null, 2);
    const area = make('textarea', { value, rows: value.split('\n').length, spellcheck: false, ariaLabel: 'Body' });
    form.append(area);
  }
  const answer = make('div', { ariaLive: 'polite' });
  form.append(make('button', {}, 'Send'));
  form.addEventListener('input', () => writeExample(operation));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(operation, answer);
  });
  find('.example', operation).after(make('h3', {}, 'Try it'), form, answer);
}

async function send(operation: HTMLElement, answer: HTMLElement): Promise<void> {
  if (operation.dataset.auth && key.value === '') {
    answer.replaceChildren(make('p', {}, 'Enter a key above first.'));
    key.focus();
    return;
  }
  const button = find<HTMLButtonElement>('form.try button', operation);
  button.disabled = true;
  const begun = performance.now();
  try {
    const { method, url, headers, body } = writeCall(operation, key.value);
    const response = await fetch(url, { method, headers, body, credentials: 'omit' });
    const shown = await showBody(response);
    const taken = Math.round(performance.now() - begun);
    answer.replaceChildren(
      make('p', {}, make('strong', {}, `${response.status} ${response.statusText}`), ` ${taken} ms`),
      shown,
    );
  } catch (error) {
    answer.replaceChildren(make('p', {}, error instanceof Error ? error.message : String(error)));
  } finally {
    button.disabled = false;
  }
}

/** A text; of anything else a link to what came. */
async function showBody(response: Response): Promise<HTMLElement> {
  const type = response.headers.get('content-type') ?? '';
  if (!/json|^text\//.test(type)) {
    const blob = await response.blob();
    const link = make(
      'a',
      { href: URL.createObjectURL(blob), download: 'content' },
      `Save ${blob.size.toLocaleString('en')} bytes`,
    );
    return make('p', {}, link, type === '' ? '' : ` of ${type}`);
  }
  const text = await response.text();
  return make('pre', { tabIndex: 0 }, type.includes('json') ? JSON.stringify(JSON.parse(text), null, 2) : text);
}

/** The models that the key may use, as suggestions; the first one is chosen. */
async function readModels(): Promise<void> {
  const headers = { authorization: `Bearer ${key.value}` };
  const response = await fetch('/v1/models', { headers, credentials: 'omit' });
  if (!response.ok) return;
  const { data } = (await response.json()) as { data: { id: string }[] };
  find('#models').replaceChildren(...data.map(({ id }) => make('option', { value: id })));
  if (model.value === '') model.value = data[0]?.id ?? '';
  updateBodies();
}

function updateBodies(): void {
  for (const area of document.querySelectorAll<HTMLTextAreaElement>('form.try textarea')) {
    try {
      area.value = JSON.stringify(JSON.parse(withModel(area.value)), null, 2);
    } catch {
      // The reader is writing in it.
    }
  }
  writeOpenExamples();
}

/** Shows the operations that have all words of the search, and the sections that have any. */
function filter(): void {
  const words = search.value.toLowerCase().split(/\s+/);
  for (const section of document.querySelectorAll<HTMLElement>('main > section')) {
    let shown = 0;
    for (const item of section.querySelectorAll<HTMLElement>('details, tbody tr.code')) {
      const text = (item.querySelector('summary') ?? item).textContent?.toLowerCase() ?? '';
      item.hidden = !words.every((word) => text.includes(word));
      if (!item.hidden) shown += 1;
    }
    section.hidden = shown === 0;
  }
  find('#nothing').hidden = find('main').querySelector('section:not([hidden])') !== null;
}

/** A link to an operation opens it. */
function openTarget(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
}

for (const operation of operations) {
  operation.addEventListener('toggle', () => {
    if (!operation.open) return;
    if (operation.querySelector('form.try') === null && operation.querySelector('.example')) addForm(operation);
    writeExample(operation);
  });
}
search.addEventListener('input', filter);
language.addEventListener('change', writeOpenExamples);
model.addEventListener('input', updateBodies);
key.addEventListener('input', writeOpenExamples);
key.addEventListener('change', () => void readModels());
window.addEventListener('hashchange', openTarget);
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement)
    return;
  event.preventDefault();
  search.focus();
});
const chosen = localStorage.getItem('mantine-color-scheme-value');
if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.scheme = chosen;
find('#static').hidden = true;
for (const tool of document.querySelectorAll<HTMLElement>('.tools')) tool.hidden = false;
openTarget();

export {};

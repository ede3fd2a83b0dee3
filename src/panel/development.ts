/**
 * What the page of a plugin under development does in a browser: it shows each hook call as it is
 * made, and what its task costs. The API key is in the address, after `#`, and stays in this page.
 */
type Bill = {
  summary: string;
  expression: string | null;
  steps: string[];
  reserved: number;
  settled: number | null;
  quota_per_usd: number;
  facts: Record<string, unknown>;
  completion_facts: Record<string, unknown> | null;
};
type Task = { id: string; status: string; bill: Bill };
type Call = {
  number: number;
  at: number;
  hook: string;
  ms: number;
  task: string | null;
  request: unknown[];
  answer: { value: unknown } | { error: string; kind: string };
  console: string[];
};
type View = {
  plugin: { key: string; version: string };
  calls: Call[];
  latest: number;
  tasks: Task[];
  mismatches: { fixture: string; cases: string[]; commands: string[] } | null;
};

export {};

/** Calls that the page keeps; the terminal and a recording have them all. */
const MOST_CALLS = 300;
const RETRY_MS = 1500;

const find = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const make = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  members: Partial<HTMLElementTagNameMap[Name]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] => {
  const element = Object.assign(document.createElement(name), members);
  element.append(...children);
  return element;
};
const pretty = (value: unknown): string => JSON.stringify(value, null, 2) ?? 'nothing';
const usd = (quota: number, { quota_per_usd }: Bill): string => `${(quota / quota_per_usd).toFixed(4)} USD`;

const list = find('calls');
const search = find<HTMLInputElement>('search');
const pause = find<HTMLButtonElement>('pause');
const tasks = new Map<string, Task>();
let latest: number | undefined;
let chosen: string | null = null;
let waiting: Call[] = [];

function describeBill({ bill }: Task): Node[] {
  const rows: [string, string][] = [
    ['Price', bill.expression ?? 'none: the task is free'],
    ['Facts', pretty({ ...bill.facts, ...bill.completion_facts })],
    ...bill.steps.map((step, index): [string, string] => [index === 0 ? 'Computed' : '', step]),
    ['Reserved', `${bill.reserved} (${usd(bill.reserved, bill)})`],
    ['Charged', bill.settled === null ? 'the task runs' : `${bill.settled} (${usd(bill.settled, bill)})`],
  ];
  return [
    make('p', {}, bill.summary),
    make('dl', {}, ...rows.flatMap(([term, text]) => [make('dt', {}, term), make('dd', {}, text)])),
  ];
}

/** Renders a call when it is first opened, and its bill whenever it is opened. */
function fill(details: HTMLDetailsElement, call: Call): void {
  const parts: Node[] = [];
  const add = (title: string, ...nodes: Node[]): void => {
    parts.push(make('h3', {}, title), ...nodes);
  };
  const code = (text: string, className = ''): Node => make('pre', { className, tabIndex: 0 }, text);
  add('Request', ...call.request.map((value) => code(pretty(value))));
  if ('value' in call.answer) add('Answer', code(pretty(call.answer.value)));
  else add('Answer', code(`${call.answer.error} (${call.answer.kind})`, 'bad'));
  add(
    'Console',
    call.console.length > 0 ? code(call.console.join('\n')) : make('p', { className: 'soft' }, 'Nothing was written.'),
  );
  const task = call.task === null ? undefined : tasks.get(call.task);
  add(
    'Bill',
    ...(task ? describeBill(task) : [make('p', { className: 'soft' }, 'This call is made before there is a task.')]),
  );
  details.replaceChildren(...[...details.children].slice(0, 1), ...parts);
}

/** What a closed row tells of a call. */
function summarize({ answer }: Call): string {
  if (!('value' in answer)) return answer.error;
  return (JSON.stringify(answer.value) ?? 'nothing').slice(0, 160);
}

function show(call: Call): void {
  const failed = !('value' in call.answer);
  const time = new Date(call.at).toLocaleTimeString([], { hour12: false });
  const details = make(
    'details',
    {},
    make(
      'summary',
      {},
      make('code', { className: failed ? 'bad' : '' }, call.hook),
      make('span', { className: failed ? 'gist bad' : 'gist' }, summarize(call)),
      make('span', { className: 'right' }, `${call.ms.toFixed(1)} ms · ${time}`),
    ),
  );
  details.dataset.hook = call.hook.toLowerCase();
  details.dataset.task = call.task ?? '';
  details.addEventListener('toggle', () => {
    if (details.open) fill(details, call);
  });
  list.prepend(details);
  while (list.children.length > MOST_CALLS) list.lastElementChild?.remove();
}

function filter(): void {
  const words = search.value.trim().toLowerCase();
  let shown = 0;
  for (const row of list.querySelectorAll<HTMLDetailsElement>('details')) {
    const { hook = '', task } = row.dataset;
    row.hidden = !hook.includes(words) || (chosen !== null && task !== chosen);
    if (!row.hidden) shown += 1;
  }
  const nothing = find('nothing');
  nothing.hidden = shown > 0;
  if (list.children.length > 0) nothing.textContent = 'No call fits what you chose.';
}

function toMoney(bill: Bill): string {
  const { reserved, settled } = bill;
  if (settled === null) return `${usd(reserved, bill)} reserved`;
  return settled === 0 && reserved > 0 ? `${usd(reserved, bill)} given back` : `${usd(settled, bill)} charged`;
}

function showTasks(found: readonly Task[]): void {
  for (const task of found) tasks.set(task.id, task);
  const selected = chosen === null ? undefined : tasks.get(chosen);
  find('bill').replaceChildren(...(selected ? [make('h2', {}, 'Bill'), ...describeBill(selected)] : []));
  find('tasks').replaceChildren(
    ...found.map((task) => {
      const button = make(
        'button',
        { type: 'button' },
        make('span', {}, task.status),
        make('small', {}, toMoney(task.bill)),
        make('small', {}, task.id),
      );
      button.setAttribute('aria-pressed', String(chosen === task.id));
      button.addEventListener('click', () => {
        chosen = chosen === task.id ? null : task.id;
        showTasks(found);
        filter();
      });
      return make('li', {}, button);
    }),
  );
}

function showMismatches(mismatches: View['mismatches']): void {
  const box = find('mismatches');
  box.hidden = mismatches === null;
  if (mismatches === null) return;
  const { fixture, cases, commands } = mismatches;
  const names = cases.slice(0, 5).join(', ') + (cases.length > 5 ? ', …' : '');
  const what = cases.length === 1 ? 'One case' : `${cases.length} cases`;
  box.replaceChildren(
    make('p', {}, `${what} of ${fixture} no longer ${cases.length === 1 ? 'fits' : 'fit'}: ${names}`),
    make('pre', { tabIndex: 0 }, commands.join('\n')),
  );
}

function take({ plugin, calls, latest: newest, tasks: found, mismatches }: View): void {
  latest = newest;
  find('plugin').textContent = `${plugin.key} ${plugin.version}`;
  document.title = `${plugin.key} · Taskgate`;
  showTasks(found);
  showMismatches(mismatches);
  waiting.push(...calls);
  if (pause.getAttribute('aria-pressed') === 'true') return;
  for (const call of waiting) show(call);
  waiting = [];
  filter();
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function follow(): Promise<void> {
  const state = find('state');
  const key = location.hash.slice(1);
  if (key === '') {
    state.textContent = 'Open the address that the terminal shows: it has the key after #.';
    return;
  }
  for (;;) {
    try {
      const answer = await fetch(`/api/dev/calls${latest === undefined ? '' : `?after=${latest}`}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      if (answer.status === 401) {
        state.textContent = 'This key is not valid any more: open the address that the terminal shows.';
        return;
      }
      if (!answer.ok) throw new Error(String(answer.status));
      take(await answer.json());
      state.textContent = 'Live';
    } catch {
      state.textContent = 'The gateway does not answer; trying again…';
      await sleep(RETRY_MS);
    }
  }
}

search.addEventListener('input', filter);
pause.addEventListener('click', () => {
  const paused = pause.getAttribute('aria-pressed') !== 'true';
  pause.setAttribute('aria-pressed', String(paused));
  pause.textContent = paused ? 'Go on' : 'Pause';
  if (paused) return;
  for (const call of waiting) show(call);
  waiting = [];
  filter();
});
find('clear').addEventListener('click', () => {
  list.replaceChildren();
  filter();
});
window.addEventListener('hashchange', () => location.reload());
void follow();

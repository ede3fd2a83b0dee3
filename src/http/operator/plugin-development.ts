import { createHash } from 'node:crypto';
import { Elysia, t } from 'elysia';
import type { BillExplanation } from '../../billing/index.ts';
import type { Json } from '../../kernel/index.ts';
import { embedScript } from '../panel-files/embed-script.ts' with { type: 'macro' };
import { type Kit, strictObject } from '../pipeline/route-kit.ts';
import { developmentPolicy } from '../responses/content-security-policies.ts';
import { answersJson, answersMedia } from '../responses/describe-answer.ts';

/** A call of a hook as its author sees it: without credentials, long texts shortened. */
export type DevelopedCall = {
  /** Counts from 1. */
  number: number;
  /** Milliseconds since 1970. */
  at: number;
  hook: string;
  ms: number;
  /** The task that the call was made for; null before there is one. */
  task: string | null;
  request: Json[];
  answer: { value: Json } | { error: string; kind: string };
  console: string[];
};

export type DevelopmentView = {
  plugin: { key: string; version: string };
  /** The calls after the one that was asked for, the oldest first. */
  calls: DevelopedCall[];
  /** The number of the latest call; 0 before the first. */
  latest: number;
  /** The tasks of the calls that are kept, the newest first. */
  tasks: { id: string; status: string; bill: BillExplanation }[];
  /** The cases of the plugin's fixture that no longer fit, and commands that help. */
  mismatches: { fixture: string; cases: string[]; commands: string[] } | null;
};

/** Without `after` it answers at once, else when there are later calls or after some seconds. */
export type ViewDevelopment = (after: number | undefined) => Promise<DevelopmentView>;

/**
 * The page on which an author watches the hook calls of the plugin under development. Only
 * `plugin dev` has these routes.
 */
export function developmentRoutes(kit: Kit, view: ViewDevelopment) {
  let page: ReturnType<typeof renderDevelopmentPage> | undefined;
  return new Elysia({ normalize: false, tags: ['System'] })
    .use(kit)
    .get(
      '/api/dev',
      () => {
        page ??= renderDevelopmentPage();
        return new Response(page.html, {
          headers: {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy': page.contentSecurityPolicy,
          },
        });
      },
      {
        public: true,
        detail: { summary: "Open the development plugin's page", ...answersMedia('The page', 'text/html') },
      },
    )
    .get('/api/dev/calls', async ({ query }) => Response.json(await view(query.after)), {
      apiKey: true,
      query: strictObject({ after: t.Optional(t.Integer({ minimum: 0 })) }),
      detail: { summary: "List the development plugin's hook calls", ...answersJson('Calls and bills') },
    });
}

const LIGHT =
  'color-scheme: light; --page: #fbfaf7; --raised: #ffffff; --text: #222523; --soft: #5c5c56; --line: #e8e6df; --brand: #0b784d;';
const DARK =
  'color-scheme: dark; --page: #121917; --raised: #18211e; --text: #e3e8e6; --soft: #b4bebb; --line: #2b3633; --brand: #35c98a;';
const scheme = (selector: string, colours: string): string => `${selector} { ${colours} }`;

/** Colours and fonts are the panel's. */
const STYLE = `
${scheme(':root', LIGHT)} ${scheme(':root[data-scheme=light]', LIGHT)}
@media (prefers-color-scheme: dark) { ${scheme(':root:not([data-scheme])', DARK)} } ${scheme(':root[data-scheme=dark]', DARK)}
[hidden] { display: none !important; }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { font: 15px/1.55 system-ui, -apple-system, 'Segoe UI', 'PingFang SC', 'Noto Sans CJK SC', 'Microsoft YaHei', sans-serif; margin: 0; background: var(--page); color: var(--text); }
a { color: var(--brand); text-underline-offset: .2em; } :focus-visible { outline: 2px solid var(--brand); outline-offset: 2px; }
.frame { display: grid; grid-template-columns: 17rem minmax(0, 64rem); gap: 2.5rem; justify-content: center; padding: 2rem 1.25rem 6rem; }
nav { position: sticky; top: 2rem; align-self: start; max-height: calc(100vh - 4rem); overflow-y: auto; font-size: .875rem; }
nav ul { list-style: none; margin: .5rem 0 0; padding: 0; }
h1, h2, h3 { font-weight: 600; } h1 { margin: 0; font-size: 1.75rem; letter-spacing: -.02em; } h2 { margin: 2.75rem 0 .75rem; font-size: 1.15rem; } h3 { margin: 1rem 0 .35rem; font-size: .8rem; color: var(--soft); }
p { margin: .5rem 0; max-width: 46rem; } .soft { color: var(--soft); }
details { background: var(--raised); border: 1px solid var(--line); border-radius: .5rem; margin: .4rem 0; padding: 0 1rem; } details[open] { padding-bottom: 1rem; }
summary { display: flex; flex-wrap: wrap; align-items: baseline; gap: .1rem .9rem; padding: .6rem 0; cursor: pointer; list-style: none; } summary::-webkit-details-marker { display: none; }
code, pre { font: .8125rem/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; overflow-wrap: anywhere; }
input, button { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--line); border-radius: .4rem; padding: .35rem .6rem; min-width: 0; }
button { background: var(--brand); border-color: var(--brand); color: var(--page); font-weight: 600; cursor: pointer; padding-inline: 1rem; } button:disabled { opacity: .6; }
.tools { display: flex; flex-wrap: wrap; gap: .75rem 1rem; margin: 1.25rem 0 0; } .tools label { display: grid; gap: .2rem; font-size: .8rem; color: var(--soft); flex: 1 1 12rem; } .tools input { font-size: .9375rem; color: var(--text); background: var(--raised); }
pre { overflow-x: auto; margin: .35rem 0; padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--page); max-height: 18rem; white-space: pre-wrap; overflow-wrap: anywhere; } pre.bad { color: var(--bad); }
nav h2 { margin: 1.5rem 0 0; font-size: .8rem; color: var(--soft); }
nav li button { display: grid; gap: .1rem; width: 100%; margin-top: .4rem; padding: .5rem .75rem; text-align: left; font-weight: 400; background: none; color: var(--text); border-color: var(--line); }
nav li button[aria-pressed=true] { border-color: var(--brand); background: var(--raised); } nav li small { color: var(--soft); overflow-wrap: anywhere; }
.state { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; margin-top: .75rem; } .state button { background: none; color: var(--text); border-color: var(--line); font-weight: 400; padding-block: .2rem; }
.notice { border: 1px solid var(--line); border-left: 3px solid var(--bad); border-radius: .4rem; background: var(--raised); padding: .6rem 1rem; margin: 1rem 0; }
:root, :root[data-scheme=light] { --bad: #b3261e; } @media (prefers-color-scheme: dark) { :root:not([data-scheme]) { --bad: #ff8a7a; } } :root[data-scheme=dark] { --bad: #ff8a7a; }
summary code:first-child { min-width: 19rem; font-weight: 600; } summary .right { margin-left: auto; font-size: .8rem; color: var(--soft); font-variant-numeric: tabular-nums; } summary .bad { color: var(--bad); }
summary .gist { flex: 1 1 12rem; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; color: var(--soft); font-size: .8125rem; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .2rem 1rem; margin: .35rem 0; font-size: .875rem; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 60rem) { .frame { grid-template-columns: minmax(0, 1fr); gap: 1.5rem; padding-top: 1.25rem; } nav { position: static; max-height: none; } summary code:first-child { min-width: 0; } summary .gist { flex-basis: 100%; order: 9; } }
`;

const hashSource = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** A page that loads nothing but the calls; the key stays in the part of its address after `#`. */
function renderDevelopmentPage(): { html: string; contentSecurityPolicy: string } {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Plugin development · Taskgate</title>
<style>${STYLE}</style>
</head>
<body>
<div class="frame">
<nav aria-label="Tasks">
<a href="/">← Panel</a> · <a href="/api/docs">API</a>
<h2>Tasks</h2>
<ul id="tasks"></ul>
</nav>
<main>
<h1 id="plugin">Plugin development</h1>
<div class="state"><span class="soft" id="state" role="status">Connecting…</span><button type="button" id="pause" aria-pressed="false">Pause</button><button type="button" id="clear">Clear</button></div>
<div id="mismatches" class="notice" hidden></div>
<section id="bill" aria-label="Bill"></section>
<div class="tools"><label>Hook<input id="search" type="search" placeholder="All hooks" autocomplete="off"></label></div>
<p id="nothing">No hook was called yet. Submit a task with the command that the terminal shows.</p>
<div id="calls"></div>
</main>
</div>
<script type="module">${DEVELOPMENT_SCRIPT}</script>
</body>
</html>
`;
  return {
    html,
    contentSecurityPolicy: developmentPolicy({
      scriptSource: hashSource(DEVELOPMENT_SCRIPT),
      styleSource: hashSource(STYLE),
    }),
  };
}

/** What the page of `taskgate plugin dev` runs in a browser. */
const DEVELOPMENT_SCRIPT = embedScript('development.ts');

import { createHash } from 'node:crypto';
import { DOCS_STYLE } from '../openapi/docs-style.ts';
import { DEVELOPMENT_SCRIPT } from './development-script.ts';

const STYLE = `${DOCS_STYLE}
.frame { grid-template-columns: 17rem minmax(0, 64rem); gap: 2.5rem; }
nav ul { margin-top: .5rem; } nav h2 { margin: 1.5rem 0 0; font-size: .8rem; color: var(--soft); }
nav li button { display: grid; gap: .1rem; width: 100%; margin-top: .4rem; padding: .5rem .75rem; text-align: left; font-weight: 400; background: none; color: var(--text); border-color: var(--line); }
nav li button[aria-pressed=true] { border-color: var(--brand); background: var(--raised); } nav li small { color: var(--soft); overflow-wrap: anywhere; }
.state { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; margin-top: .75rem; } .state button { background: none; color: var(--text); border-color: var(--line); font-weight: 400; padding-block: .2rem; }
.notice { border: 1px solid var(--line); border-left: 3px solid var(--bad); border-radius: .4rem; background: var(--raised); padding: .6rem 1rem; margin: 1rem 0; }
:root, :root[data-scheme=light] { --bad: #b3261e; } @media (prefers-color-scheme: dark) { :root:not([data-scheme]) { --bad: #ff8a7a; } } :root[data-scheme=dark] { --bad: #ff8a7a; }
summary code:first-child { min-width: 19rem; font-weight: 600; } summary .right { margin-left: auto; font-size: .8rem; color: var(--soft); font-variant-numeric: tabular-nums; } summary .bad { color: var(--bad); }
summary .gist { flex: 1 1 12rem; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; color: var(--soft); font-size: .8125rem; }
pre { max-height: 18rem; white-space: pre-wrap; overflow-wrap: anywhere; } pre.bad { color: var(--bad); }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .2rem 1rem; margin: .35rem 0; font-size: .875rem; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 60rem) { .frame { grid-template-columns: minmax(0, 1fr); } nav ul { display: block; } summary code:first-child { min-width: 0; } summary .gist { flex-basis: 100%; order: 9; } }
`;

const sourceOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** A page that loads nothing but the calls; the key stays in the part of its address after `#`. */
export function renderDevelopmentPage(): { html: string; contentSecurityPolicy: string } {
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
<div id="misfits" class="notice" hidden></div>
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
    contentSecurityPolicy: `default-src 'none'; script-src ${sourceOf(DEVELOPMENT_SCRIPT)}; style-src ${sourceOf(STYLE)}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}

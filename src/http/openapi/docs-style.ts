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

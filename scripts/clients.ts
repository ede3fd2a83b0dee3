import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChatVendor } from '../test/support/chat-vendor.ts';
import { setUp, signIn, startGateway, startVendor } from '../test/support/gateway.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { buildExecutable } from './build.ts';

const MCP = '@modelcontextprotocol';

/**
 * npm run clients: unmodified clients of OpenAI's API call the compiled executable, which has a
 * demo vendor behind a plugin and an OpenAI-like vendor behind a relay channel. Prints client ×
 * call × outcome; fails when an outcome is neither `ok` nor the documented refusal. The snippets of
 * docs/clients.md run too. Installs the clients into a temporary folder, so it needs npm, Python
 * with venv and pip, and the network.
 */
const NPM: Record<string, Record<string, string>> = {
  'openai 6': { openai: '6.30.1' },
  'openai 7': { openai: '7.57.0' },
  'ai 6': { ai: '6.0.326', '@ai-sdk/openai-compatible': '2.0.92' },
  'MCP sdk 1': { [`${MCP}/sdk`]: '1.32.2' },
  'MCP client 2': { [`${MCP}/client`]: '2.4.0' },
};
const PIP = ['openai==2.54.0', 'langchain-openai==1.7.3', 'litellm==1.106.2', 'mcp==2.3.0'];
const GUIDE = new URL('../docs/clients.md', import.meta.url);

type Row = { client: string; call: string; outcome: string; refusal: string };
type Environment = Record<string, string>;
type Run = { client: string; command: string[]; folder: string };

async function run(command: string[], folder: string, env: Environment = {}): Promise<string> {
  const child = Bun.spawn(command, { cwd: folder, env: { ...process.env, ...env }, stdin: 'ignore', stderr: 'pipe' });
  const [output, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed:\n${output}${complaint}`);
  return output;
}

async function installNpm(folder: string): Promise<string[]> {
  for (const [name, dependencies] of Object.entries(NPM)) {
    const place = join(folder, name);
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
    await run(['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts'], place);
    const script = name.startsWith('ai') ? 'vercel-ai.mjs' : name.startsWith('MCP') ? 'mcp.mjs' : 'openai.mjs';
    await Bun.write(join(place, script), Bun.file(new URL(`clients/${script}`, import.meta.url)));
  }
  return Object.keys(NPM);
}

async function installPip(folder: string): Promise<string> {
  await run(['python3', '-m', 'venv', 'venv'], folder);
  const python = join(folder, 'venv/bin/python');
  await run([python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PIP], folder);
  return python;
}

/** Code blocks of the guide that can be run, by the language of their fence. */
async function guideRuns(folder: string, python: string): Promise<Run[]> {
  const text = await Bun.file(GUIDE).text();
  const runs: Run[] = [];
  for (const section of text.split(/^## /m).slice(1)) {
    const [title = ''] = section.split('\n', 1);
    const [, language = '', code = ''] = /^```(python|js|console)\n([\s\S]*?)^```/m.exec(section) ?? [];
    const client = `guide: ${title}`;
    const file = join(folder, `guide-${runs.length}`);
    if (language === 'python') {
      writeFileSync(`${file}.py`, code);
      runs.push({ client, command: [python, `${file}.py`], folder });
    } else if (language === 'js') {
      const place = join(folder, code.includes("'ai'") ? 'ai 6' : 'openai 7');
      writeFileSync(join(place, 'guide.mjs'), code);
      runs.push({ client, command: ['node', 'guide.mjs'], folder: place });
    } else if (language === 'console') {
      const commands = code.split('\n').flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : []));
      runs.push({ client, command: ['bash', '-euo', 'pipefail', '-c', commands.join('\n')], folder });
    }
  }
  return runs;
}

const isExpected = ({ outcome, refusal }: Row): boolean =>
  refusal === '' ? outcome === 'ok' : outcome.includes(refusal);

function print(rows: readonly Row[]): void {
  const clients = [...new Set(rows.map(({ client }) => client))].filter((client) => !client.startsWith('guide: '));
  const calls = [...new Set(rows.flatMap(({ client, call }) => (clients.includes(client) ? [call] : [])))];
  console.log(`\n| call | ${clients.join(' | ')} |\n|---|${clients.map(() => '---').join('|')}|`);
  for (const call of calls) {
    const cells = clients.map((client) => rows.find((row) => row.client === client && row.call === call)?.outcome);
    console.log(`| ${call} | ${cells.map((outcome) => outcome ?? '–').join(' | ')} |`);
  }
  console.log('');
  for (const { client, outcome } of rows) if (client.startsWith('guide: ')) console.log(`${client}: ${outcome}`);
}

async function main(): Promise<number> {
  await buildExecutable();
  const folder = temporaryFolder();
  console.log('Installing the clients …');
  const [, python] = [await installNpm(folder), await installPip(folder)];
  const [vendor, demo] = [await startChatVendor(), await startVendor()];
  const gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
  try {
    const admin = await setUp(gateway);
    await admin.createChannel(demo.url);
    await admin.call('POST', '/api/channel', {
      ...{ name: 'relay', type: 1, key: vendor.key, base_url: vendor.url, models: ['chat-x'] },
    });
    for (const [plugin, model, expression] of [
      ['*', 'chat-x', '0.000001 * u("input_tokens")'],
      ['demo', 'demo-video', '0.02 * u("seconds")'],
    ])
      await admin.call('PUT', '/api/price', { plugin_key: plugin, model, expression });
    await admin.createUser({ username: 'poor', quota: 0 });
    const poor = await signIn(gateway.url, { username: 'poor' });
    const env = {
      ...{ GATE: `${gateway.url}/v1`, KEY: await admin.createKey(), POOR_KEY: await poor.createKey() },
    };
    const script = (name: string) => [python, new URL(`clients/${name}`, import.meta.url).pathname];
    const matrix: Run[] = [
      { client: 'openai 6', command: ['node', 'openai.mjs'], folder: join(folder, 'openai 6') },
      { client: 'openai 7', command: ['node', 'openai.mjs'], folder: join(folder, 'openai 7') },
      {
        client: 'MCP sdk 1',
        command: ['node', 'mcp.mjs', ...['index', 'streamableHttp'].map((part) => `${MCP}/sdk/client/${part}.js`)],
        folder: join(folder, 'MCP sdk 1'),
      },
      { client: 'MCP client 2', command: ['node', 'mcp.mjs', `${MCP}/client`], folder: join(folder, 'MCP client 2') },
      { client: 'flat videos', command: ['node', new URL('clients/flat-video.mjs', import.meta.url).pathname], folder },
      { client: 'openai (Python)', command: script('openai_client.py'), folder },
      { client: 'ai 6', command: ['node', 'vercel-ai.mjs'], folder: join(folder, 'ai 6') },
      { client: 'LangChain', command: script('langchain_client.py'), folder },
      { client: 'LiteLLM', command: script('litellm_client.py'), folder },
    ];
    const rows: Row[] = [];
    for (const { client, command, folder: place } of matrix) {
      const output = await run(command, place, env);
      for (const line of output.split('\n').filter((text) => text.startsWith('{')))
        rows.push({ client, ...(JSON.parse(line) as Omit<Row, 'client'>) });
    }
    for (const { client, command, folder: place } of await guideRuns(folder, python)) {
      const outcome = await run(command, place, env).then(
        () => 'ok',
        (error: Error) => error.message,
      );
      rows.push({ client, call: 'guide', outcome, refusal: '' });
    }
    print(rows);
    const surprises = rows.filter((row) => !isExpected(row));
    for (const { client, call, outcome } of surprises) console.error(`SURPRISE: ${client}, ${call}: ${outcome}`);
    return surprises.length === 0 ? 0 : 1;
  } finally {
    await Promise.all([gateway.stop(), demo.stop(), vendor.stop()]);
  }
}

process.exitCode = await main();

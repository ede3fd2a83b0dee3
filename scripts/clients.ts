import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChatVendor } from '../test/support/chat-vendor.ts';
import { setUp, signIn, startGateway, startVendor } from '../test/support/gateway.ts';
import { startRelayVendor } from '../test/support/relay-vendor.ts';
import { buildExecutable } from './build.ts';
import { root } from './hash-inputs.ts';

/**
 * npm run clients: unmodified clients of OpenAI's API call the compiled executable, which has a
 * demo vendor behind a plugin and OpenAI-like vendors behind relay channels. Prints client × call ×
 * outcome; fails when an outcome is neither `ok` nor the documented refusal. The snippets of
 * docs/clients.md run too. With words after `--` only the clients whose names have one of them run.
 *
 * It needs npm, Python with venv and pip, Go, Maven with Java 17, Cargo, and the network. The
 * clients are installed into `build/clients` and stay there: a later run installs what has changed.
 */
const FOLDER = join(root, 'build/clients');
const SCRIPTS = new URL('clients/', import.meta.url).pathname;
const GUIDE = new URL('../docs/clients.md', import.meta.url);
const MCP = '@modelcontextprotocol';

/** Packages of npm, and what calls the gateway with them. */
const NPM: Record<string, { packages: Record<string, string>; script: string; args?: string[] }> = {
  'openai 6': { packages: { openai: '6.30.1' }, script: 'openai.mjs' },
  'openai 7': { packages: { openai: '7.57.0' }, script: 'openai.mjs' },
  'ai 6': { packages: { ai: '6.0.326', '@ai-sdk/openai-compatible': '2.0.92' }, script: 'vercel-ai.mjs' },
  'ai 7, OpenAI': { packages: { ai: '7.0.173', '@ai-sdk/openai': '4.0.118' }, script: 'ai-openai.mjs' },
  'MCP sdk 1': {
    ...{ packages: { [`${MCP}/sdk`]: '1.32.2' }, script: 'mcp.mjs' },
    args: ['index', 'streamableHttp'].map((part) => `${MCP}/sdk/client/${part}.js`),
  },
  'MCP client 2': { packages: { [`${MCP}/client`]: '2.4.0' }, script: 'mcp.mjs', args: [`${MCP}/client`] },
  'MCP inspector 2': { packages: { [`${MCP}/inspector`]: '2.12.0' }, script: 'inspector.mjs' },
  'flat videos': { packages: {}, script: 'flat-video.mjs' },
  n8n: {
    packages: { 'n8n-workflow': '2.41.0', 'form-data': '4.0.6', zod: '3.25.76', 'zod-to-json-schema': '3.23.3' },
    script: 'n8n.mjs',
  },
};
/** What n8n's nodes depend on is far larger than they are: the package is unpacked alone. */
const N8N = '@n8n/n8n-nodes-langchain@2.41.1';
const PIP = ['openai==2.54.0', 'langchain-openai==1.7.3', 'litellm==1.106.2', 'mcp==2.3.0'];
const PYTHON = {
  'openai (Python)': 'openai_client.py',
  LangChain: 'langchain_client.py',
  LiteLLM: 'litellm_client.py',
};
/** Clients that are compiled, by the name of their folder, and how each is built and run. */
const COMPILED = {
  'openai (Go)': { folder: 'go', build: ['go', 'build', '-mod=mod', '-o', 'client', '.'], command: ['./client'] },
  'openai (Java)': {
    folder: 'java',
    build: ['mvn', '-q', '-B', 'compile', 'dependency:copy-dependencies'],
    command: ['java', '-cp', 'target/classes:target/dependency/*', 'Client'],
  },
  'async-openai (Rust)': { folder: 'rust', build: ['cargo', 'build', '-q'], command: ['target/debug/client'] },
};

type Row = { client: string; call: string; outcome: string; refusal: string };
type Environment = Record<string, string>;
type Run = { command: string[]; folder: string };
/** Clients of one queue are installed one after the other, the queues beside each other. */
type Client = { name: string; queue: 'npm' | 'pip' | 'compiled'; install(): Promise<Run> };

async function run({ command, folder }: Run, env: Environment = {}): Promise<string> {
  const child = Bun.spawn(command, { cwd: folder, env: { ...process.env, ...env }, stdin: 'ignore', stderr: 'pipe' });
  const [output, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed:\n${output}${complaint}`);
  return output;
}

async function installNpm(name: string): Promise<string> {
  const folder = join(FOLDER, name);
  const { packages: dependencies } = NPM[name] ?? { packages: {} };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];
  if (Object.keys(dependencies).length > 0) await run({ command: ['npm', 'install', ...options], folder });
  if (name !== 'n8n') return folder;
  const place = join(folder, 'n8n');
  mkdirSync(place, { recursive: true });
  await run({ command: ['npm', 'pack', '--silent', '--prefer-offline', N8N], folder: place });
  await run({ command: ['sh', '-c', 'tar xzf *.tgz'], folder: place });
  return folder;
}

let python: Promise<string> | undefined;
/** The interpreter that has all packages of Python. */
async function installPip(): Promise<string> {
  const place = join(FOLDER, 'python');
  const command = join(place, 'bin/python');
  await run({ command: ['python3', '-m', 'venv', place], folder: FOLDER });
  const options = ['--quiet', '--disable-pip-version-check'];
  await run({ command: [command, '-m', 'pip', 'install', ...options, ...PIP], folder: FOLDER });
  return command;
}
const findPython = (): Promise<string> => {
  python ??= installPip();
  return python;
};

const npmClients = Object.entries(NPM).map(
  ([name, { script, args = [] }]): Client => ({
    name,
    queue: 'npm',
    async install() {
      const folder = await installNpm(name);
      await Bun.write(join(folder, script), Bun.file(join(SCRIPTS, script)));
      return { command: ['node', script, ...args], folder };
    },
  }),
);
const pythonClients = Object.entries(PYTHON).map(
  ([name, script]): Client => ({
    name,
    queue: 'pip',
    install: async () => ({ command: [await findPython(), join(SCRIPTS, script)], folder: FOLDER }),
  }),
);
const compiledClients = Object.entries(COMPILED).map(
  ([name, { folder: own, build, command }]): Client => ({
    name,
    queue: 'compiled',
    async install() {
      const folder = join(FOLDER, own);
      cpSync(join(SCRIPTS, own), folder, { recursive: true });
      await run({ command: build, folder });
      return { command, folder };
    },
  }),
);

/** Code blocks of the guide that can be run, by the language of their fence. */
async function readGuide(): Promise<Client[]> {
  const text = await Bun.file(GUIDE).text();
  return text
    .split(/^## /m)
    .slice(1)
    .flatMap((section): Client[] => {
      const [title = ''] = section.split('\n', 1);
      const [, language, code = ''] = /^```(python|js|console)\n([\s\S]*?)^```/m.exec(section) ?? [];
      const name = `guide: ${title}`;
      if (language === 'python') {
        const install = async () => ({ command: [await findPython(), '-c', code], folder: FOLDER });
        return [{ name, queue: 'pip', install }];
      }
      if (language === 'js') {
        const install = async () => {
          const folder = await installNpm(code.includes("'ai'") ? 'ai 6' : 'openai 7');
          writeFileSync(join(folder, 'guide.mjs'), code);
          return { command: ['node', 'guide.mjs'], folder };
        };
        return [{ name, queue: 'npm', install }];
      }
      if (language !== 'console') return [];
      const lines = code.split('\n').flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : []));
      const command = ['bash', '-euo', 'pipefail', '-c', lines.join('\n')];
      return [{ name, queue: 'pip', install: async () => ({ command, folder: FOLDER }) }];
    });
}

/** A client that cannot be installed is a row of the matrix, and the others go on. */
async function installAll(clients: readonly Client[]): Promise<{ runs: Map<string, Run>; failed: Row[] }> {
  const runs = new Map<string, Run>();
  const failed: Row[] = [];
  const queues = [...Map.groupBy(clients, ({ queue }) => queue).values()].map(async (queue) => {
    for (const { name, install } of queue) {
      const began = performance.now();
      try {
        runs.set(name, await install());
        console.log(`${name}: installed in ${Math.round((performance.now() - began) / 1000)} s`);
      } catch (error) {
        failed.push({ client: name, call: 'install', outcome: String(error), refusal: '' });
        console.log(`${name}: not installed`);
      }
    }
  });
  await Promise.all(queues);
  return { runs, failed };
}

/** The calls of a client. A guide is one call, and so is a client that ends in the middle. */
async function callAll(client: string, made: Run, env: Environment): Promise<Row[]> {
  const isGuide = client.startsWith('guide: ');
  try {
    const output = await run(made, env);
    if (isGuide) return [{ client, call: 'guide', outcome: 'ok', refusal: '' }];
    const lines = output.split('\n').filter((text) => text.startsWith('{'));
    return lines.map((line) => ({ client, ...(JSON.parse(line) as Omit<Row, 'client'>) }));
  } catch (error) {
    return [{ client, call: isGuide ? 'guide' : 'run', outcome: String(error), refusal: '' }];
  }
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

async function main(words: readonly string[]): Promise<number> {
  await buildExecutable();
  mkdirSync(FOLDER, { recursive: true });
  const known = [...npmClients, ...pythonClients, ...compiledClients, ...(await readGuide())];
  const clients = known.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  if (clients.length === 0) throw new Error(`No client has such a name: ${known.map(({ name }) => name).join('; ')}`);
  const { runs, failed } = await installAll(clients);
  const [chats, videos, demo] = await Promise.all([startChatVendor(), startRelayVendor(), startVendor()]);
  const gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
  try {
    const admin = await setUp(gateway);
    await admin.createChannel(demo.url);
    for (const [vendor, models] of [
      [chats, ['chat-x', 'whisper-1']],
      [videos, ['video-x']],
    ] as const)
      await admin.call('POST', '/api/channel', {
        ...{ name: 'relay', type: 1, key: vendor.key, base_url: vendor.url, models },
      });
    for (const [plugin, model, expression] of [
      ['*', 'chat-x', '0.000001 * u("input_tokens")'],
      ['*', 'whisper-1', '0.000001 * u("input_tokens")'],
      ['*', 'video-x', '0.02 * u("seconds")'],
      ['demo', 'demo-video', '0.02 * u("seconds")'],
    ])
      await admin.call('PUT', '/api/price', { plugin_key: plugin, model, expression });
    await admin.createUser({ username: 'poor', quota: 0 });
    const poor = await signIn(gateway.url, { username: 'poor' });
    const env = {
      ...{ GATE: `${gateway.url}/v1`, KEY: await admin.createKey(), POOR_KEY: await poor.createKey() },
    };
    const rows = [...failed];
    for (const { name } of clients) {
      const made = runs.get(name);
      if (made) rows.push(...(await callAll(name, made, env)));
    }
    print(rows);
    const surprises = rows.filter((row) => !isExpected(row));
    for (const { client, call, outcome } of surprises) console.error(`SURPRISE: ${client}, ${call}: ${outcome}`);
    return surprises.length === 0 ? 0 : 1;
  } finally {
    await Promise.all([gateway.stop(), demo.stop(), chats.stop(), videos.stop()]);
  }
}

process.exitCode = await main(process.argv.slice(2));

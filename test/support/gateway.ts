/** The compiled binary as a process, and an administrator who uses it over HTTP. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { proofHeader } from './security-proof.ts';
import { until } from './until.ts';

export { until };

export const BINARY = process.env.TASKGATE_BINARY ?? new URL('../../dist/taskgate', import.meta.url).pathname;

export type GatewayOptions = {
  dataDir?: string;
  databaseUrl?: string;
  port?: number;
  env?: Record<string, string>;
  /** A program and its arguments that become the gateway: `unshare`, `sh -c`. */
  prefix?: readonly string[];
  /** Default: the executable of this checkout. */
  binary?: string;
  /** A file that standard error goes to; `log()` then has no lines of it. */
  logFile?: string;
};

export type Gateway = {
  url: string;
  port: number;
  dataDir: string;
  /** Empty on SQLite. */
  databaseUrl: string;
  pid: number;
  setupUrl: string | undefined;
  announcement: Record<string, unknown>;
  /** Everything written to standard error so far: the log. */
  log(): string;
  /** SIGTERM; gives the exit code. */
  stop(): Promise<number>;
  /** SIGKILL. */
  kill(): Promise<void>;
};

const folders: string[] = [];
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A temporary folder that goes with the test process. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'taskgate-'));
  folders.push(folder);
  return folder;
}

export type CommandResult = { code: number; out: string; err: string };

/** Runs another command of the binary beside a gateway, on its database. */
export async function runCommand(gateway: Gateway, argv: readonly string[], stdin = ''): Promise<CommandResult> {
  const child = Bun.spawn([BINARY, ...argv, '--data-dir', gateway.dataDir], {
    env: gateway.databaseUrl ? { DATABASE_URL: gateway.databaseUrl, ...SECRETS } : {},
    stdin: new TextEncoder().encode(stdin),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out, err };
}

/**
 * Secrets that PostgreSQL nodes need; fixed so that a restarted node reads what its predecessor
 * sealed.
 */
const SECRETS = {
  SESSION_SECRET: 'session-secret-of-the-tests-0123456789',
  CRYPTO_SECRET: 'crypto-secret-of-the-tests-0123456789',
};

/** Starts the binary and waits until it serves. Its environment holds nothing but what is given. */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const dataDir = options.dataDir ?? temporaryFolder();
  const port = options.port ?? (await freePort());
  const child = Bun.spawn(
    [
      ...(options.prefix ?? []),
      options.binary ?? BINARY,
      'serve',
      '--json',
      '--port',
      String(port),
      '--data-dir',
      dataDir,
    ],
    {
      cwd: dataDir,
      env: {
        LOG_FORMAT: 'json',
        ...(options.databaseUrl ? { DATABASE_URL: options.databaseUrl, ...SECRETS } : {}),
        ...options.env,
      },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: options.logFile === undefined ? 'pipe' : Bun.file(options.logFile),
    },
  );
  let log = '';
  let out = '';
  const read = Promise.all([
    child.stderr instanceof ReadableStream &&
      collect(child.stderr, (text) => {
        log += text;
      }),
    collect(child.stdout, (text) => {
      out += text;
    }),
  ]);
  let announcement: Record<string, unknown>;
  try {
    announcement = await until('the gateway is ready', async () => {
      if (child.exitCode !== null) {
        // Its last words may still be in the pipes.
        await Promise.race([read, Bun.sleep(10_000)]);
        throw new Error(`the gateway ended with ${child.exitCode}`);
      }
      const lines = out.split('\n').slice(0, -1);
      const line = lines.find((candidate) => candidate.startsWith('{') && candidate.includes('"address"'));
      return line === undefined ? undefined : (JSON.parse(line) as Record<string, unknown>);
    });
  } catch (error) {
    child.kill('SIGKILL');
    throw new Error(`${error instanceof Error ? error.message : error}\n${out}\n${log}`);
  }
  /**
   * Its end, with all that it has said read; a process that it leaves behind may hold the pipes
   * open.
   */
  const ended = async (): Promise<number> => {
    const code = await child.exited;
    await Promise.race([read, Bun.sleep(2000)]);
    return code;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    dataDir,
    databaseUrl: options.databaseUrl ?? '',
    pid: child.pid,
    announcement,
    setupUrl: announcement.setup_url as string | undefined,
    log: () => `${out}${log}`,
    async stop() {
      child.kill('SIGTERM');
      return ended();
    },
    async kill() {
      child.kill('SIGKILL');
      await ended();
    },
  };
}

async function collect(stream: ReadableStream<Uint8Array>, take: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) take(decoder.decode(chunk, { stream: true }));
}

export type Answer = { status: number; body: Record<string, unknown>; headers: Headers };

/** One JSON request, whatever its answer. */
export async function ask(
  url: string,
  init: { method?: string; token?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: init.method ?? (init.body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(init.token ? { authorization: `Bearer ${init.token}` } : {}),
      ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...init.headers,
    },
    ...(init.body === undefined ? {} : { body: typeof init.body === 'string' ? init.body : JSON.stringify(init.body) }),
  });
  const text = await response.text();
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(text) as Record<string, unknown>;
  } catch {
    body = { text };
  }
  return { status: response.status, body, headers: response.headers };
}

export const ROOT = { username: 'root', password: 'correct horse battery' };

export class Administrator {
  /** Security settings alone: other proofs are what their tests are about. */
  #proof: Record<string, string> | undefined;

  constructor(
    readonly url: string,
    readonly token: string,
  ) {}

  /**
   * A panel request that must succeed; gives `data`. Confirms with the password where the settings
   * ask for it, once.
   */
  async call<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T> {
    const send = (headers: Record<string, string> = {}) =>
      ask(`${this.url}${path}`, { method, token: this.token, headers, ...(body === undefined ? {} : { body }) });
    let answer = await send();
    const { code, details } = answer.body as { code?: string; details?: { scope?: string } };
    if (code === 'SECURITY_PROOF_REQUIRED' && details?.scope === 'settings.security') {
      this.#proof ??= await proofHeader({ url: this.url, token: this.token, password: ROOT.password });
      answer = await send(this.#proof);
    }
    if (answer.status !== 200 || answer.body.success !== true) {
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    return answer.body.data as T;
  }

  async createKey(fields: Record<string, unknown> = {}): Promise<string> {
    const made = await this.call<{ key: string }>('POST', '/api/token', {
      name: 'test',
      unlimited_quota: true,
      ...fields,
    });
    return made.key;
  }

  async createChannel(baseUrl: string, fields: Record<string, unknown> = {}): Promise<number> {
    const made = await this.call<{ id: number }>('POST', '/api/channel', {
      name: 'demo',
      type: 61,
      key: 'demo-vendor-key',
      base_url: baseUrl,
      models: ['demo-video', 'demo-video-pro'],
      task_plugin_key: 'demo',
      ...fields,
    });
    return made.id;
  }

  async quota(): Promise<number> {
    return (await this.call<{ quota: number }>('GET', '/api/user/self')).quota;
  }
}

/** Uses the one-time link, makes root and signs in. */
export async function setUp(gateway: Gateway): Promise<Administrator> {
  const token = new URL(gateway.setupUrl ?? '').hash.replace('#token=', '');
  const made = await ask(`${gateway.url}/api/setup`, { body: { token, ...ROOT } });
  if (made.status !== 200) throw new Error(`set-up: ${made.status} ${JSON.stringify(made.body)}`);
  return signIn(gateway.url);
}

export async function signIn(url: string): Promise<Administrator> {
  const answer = await ask(`${url}/api/user/login`, { body: ROOT });
  if (answer.status !== 200) throw new Error(`sign-in: ${answer.status} ${JSON.stringify(answer.body)}`);
  return new Administrator(url, (answer.body.data as { access_token: string }).access_token);
}

export type VendorProcess = {
  url: string;
  port: number;
  /** The vendor's own count of everything, or of one reference id (the public task id). */
  stats(reference?: string): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
};

/**
 * The built-in demo vendor as a process of its own, so that its count survives the gateway's death.
 */
export async function startVendor(): Promise<VendorProcess> {
  const port = await freePort();
  const child = Bun.spawn([BINARY, 'demo-vendor', '--port', String(port)], {
    env: {},
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const url = `http://127.0.0.1:${port}`;
  const stats = async (reference?: string) => {
    const query = reference === undefined ? '' : `?reference_id=${encodeURIComponent(reference)}`;
    return (await (await fetch(`${url}/stats${query}`)).json()) as Record<string, unknown>;
  };
  await until('the demo vendor answers', () =>
    stats().then(
      () => true,
      () => false,
    ),
  );
  return {
    url,
    port,
    stats,
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

/** The compiled binary as a process, and an administrator who uses it over HTTP. */

import { PASSWORD } from './cheap-hash.ts';
import { farLimits } from './far-limits.ts';
import { freePort } from './free-port.ts';
import { holdToDocument } from './hold-to-document.ts';
import { BINARY, databaseEnvironment, spawnCommand } from './run-command.ts';
import { proofHeader } from './security-proof.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

export type GatewayOptions = {
  dataDir?: string;
  databaseUrl?: string;
  port?: number;
  env?: Record<string, string>;
  /** A program and its arguments that become the gateway: `unshare`, `sh -c`. */
  prefix?: readonly string[];
  /** Default: the compiled binary. */
  program?: readonly string[];
};

/** The line that `serve --json` prints when it is ready. */
type Announcement = { address: string; port: number; data_dir: string; created: string[]; setup_url?: string };

export type Gateway = {
  url: string;
  port: number;
  dataDir: string;
  /** Empty on SQLite. */
  databaseUrl: string;
  pid: number;
  setupUrl: string | undefined;
  announcement: Announcement;
  /** Everything written to standard error so far; complete once the process has ended. */
  log(): string;
  /** Resolves when `text` has appeared in the log. */
  logged(text: string): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** The exit code, with the log read to its end. */
  exited: Promise<number>;
  /** SIGTERM; gives the exit code. */
  stop(): Promise<number>;
  /** SIGKILL. */
  kill(): Promise<void>;
};

/**
 * Starts the binary and waits until it serves. Its environment holds what is given, and limits that
 * are far away.
 */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const { dataDir = temporaryFolder(), databaseUrl = '', prefix = [], program = [BINARY] } = options;
  const port = options.port ?? (await freePort());
  const child = spawnCommand(['serve', '--json', '--port', String(port), '--data-dir', dataDir], {
    cwd: dataDir,
    prefix,
    program,
    env: { LOG_FORMAT: 'json', ...farLimits, ...databaseEnvironment(databaseUrl), ...options.env },
  });
  let log = '';
  let out = '';
  const read = Promise.all([
    collect(child.stderr, (text) => {
      log += text;
    }),
    collect(child.stdout, (text) => {
      out += text;
    }),
  ]);
  // A process that it leaves behind may hold the pipes open.
  const exited = child.exited.then(async (code) => {
    await Promise.race([read, Bun.sleep(2000)]);
    return code;
  });
  let announcement: Announcement;
  try {
    announcement = await until('the gateway is ready', async () => {
      if (child.exitCode !== null) {
        // Its last words may still be in the pipes.
        await Promise.race([read, Bun.sleep(10_000)]);
        throw new Error(`the gateway ended with ${child.exitCode}`);
      }
      const lines = out.split('\n').slice(0, -1);
      const line = lines.find((candidate) => candidate.startsWith('{') && candidate.includes('"address"'));
      return line === undefined ? undefined : (JSON.parse(line) as Announcement);
    });
  } catch (error) {
    child.kill('SIGKILL');
    throw new Error(`${error instanceof Error ? error.message : error}\n${out}\n${log}`);
  }
  const url = `http://127.0.0.1:${port}`;
  holdToDocument(url);
  return {
    url,
    port,
    dataDir,
    databaseUrl,
    pid: child.pid,
    announcement,
    setupUrl: announcement.setup_url,
    log: () => log,
    async logged(text) {
      await until(`the log has "${text}"`, () => log.includes(text));
    },
    signal: (name) => child.kill(name),
    exited,
    stop() {
      child.kill('SIGTERM');
      return exited;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
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
  const method = init.method ?? (init.body === undefined ? 'GET' : 'POST');
  const response = await fetch(url, {
    method,
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
    return { status: response.status, body: { text }, headers: response.headers };
  }
  return { status: response.status, body, headers: response.headers };
}

export const ROOT = { username: 'root', password: PASSWORD };

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

  /** Creates a user, with `PASSWORD` unless told otherwise; gives the id. */
  async createUser(fields: { username: string } & Record<string, unknown>): Promise<number> {
    return (await this.call<{ id: number }>('POST', '/api/user', { password: PASSWORD, ...fields })).id;
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

/** Clients see what a vendor refuses, and no task waits for an account with room. */
export const letNothingWait = (admin: Administrator): Promise<unknown> =>
  admin.call('PUT', '/api/option', { key: 'queue.max_wait_seconds', value: '0' });

export async function signIn(url: string, account: { username: string; password?: string } = ROOT) {
  const answer = await ask(`${url}/api/user/login`, { body: { password: PASSWORD, ...account } });
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
  const child = spawnCommand(['demo-vendor', '--port', String(port)]);
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

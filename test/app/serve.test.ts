import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';
import { chmodSync, chownSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { findProgram } from '../support/find-program.ts';
import { IS_FULL_RUN, testInFullRun } from '../support/full-run.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../support/gateway.ts';
import { startLivedTime } from '../support/lived-time.ts';
import { BINARY, type CommandOptions, databaseEnvironment, runCommand, spawnCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

/** Gives a program a terminal. */
const script = findProgram(['script']);

const running: Gateway[] = [];
const start = async (options: GatewayOptions = {}) => {
  const gateway = await startGateway(options);
  running.push(gateway);
  return gateway;
};
afterEach(async () => {
  for (const gateway of running.splice(0)) await gateway.kill();
});

const serveOnce = (dataDir: string, options: CommandOptions = {}) =>
  runCommand(['serve', '--port', '0', '--data-dir', dataDir], options);

/** A request with an incomplete body, for which the gateway has to wait. */
async function openRequest(port: number): Promise<{ socket: Socket; finish(): void; answer: Promise<string> }> {
  const socket = connect(port, '127.0.0.1');
  const body = JSON.stringify({ username: 'nobody', password: 'wrong-password' });
  const answer = new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    socket.on('close', () => resolve(text));
    socket.on('error', () => resolve(text));
  });
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  socket.write(
    `POST /api/user/login HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body.slice(0, 10)}`,
  );
  return { socket, finish: () => socket.write(body.slice(10)), answer };
}

describe('start', () => {
  test('prints address and set-up link, the link outside of the log', async () => {
    const gateway = await start();
    expect(gateway.announcement.address).toBe(`http://localhost:${gateway.port}`);
    expect((await fetch(`http://127.0.0.1:${gateway.port}/readyz`)).status).toBe(200);
    const token = gateway.setupUrl?.split('#token=')[1] ?? '';
    expect(token.length).toBeGreaterThan(20);
    expect(gateway.log()).not.toContain(token);
    expect(gateway.announcement.created.join()).toContain('secrets.json');
  });

  test('without a terminal it only logs, where the way to the set-up link is', async () => {
    const folder = temporaryFolder();
    const child = spawnCommand(['serve', '--port=0', `--data-dir=${folder}`]);
    const out = new Response(child.stdout).text();
    let log = '';
    for await (const chunk of child.stderr) {
      log += new TextDecoder().decode(chunk);
      if (log.includes('no administrator yet')) break;
    }
    const { out: link } = await runCommand(['open', '--print', `--data-dir=${folder}`]);
    child.kill('SIGKILL');
    expect(link).toMatch(/^http:\/\/localhost:\d+\/setup#token=\S+\n$/);
    expect(log).toContain('taskgate open --print');
    expect(log).not.toContain('#token=');
    expect(await out).toBe('');
  });

  test.skipIf(script === null)('on a terminal it prints text for people', async () => {
    const folder = temporaryFolder();
    const child = spawnCommand([script ?? '', '-qefc', `${BINARY} serve --port=0 --data-dir=${folder}`, '/dev/null'], {
      ...{ program: [], env: { LOG_LEVEL: 'error' } },
    });
    let text = '';
    // The output may come in parts.
    for await (const chunk of child.stdout) {
      text += new TextDecoder().decode(chunk);
      if (text.includes('/setup#token=') && text.includes('SQLite in') && text.endsWith('\n')) break;
    }
    child.kill('SIGKILL');
    await child.exited;
    expect(text).toMatch(/Taskgate \d+\.\d+\.\d+ is ready at http:\/\/localhost:\d+/);
    expect(text).toMatch(/http:\/\/localhost:\d+\/setup#token=\S+/);
    expect(text).toContain(`SQLite in ${folder}`);
  });

  test('keeps its secrets across a restart, with mode 0600', async () => {
    const first = await start();
    const file = join(first.dataDir, 'secrets.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const before = readFileSync(file, 'utf8');
    expect(await first.stop()).toBe(0);
    const second = await start({ dataDir: first.dataDir });
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(second.announcement.created).toEqual([]);
    for (const secret of Object.values(JSON.parse(before) as Record<string, string>)) {
      expect(first.log() + second.log()).not.toContain(secret);
    }
  });
});

describe('lost secrets', () => {
  test('stop the start while the database holds sealed values, until the operator gives them up', async () => {
    const first = await start();
    const { dataDir } = first;
    expect(await first.stop()).toBe(0);
    const database = new Database(join(dataDir, 'taskgate.db'));
    database.run("insert into options (key, value) values ('SMTPToken', 'v1.lost')");
    database.close();
    const file = join(dataDir, 'secrets.json');
    const lost = readFileSync(file, 'utf8');
    rmSync(file);
    const { code, err } = await serveOnce(dataDir);
    expect(code).toBe(1);
    expect(err).toContain(`${file} is missing`);
    expect(err).toContain('restore the file from a backup');
    expect(err).toContain('REPLACE_LOST_SECRETS=true');
    expect(existsSync(file)).toBe(false);
    const again = await start({ dataDir, env: { REPLACE_LOST_SECRETS: 'true' } });
    expect(readFileSync(file, 'utf8')).not.toBe(lost);
    expect(again.announcement.created.join()).toContain('secrets.json');
  });
});

describe('a start that cannot succeed says why and exits 1', () => {
  test('port in use', async () => {
    const gateway = await start();
    const { code, err } = await runCommand(['serve', '--port', String(gateway.port), '--data-dir', temporaryFolder()]);
    expect(code).toBe(1);
    expect(err).toContain(`port ${gateway.port} on 127.0.0.1 is in use`);
    expect(err).toContain('--port');
  });

  test('data directory of a running gateway', async () => {
    const gateway = await start();
    const { code, err } = await serveOnce(gateway.dataDir);
    expect(code).toBe(1);
    expect(err).toContain(`Another gateway is running on the data directory ${gateway.dataDir}`);
    expect((await fetch(`http://127.0.0.1:${gateway.port}/readyz`)).status).toBe(200);
  });

  test('data directory without write permission', async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o555);
    const asRoot = process.getuid?.() === 0;
    // Permissions do not bind root, so this runs as an unprivileged user who can read the program.
    if (asRoot) chownSync(folder, 0, 0);
    const prefix = asRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
    const { code, err } = await serveOnce(folder, { prefix });
    expect(code).toBe(1);
    expect(err).toContain(`the data directory ${folder} cannot be used: no permission to write there`);
  });

  test('disk full', async () => {
    const folder = temporaryFolder();
    const script = `mount -t tmpfs -o size=32k tmpfs ${folder} && exec "$0" "$@"`;
    const { code, err } = await serveOnce(folder, { prefix: ['unshare', '-Urm', 'sh', '-c', script] });
    expect(code).toBe(1);
    expect(err).toContain('the disk is full');
  });

  test('PostgreSQL without secrets', async () => {
    const { code, err } = await serveOnce(temporaryFolder(), {
      env: { DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x' },
    });
    expect(code).toBe(1);
    expect(err).toContain('SESSION_SECRET: not set');
    expect(err).toContain('CRYPTO_SECRET: not set');
    expect(err).not.toContain('hunter2');
  });

  test('PostgreSQL that does not answer', async () => {
    const { code, err } = await serveOnce(temporaryFolder(), {
      env: databaseEnvironment('postgres://u:hunter2@127.0.0.1:1/x'),
    });
    expect(code).toBe(1);
    expect(err).toContain('PostgreSQL cannot be reached');
    expect(err).not.toContain('unexpected error');
    expect(err).not.toContain('hunter2');
  });

  test('all invalid values are named', async () => {
    const { code, err } = await serveOnce(temporaryFolder(), {
      env: { NODE_ROLE: 'boss', TASK_POLL_INTERVAL_SECONDS: '0' },
    });
    expect(code).toBe(1);
    expect(err).toContain('NODE_ROLE: read "boss"; allowed: master, worker');
    expect(err).toContain('TASK_POLL_INTERVAL_SECONDS: read "0"');
  });
});

test.each([['abc'], ['70000'], ['-1']])(
  '--port %s is wrong usage: exit 2, with the rule and where help is',
  async (port) => {
    const { code, err } = await runCommand(['serve', `--port=${port}`, '--data-dir', temporaryFolder()]);
    expect(code).toBe(2);
    expect(err).toContain(`--port: read "${port}"; allowed:`);
    expect(err).toContain('See: taskgate --help');
  },
);

describe('shutdown', () => {
  const signals: ('SIGTERM' | 'SIGINT')[] = IS_FULL_RUN ? ['SIGTERM', 'SIGINT'] : ['SIGTERM'];
  test.each(signals)('%s lets the request in flight finish, then exits 0', async (signal) => {
    const gateway = await start();
    const request = await openRequest(gateway.port);
    // Once a later request has been answered, this one has arrived.
    await fetch(`http://127.0.0.1:${gateway.port}/livez`);
    gateway.signal(signal);
    await gateway.logged('stopping');
    request.finish();
    expect(await request.answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(await gateway.exited).toBe(0);
    expect(gateway.log()).toContain('"stopped"');
  });

  test('accepts no new connection while it drains', async () => {
    const gateway = await start();
    const request = await openRequest(gateway.port);
    await fetch(`http://127.0.0.1:${gateway.port}/livez`);
    gateway.signal('SIGTERM');
    await gateway.logged('stopping');
    const refused = async () => {
      try {
        await fetch(`http://127.0.0.1:${gateway.port}/livez`, { headers: { connection: 'close' } });
        return false;
      } catch {
        return true;
      }
    };
    while (!(await refused())) await Bun.sleep(5);
    request.finish();
    expect(await request.answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(await gateway.exited).toBe(0);
  });

  testInFullRun('waits no longer than SHUTDOWN_TIMEOUT_SECONDS', async () => {
    const gateway = await start({ env: { SHUTDOWN_TIMEOUT_SECONDS: '1' } });
    const request = await openRequest(gateway.port);
    await fetch(`http://127.0.0.1:${gateway.port}/livez`);
    const lived = startLivedTime();
    expect(await gateway.stop()).toBe(0);
    expect(lived.stop()).toBeLessThan(5000);
    await request.answer;
  });

  test('a second signal ends it at once', async () => {
    const gateway = await start();
    const request = await openRequest(gateway.port);
    await fetch(`http://127.0.0.1:${gateway.port}/livez`);
    gateway.signal('SIGTERM');
    await gateway.logged('stopping');
    gateway.signal('SIGTERM');
    expect(await gateway.exited).toBe(1);
    await request.answer;
  });

  test('killed or stopped, it leaves no process behind', async () => {
    for (const end of ['SIGTERM', 'SIGKILL'] as const) {
      const gateway = await start();
      await until(() => listChildren(gateway.pid).length > 0);
      const children = listChildren(gateway.pid);
      gateway.signal(end);
      await gateway.exited;
      while (children.some(isRunning)) await Bun.sleep(10);
    }
  });
});

/** A zombie process counts as gone. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

function listChildren(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

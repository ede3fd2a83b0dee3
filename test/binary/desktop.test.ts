import { afterEach, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testInFullRun } from '../support/full-run.ts';
import { ask, ROOT } from '../support/gateway.ts';
import { outsideContainer } from '../support/outside-container.ts';
import { runCommand, spawnCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

/** In a container no browser would be opened. */
const outside = outsideContainer();

const running: ReturnType<typeof spawnCommand>[] = [];
afterEach(async () => {
  for (const child of running.splice(0)) {
    child.kill('SIGTERM');
    await child.exited;
  }
});

/** A person's home on a desktop whose browser writes down what it is asked to open. */
function makeDesktop() {
  const home = temporaryFolder();
  const opened = join(home, 'opened');
  const browser = join(home, 'bin/xdg-open');
  mkdirSync(join(home, 'bin'));
  writeFileSync(browser, `#!/bin/sh\necho "$1" >> "${opened}"\n`);
  chmodSync(browser, 0o755);
  const env = {
    HOME: home,
    DISPLAY: ':7',
    PATH: `${join(home, 'bin')}:/usr/sbin:/usr/bin:/bin`,
    LOG_LEVEL: 'error',
    PORT: '0',
  };
  return {
    env,
    home,
    dataDir: join(home, '.local/share/taskgate'),
    addresses: () => (existsSync(opened) ? readFileSync(opened, 'utf8').trim().split('\n') : []),
  };
}

type Desktop = ReturnType<typeof makeDesktop>;

/** Starts the program in the person's home; gives the link that is printed for them. */
async function start({ env, home }: Desktop, argv: string[] = []): Promise<string> {
  const child = spawnCommand(argv, { env, cwd: home, prefix: outside ?? [] });
  running.push(child);
  let out = '';
  void (async () => {
    for await (const chunk of child.stdout) out += new TextDecoder().decode(chunk);
  })();
  // Where no browser is opened, only a terminal gets the link.
  const folder = argv[argv.indexOf('--data-dir') + 1] ?? '';
  const asks = ['open', '--print', ...(argv.includes('--data-dir') ? ['--data-dir', folder] : [])];
  return until('there is a link', async () => {
    const asked = await runCommand(asks, { env, cwd: home });
    return /http:\S+#token=\S+/.exec(out + asked.out)?.[0];
  });
}

describe('a start without a command', () => {
  test.skipIf(outside === undefined)(
    'serves, opens the set-up link, and keeps its data where the system expects it',
    async () => {
      const desktop = makeDesktop();
      const link = await start(desktop);
      expect(await until('the browser opens', () => desktop.addresses()[0])).toBe(link);
      expect(statSync(join(desktop.dataDir, 'taskgate.db')).isFile()).toBe(true);
      expect(existsSync(join(desktop.home, 'data'))).toBe(false);

      const options = { env: desktop.env, cwd: desktop.home, prefix: outside ?? [] };
      // A second start, and the command for it, open the one that runs.
      const again = await runCommand([], options);
      expect([again.code, again.out]).toEqual([0, `Taskgate is running already: ${link}\n`]);
      await until('the browser opens again', () => desktop.addresses().length === 2);
      const opened = await runCommand(['open'], options);
      expect([opened.code, opened.out]).toEqual([0, `${link}\n`]);
      await until('the browser opens a third time', () => desktop.addresses().length === 3);
      expect(new Set(desktop.addresses())).toEqual(new Set([link]));

      // The link is used once: from then on the panel's address is opened.
      const url = new URL(link);
      const token = url.hash.replace('#token=', '');
      expect((await ask(`${url.origin}/api/setup`, { body: { token, ...ROOT } })).status).toBe(200);
      const after = await runCommand(['open', '--print'], { env: desktop.env, cwd: desktop.home });
      expect(after.out).toBe(`${url.origin}\n`);
    },
  );

  test('takes options, and opens nothing when told so', async () => {
    const desktop = makeDesktop();
    const dataDir = join(desktop.home, 'elsewhere');
    await start(desktop, ['--no-open', '--data-dir', dataDir]);
    expect(existsSync(join(dataDir, 'taskgate.db'))).toBe(true);
    const opened = await runCommand(['open', '--data-dir', dataDir, '--print'], { env: desktop.env });
    expect(opened.code).toBe(0);
    expect(desktop.addresses()).toEqual([]);
  });

  testInFullRun('stays with ./data where that exists', async () => {
    const desktop = makeDesktop();
    mkdirSync(join(desktop.home, 'data'), { mode: 0o700 });
    await start(desktop);
    expect(existsSync(join(desktop.home, 'data/taskgate.db'))).toBe(true);
    expect(existsSync(desktop.dataDir)).toBe(false);
  });

  testInFullRun('opens no browser over SSH', async () => {
    const desktop = makeDesktop();
    await start({ ...desktop, env: { ...desktop.env, SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' } as Desktop['env'] });
    await runCommand(['open', '--print'], { env: desktop.env, cwd: desktop.home });
    expect(desktop.addresses()).toEqual([]);
  });
});

test('stolen set-up link: only the owner of the data directory can read where it is kept, until the stop', async () => {
  const desktop = makeDesktop();
  await start(desktop, ['serve']);
  const path = join(desktop.dataDir, 'taskgate.address');
  await until('the address is recorded', () => existsSync(path));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(desktop.dataDir).mode & 0o777).toBe(0o700);
  running[0]?.kill('SIGTERM');
  await running[0]?.exited;
  expect(existsSync(path)).toBe(false);
});

test('a gateway that does not run is not opened, nor another program at the address that a crash left behind', async () => {
  const desktop = makeDesktop();
  const open = () => runCommand(['open'], { env: desktop.env, cwd: desktop.home });
  expect(await open()).toMatchObject({ code: 1, err: expect.stringContaining('no gateway is running') });
  const other = Bun.serve({ port: 0, hostname: 'localhost', fetch: () => new Response('hello') });
  try {
    mkdirSync(desktop.dataDir, { recursive: true, mode: 0o700 });
    writeFileSync(
      join(desktop.dataDir, 'taskgate.address'),
      JSON.stringify({ address: `http://localhost:${other.port}` }),
    );
    expect(await open()).toMatchObject({ code: 1, err: expect.stringContaining('no gateway is running') });
  } finally {
    await other.stop(true);
  }
  expect(desktop.addresses()).toEqual([]);
});

describe('service', () => {
  const systemctl = (home: string, code = 0) => {
    const path = join(home, 'bin/systemctl');
    writeFileSync(path, `#!/bin/sh\necho "$@" >> "${home}/calls"\necho active\nexit ${code}\n`);
    chmodSync(path, 0o755);
  };

  test.skipIf(process.platform !== 'linux')('a user installs it, sees that it runs, and removes it', async () => {
    const { env, home } = makeDesktop();
    systemctl(home);
    const unit = join(home, '.config/systemd/user/taskgate.service');
    const made = await runCommand(['service', 'install', '--user', '--port', '3210'], { env, cwd: home });
    expect([made.code, made.err]).toEqual([0, '']);
    expect(readFileSync(unit, 'utf8')).toContain('serve --port 3210\n');
    expect(readFileSync(unit, 'utf8')).toContain(`DATA_DIR=${home}/.local/share/taskgate\n`);
    const status = await runCommand(['service', 'status', '--user', '--json'], { env, cwd: home });
    expect([status.code, JSON.parse(status.out)]).toMatchObject([0, { running: true, scope: 'user' }]);
    const uninstall = () => runCommand(['service', 'uninstall', '--user'], { env, cwd: home });
    expect(await uninstall()).toMatchObject({ code: 0, out: expect.stringContaining('was removed') });
    expect(existsSync(unit)).toBe(false);
    expect(readFileSync(join(home, 'calls'), 'utf8').trim().split('\n')).toEqual([
      '--user daemon-reload',
      '--user enable --now taskgate.service',
      '--user is-active taskgate.service',
      '--user disable --now taskgate.service',
    ]);
    // systemctl knows it no more.
    systemctl(home, 1);
    expect(await uninstall()).toMatchObject({
      code: 0,
      out: expect.stringContaining('No service (user) is installed'),
    });
  });

  test.skipIf(process.platform !== 'linux')('a service that does not start is a failure with its reason', async () => {
    const { env, home } = makeDesktop();
    systemctl(home, 1);
    const made = await runCommand(['service', 'install', '--user'], { env, cwd: home });
    expect([made.code, made.err]).toEqual([
      1,
      expect.stringContaining('systemctl --user daemon-reload failed: active'),
    ]);
    expect((await runCommand(['service', 'status', '--user'], { env, cwd: home })).code).toBe(1);
  });
});

import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxFailure } from '../../src/sandbox/index.ts';
import { testInFullRun } from '../support/full-run.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import {
  catchFailure,
  hook,
  listChildren,
  MEBIBYTE,
  plugin,
  readResult,
  residentBytes,
  startSandbox,
  until,
} from './start-sandbox.ts';

const folder = temporaryFolder();

const gone = (pid: number): boolean => {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
};

describe('a child process', () => {
  const sandbox = startSandbox();
  afterAll(() => sandbox.close());
  const child = async (): Promise<number> => {
    await readResult(sandbox, plugin('export function id() { return 1 }'), hook('id'));
    const [pid] = listChildren(process.pid);
    if (!pid) throw new Error('there is no child');
    return pid;
  };

  test("has an empty environment, whatever the gateway's holds", async () => {
    process.env.SANDBOX_TEST_SECRET = 'hidden';
    expect(readFileSync(`/proc/${await child()}/environ`, 'utf8')).toBe('');
  });

  test('has no descriptor of the gateway except its channel', async () => {
    const server = Bun.serve({ port: 0, fetch: () => new Response('') });
    const pid = await child();
    const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
    await server.stop(true);
    expect(open.filter((target) => target === '/dev/null')).toHaveLength(3);
    expect(open.filter((target) => target.startsWith('socket:'))).toHaveLength(1);
    expect(open.filter((target) => !/^(\/dev\/null|socket:|anon_inode:)/.test(target))).toEqual([]);
  });

  test('cannot write files or dump core, and can open few files', async () => {
    const limits = readFileSync(`/proc/${await child()}/limits`, 'utf8');
    expect(limits).toMatch(/Max file size\s+0\s+0/);
    expect(limits).toMatch(/Max core file size\s+0\s+0/);
    expect(limits).toMatch(/Max open files\s+32\s+32/);
  });

  test('has only the program on its command line', async () => {
    const line = readFileSync(`/proc/${await child()}/cmdline`, 'utf8')
      .split('\0')
      .filter(Boolean);
    expect(line.at(-1)).toBe('__sandbox');
    expect(line).toHaveLength(3);
  });

  test('releases the program pages that its start has mapped', async () => {
    const pid = await child();
    const mappedMib = () =>
      Number(/^RssFile:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
    // The whole program has 100 MB, its start touches 40.
    await until(() => mappedMib() < 32);
    expect(await readResult(sandbox, plugin('export function id() { return 1 }'), hook('id'))).toBe(1);
  });

  test('is small', async () => {
    expect(residentBytes(await child())).toBeLessThan(110 * 1024 * 1024);
  });
});

test('if the deadline passes while the guest is being created, only the call fails', async () => {
  const before = new Set(listChildren(process.pid));
  const hurried = startSandbox({ callTimeoutMs: 1, killGraceMs: 20_000 });
  await hurried.call(plugin('export function id() { return 1 }'), hook('id'));
  const pids = listChildren(process.pid).filter((pid) => !before.has(pid));
  expect(pids.length).toBeGreaterThan(0);
  for (let i = 0; i < 3; i += 1) {
    const slow = plugin(`for (let i = 0; i < 1e9; i += 1); export function id() { return ${i} }`);
    expect(await catchFailure(hurried.call(slow, hook('id')))).toMatchObject({
      kind: 'timeout',
      message: 'did not end within the limit of 1 ms',
    });
  }
  expect(pids.filter((pid) => !gone(pid))).toEqual(pids);
  await hurried.close();
});

describe('when the gateway is killed', () => {
  for (const state of ['idle', 'busy']) {
    test(`its ${state} child ends at once`, async () => {
      const parent = Bun.spawn([process.execPath, join(import.meta.dir, 'run-parent.ts'), state], { stdout: 'pipe' });
      const { value } = await parent.stdout.getReader().read();
      const pids = new TextDecoder().decode(value).trim().split(',').map(Number);
      expect(pids.length).toBeGreaterThan(0);
      parent.kill('SIGKILL');
      await parent.exited;
      await until(() => pids.every(gone), 30_000);
    });
  }
});

test('a call that nobody stops ends its process by an alarm', async () => {
  // As with a gateway that hangs: it would not kill for a minute.
  const others = listChildren(process.pid);
  const sandbox = startSandbox({ processes: 1, callTimeoutMs: 500, killGraceMs: 60_000 });
  await sandbox.ready();
  const pid = listChildren(process.pid).find((child) => !others.includes(child)) ?? 0;
  expect(pid).toBeGreaterThan(0);
  const call = sandbox.call(plugin('export function f() { return new Array(2 ** 32 - 1).includes(1) }'), hook('f'));
  await until(() => gone(pid), 50_000);
  expect(sandbox.stats().kills).toBe(0);
  await sandbox.close();
  expect((await call).ok).toBe(false);
});

test('a compiled program runs hooks in copies of itself, in an empty folder and environment', async () => {
  const program = join(folder, 'program');
  const built = Bun.spawnSync([
    process.execPath,
    ...['build', '--compile', '--minify', '--bytecode', '--format', 'esm', '--outfile', program],
    join(import.meta.dir, 'run-compiled.ts'),
  ]);
  expect(built.exitCode).toBe(0);
  const ran = Bun.spawnSync([program], { cwd: folder, env: {} });
  expect(JSON.parse(ran.stdout.toString())).toEqual({
    sum: 42,
    sign: 'cb448b440c42ac8ad084fc8a8795c98f5b7802359c305eabd57ecdb20e248896',
  });
});

test('every call gets its own result', async () => {
  const sandbox = startSandbox();
  const echo = plugin('export function id(x) { return x }');
  const answers = await Promise.all(Array.from({ length: 500 }, (_, i) => sandbox.call(echo, hook('id', [i]))));
  expect(answers.map((answer) => answer.ok && answer.value.value)).toEqual(Array.from({ length: 500 }, (_, i) => i));
  await sandbox.close();
});

testInFullRun('processes that answer large calls one after the other stay within the memory limit', async () => {
  const sandbox = startSandbox({ processes: 4, callTimeoutMs: 30_000 });
  const text = 'x'.repeat(4 * MEBIBYTE);
  const bytes = 8 * MEBIBYTE;
  const failures: SandboxFailure[] = [];
  await Promise.all(
    [1, 2, 3, 4].map(async (number) => {
      const echo = plugin(`export function id(x) { return x } // ${number}`, `plugin-${number}`);
      for (let call = 0; call < 12; call += 1) {
        const owner = `user:${number}`;
        const outcome = await sandbox.call(
          echo,
          hook('id', [text], { owner, maxArgsBytes: bytes, maxResultBytes: bytes }),
        );
        if (!outcome.ok) failures.push(outcome.error);
      }
    }),
  );
  expect(failures).toEqual([]);
  expect(sandbox.stats().kills).toBe(0);
  await sandbox.close();
});

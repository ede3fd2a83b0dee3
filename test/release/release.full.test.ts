import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { releaseTargets } from '../../scripts/release/targets.ts';
import { generateSigningKey, writePublicKeyFile, writeSecretKeyFile } from '../../src/plugins/index.ts';
import { canOverlay, makeBareRoot, overlayRoot } from '../support/bare-root.ts';
import { findProgram } from '../support/find-program.ts';
import { freePort } from '../support/free-port.ts';
import { type Administrator, ask, ROOT, signIn, startVendor } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

setDefaultTimeout(1_800_000);

const root = resolve(import.meta.dir, '../..');
const key = generateSigningKey();
const keyFolder = temporaryFolder();
writeFileSync(join(keyFolder, 'release.key'), writeSecretKeyFile(key, ''));
writeFileSync(join(keyFolder, 'release.pub'), writePublicKeyFile(key.publicKey));

const run = (command: string[], options: { cwd?: string; env?: Record<string, string> } = {}) => {
  const [program = '', ...args] = command;
  const env = { ...process.env, ...options.env };
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1e8, ...options, env });
  return { status, text: stdout + stderr };
};

/** A clean checkout in a folder of its own, with the packages and runtimes of this one. */
function checkOut(): string {
  const folder = join(temporaryFolder(), 'checkout');
  expect(run(['git', 'clone', '--quiet', root, folder])).toMatchObject({ status: 0 });
  // Links, since hundreds of megabytes do not change.
  for (const name of ['node_modules', 'build/runtimes', 'build/tools']) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    run(['cp', '-al', join(root, name), join(folder, name)]);
  }
  return folder;
}

function release(folder: string, ...args: string[]): string {
  const env = { RELEASE_KEY_FILE: join(keyFolder, 'release.key') };
  const built = run([process.execPath, 'scripts/release.ts', ...args], { cwd: folder, env });
  expect(built).toMatchObject({ status: 0 });
  return join(folder, 'dist/release');
}

let out: string;
/** A release that was made before, to look at that one. */
const { TASKGATE_RELEASE: made = '' } = process.env;
beforeAll(() => {
  out = made || release(checkOut());
});
afterAll(() => {
  if (made === '') rmSync(out, { recursive: true, force: true });
});

const fileNamed = (pattern: RegExp): string => {
  const name = readdirSync(out).find((each) => pattern.test(each));
  if (name === undefined) throw new Error(`no ${pattern} among ${readdirSync(out).join(', ')}`);
  return join(out, name);
};

test.skipIf(made !== '')('two clean checkouts in different folders give the same bytes', () => {
  const again = release(checkOut());
  expect(readdirSync(again).sort()).toEqual(readdirSync(out).sort());
  // The list has the digests of all others. Signatures of the same are the same.
  for (const name of ['SHA256SUMS', 'SHA256SUMS.minisig']) {
    expect(readFileSync(join(again, name), 'utf8')).toBe(readFileSync(join(out, name), 'utf8'));
  }
});

test.skipIf(made !== '')('minisign and sha256sum find the release right', () => {
  expect(run(['sha256sum', '--check', '--quiet', 'SHA256SUMS'], { cwd: out })).toEqual({ status: 0, text: '' });
  const minisign = findProgram(['minisign']);
  if (minisign === null) return;
  const verified = run([minisign, '-V', '-p', join(keyFolder, 'release.pub'), '-m', 'SHA256SUMS'], { cwd: out });
  expect(verified).toMatchObject({ status: 0, text: expect.stringContaining('Trusted comment: taskgate release ') });
});

/** How an executable of each platform begins: format and machine. */
const HEADERS: Record<string, (head: Buffer) => boolean> = {
  'linux-x64': (head) => isElf(head, 62) && head.includes('ld-linux-x86-64.so.2'),
  'linux-arm64': (head) => isElf(head, 183) && head.includes('ld-linux-aarch64.so.1'),
  'linux-x64-musl': (head) => isElf(head, 62) && head.includes('ld-musl-x86_64.so.1'),
  'linux-arm64-musl': (head) => isElf(head, 183) && head.includes('ld-musl-aarch64.so.1'),
  'darwin-x64': (head) => head.readUInt32LE(0) === 0xfeedfacf && head.readUInt32LE(4) === 0x01000007,
  // It is also signed (load command 0x1d), without which the system does not start it.
  'darwin-arm64': (head) =>
    head.readUInt32LE(0) === 0xfeedfacf && head.readUInt32LE(4) === 0x0100000c && hasCommand(head, 0x1d),
  'windows-x64': (head) => {
    const at = head.readUInt32LE(0x3c);
    return (
      head.toString('latin1', 0, 2) === 'MZ' &&
      head.toString('latin1', at, at + 4) === 'PE\0\0' &&
      head.readUInt16LE(at + 4) === 0x8664
    );
  },
};
const isElf = (head: Buffer, machine: number) =>
  head.toString('latin1', 1, 4) === 'ELF' && head.readUInt16LE(18) === machine;

function hasCommand(head: Buffer, wanted: number): boolean {
  let at = 32;
  for (let left = head.readUInt32LE(16); left > 0; left -= 1) {
    if (head.readUInt32LE(at) === wanted) return true;
    at += head.readUInt32LE(at + 4);
  }
  return false;
}

test.each(releaseTargets.map((target) => [target.name, target] as const))(
  '%s: an executable of that platform',
  (name, target) => {
    const folder = temporaryFolder();
    const archive = fileNamed(new RegExp(`^taskgate-[\\d.]+-${name}\\.(?:tar\\.gz|zip)$`));
    const unpack =
      target.archive === 'zip'
        ? ['python3', '-m', 'zipfile', '-e', archive, folder]
        : ['tar', '-xzf', archive, '-C', folder];
    expect(run(unpack)).toMatchObject({ status: 0 });
    const path = join(folder, readdirSync(folder)[0] ?? '', target.executable);
    const head = Buffer.alloc(8192);
    const file = openSync(path, 'r');
    readSync(file, head);
    closeSync(file);
    expect(HEADERS[name]?.(head)).toBe(true);
    const thisOne = `${process.platform}-${process.arch}`;
    const emulator = name === 'linux-arm64' ? findProgram(['qemu-aarch64-static']) : null;
    const libraries = '/usr/aarch64-linux-gnu';
    if (name === thisOne) expect(run([path, 'version', '--json']).text).toContain(`"target":"${name}"`);
    else if (emulator && run(['ls', libraries]).status === 0) {
      expect(run([emulator, '-L', libraries, path, 'version', '--json']).text).toContain(`"target":"${name}"`);
    }
    rmSync(folder, { recursive: true, force: true });
  },
);

/** What a new user waits at most, from the download to the end of the first task. */
const NEW_USER_MS = 60_000;

/** Begins when a download is unpacked; `ended` prints how long it took to the end of a task. */
function startWatch(what: string): { ended: () => void } {
  const begun = performance.now();
  return {
    ended() {
      const ms = performance.now() - begun;
      console.log(`${what}: ${(ms / 1000).toFixed(1)} s from the download to the first finished task`);
      expect(ms).toBeLessThan(NEW_USER_MS);
    },
  };
}

/** A new user's first task: the demo channel's vendor, from the set-up link to the end. */
async function firstTask(link: string): Promise<void> {
  const url = new URL(link);
  const origin = `http://127.0.0.1:${url.port}`;
  const token = url.hash.replace('#token=', '');
  expect((await ask(`${origin}/api/setup`, { body: { token, ...ROOT } })).status).toBe(200);
  const admin: Administrator = await signIn(origin);
  const vendor = await startVendor();
  try {
    await admin.createChannel(vendor.url);
    const apiKey = await admin.createKey();
    const sent = await submit(origin, apiKey, {
      plugin: 'demo',
      model: 'demo-video',
      prompt: 'a boat [duration=1]',
      seconds: 5,
    });
    expect(sent.status).toBe(200);
    expect((await waitForEnd(origin, apiKey, String(sent.body.id))).status).toBe('SUCCESS');
  } finally {
    await vendor.stop();
  }
}

/**
 * Starts a gateway by this command, and reads the set-up link from what it prints, or from what
 * `ask` does: without a terminal a gateway prints no link. Ends it by a signal and by the end of
 * its input. Gives all that it printed.
 */
async function withGateway(command: string[], use: (link: string) => Promise<void>, ask?: string[]): Promise<string> {
  const child = Bun.spawn(command, { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' });
  let text = '';
  const read = (async () => {
    for await (const chunk of child.stdout) text += new TextDecoder().decode(chunk);
  })();
  try {
    await use(
      await until('the gateway prints its link', () => /http:\S+#token=\S+/.exec(ask ? run(ask).text : text)?.[0]),
    );
  } finally {
    await child.stdin.end();
    // A command with more to do than to serve ends the gateway at its input's end.
    if (!command.includes('bash')) child.kill('SIGTERM');
    await child.exited;
    await read;
  }
  return text;
}

describe('packages', () => {
  test.skipIf(!canOverlay || findProgram(['dpkg']) === null)(
    '.deb: installed on Debian, its service does a first task; removed, its data stays',
    async () => {
      const port = await freePort();
      const script = [
        'set -e',
        `dpkg -i "$0"`,
        'stat -c "%a %U:%G %n" /etc/taskgate/taskgate.env /var/lib/taskgate /usr/bin/taskgate',
        'systemd-analyze verify --man=no /usr/lib/systemd/system/taskgate.service',
        `echo PORT=${port} >> /etc/taskgate/taskgate.env`,
        // What the unit does, where no systemd runs.
        'taskgatectl serve < /dev/null & server=$!',
        'until taskgatectl healthcheck >/dev/null 2>&1; do sleep 0.1; done',
        'taskgatectl open --print',
        // Until the test has done its task.
        'cat > /dev/null; kill $server; wait $server || true',
        'if taskgate upgrade --back; then exit 1; fi',
        'dpkg --purge taskgate',
        'ls -d /var/lib/taskgate/taskgate.db; test ! -e /usr/bin/taskgate; echo all done',
      ].join('\n');
      // The package lies in the part of the file system that the copy shows too.
      const watch = startWatch('.deb');
      const command = [...overlayRoot(), 'bash', '-c', script, fileNamed(/_linux_amd64\.deb$/)];
      const text = await withGateway(command, async (link) => {
        await firstTask(link);
        watch.ended();
      });
      expect(text).toContain('640 root:taskgate /etc/taskgate/taskgate.env');
      expect(text).toContain('700 taskgate:taskgate /var/lib/taskgate');
      expect(text).toContain('755 root:root /usr/bin/taskgate');
      expect(text).toEndWith('all done\n');
    },
  );

  test.skipIf(findProgram(['rpm']) === null)('.rpm: what rpm reads of it', () => {
    const rpm = fileNamed(/_linux_amd64\.rpm$/);
    const listed = run(['rpm', '-qp', '--nosignature', '--qf', '%{NAME} %{LICENSE} %{ARCH} %{BUILDHOST}\n', rpm]);
    expect(listed.text).toContain('taskgate Apache-2.0 x86_64 taskgate');
    expect(run(['rpm', '-qpl', rpm]).text).toContain('/usr/lib/systemd/system/taskgate.service');
    expect(run(['rpm', '-qpc', rpm]).text.trim().split('\n').at(-1)).toBe('/etc/taskgate/taskgate.env');
    expect(run(['rpm', '-qp', '--scripts', rpm]).text).toContain('useradd --system');
    expect(run(['rpm', '-K', '--nosignature', rpm])).toMatchObject({ status: 0 });
  });
});

test.skipIf(!canOverlay)(
  'the image: in a root with its libraries alone, as its user, it is healthy and does a first task',
  async () => {
    const watch = startWatch('the image, without its build');
    const folder = temporaryFolder();
    expect(run(['tar', '-xzf', fileNamed(/-container\.tar\.gz$/), '-C', folder])).toMatchObject({ status: 0 });
    const context = join(folder, readdirSync(folder)[0] ?? '');
    const image = join(folder, 'image');
    const executable = join(context, 'linux-amd64/taskgate');
    await makeBareRoot(image, [executable]);
    copyFileSync(executable, join(image, 'usr/bin/taskgate'));
    mkdirSync(join(image, 'data'), { mode: 0o700 });
    run(['chown', '65532:65532', join(image, 'data')]);
    // The settings are those of the Dockerfile.
    const dockerfile = readFileSync(join(context, 'Dockerfile'), 'utf8');
    const [, settings = ''] = /^ENV (.*)$/m.exec(dockerfile) ?? [];
    const port = await freePort();
    const env = { ...Object.fromEntries(settings.split(' ').map((each) => each.split('='))), PORT: String(port) };
    // A container's runtime brings these two folders too.
    const script = [
      'mount --make-rprivate / && mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev"',
      'exec chroot --userspec=65532:65532 "$0" /usr/bin/env -i "$@"',
    ].join('\n');
    const inside = (...argv: string[]) => ['/usr/bin/unshare', '--mount', 'sh', '-e', '-c', script, image, ...argv];
    await makeBareRoot(image, ['/usr/bin/env']);
    const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    await withGateway(
      inside(...words, '/usr/bin/taskgate', 'serve'),
      async (link) => {
        const [, health = ''] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(dockerfile) ?? [];
        expect(run(inside(...words, ...(JSON.parse(health) as string[])))).toMatchObject({ status: 0 });
        await firstTask(link);
        watch.ended();
      },
      inside(...words, '/usr/bin/taskgate', 'open', '--print'),
    );
    const [program, service] = [/^ENTRYPOINT (.*)$/m, /^CMD (.*)$/m].map((line) => line.exec(dockerfile)?.[1]);
    expect([program, service]).toEqual(['["/usr/bin/taskgate"]', '["serve"]']);
  },
);

test.skipIf(process.platform !== 'linux' || process.arch !== 'x64')(
  'the executable: unpacked and started without a command, it does a first task',
  async () => {
    const watch = startWatch('the executable');
    const folder = temporaryFolder();
    expect(run(['tar', '-xzf', fileNamed(/-linux-x64\.tar\.gz$/), '-C', folder])).toMatchObject({ status: 0 });
    const path = join(folder, readdirSync(folder)[0] ?? '', 'taskgate');
    const port = String(await freePort());
    // Elsewhere than in a checkout, where data of the developer may stand.
    const clean = ['env', '-C', folder, '-i', `HOME=${folder}`, path];
    await withGateway(
      [...clean, '--no-open', '--port', port],
      async (link) => {
        await firstTask(link);
        watch.ended();
      },
      [...clean, 'open', '--print'],
    );
    expect(existsSync(join(folder, '.local/share/taskgate/taskgate.db'))).toBe(true);
  },
);

test('the bill of materials names what is in the executable', () => {
  const bom = JSON.parse(readFileSync(fileNamed(/\.cdx\.json$/), 'utf8')) as {
    bomFormat: string;
    components: { name: string }[];
  };
  expect(bom.bomFormat).toBe('CycloneDX');
  const names = bom.components.map(({ name }) => name);
  expect(names).toContain('elysia');
  expect(names).toContain('bun');
  expect(names).not.toContain('typescript');
});

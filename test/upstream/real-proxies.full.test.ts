/** Proxies that others wrote: requests with user and password through each. */
import { afterEach, expect, test } from 'bun:test';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseProxy } from '../../src/upstream/index.ts';
import { freePort } from '../support/free-port.ts';
import { provideProgram } from '../support/provide-program.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { post, reply, startRawServer, testUpstream, trustedCertificates } from './harness.ts';

const LOGIN = { user: 'gate', password: 'a-password-of-the-proxy' };
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Start = (port: number, program: string) => string[];

/** Each takes LOGIN alone. */
const PROXIES: { name: string; program?: string; packageName?: string; start: Start; schemes: string[] }[] = [
  {
    name: 'tinyproxy',
    schemes: ['http'],
    start: (port, program) => [
      ...[program, '-d', '-c'],
      configuration(`Port ${port}`, 'Listen 127.0.0.1', 'Timeout 60', `BasicAuth ${LOGIN.user} ${LOGIN.password}`),
    ],
  },
  {
    name: 'microsocks',
    schemes: ['socks5h', 'socks5'],
    start: (port, program) => [
      ...[program, '-i', '127.0.0.1', '-p', String(port)],
      ...['-u', LOGIN.user, '-P', LOGIN.password],
    ],
  },
  {
    name: 'squid',
    schemes: ['http'],
    start(port, program) {
      const hash = Bun.spawnSync(['openssl', 'passwd', '-apr1', LOGIN.password]).stdout.toString();
      const logins = configuration(`${LOGIN.user}:${hash}`);
      const lines = [
        `http_port 127.0.0.1:${port}`,
        `auth_param basic program /usr/lib/squid/basic_ncsa_auth ${logins}`,
      ];
      const access = ['acl known proxy_auth REQUIRED', 'http_access allow known', 'http_access deny all'];
      const quiet = [
        'cache deny all',
        'access_log none',
        'cache_log /dev/null',
        'pid_filename none',
        'pinger_enable off',
      ];
      return [program, '-N', '-f', configuration(...lines, ...access, ...quiet)];
    },
  },
  {
    name: 'dante',
    program: 'danted',
    packageName: 'dante-server',
    schemes: ['socks5h', 'socks5'],
    start(port, program) {
      // It knows the users of the system: this one stands in files that only it sees.
      const hash = Bun.spawnSync(['openssl', 'passwd', '-6', LOGIN.password]).stdout.toString().trim();
      const users = configuration(readFileSync('/etc/passwd', 'utf8'), `${LOGIN.user}:x:64999:64999::/:/bin/false`);
      const hashes = configuration(`${LOGIN.user}:${hash}:19000:0:99999:7:::`);
      const rule = '{ from: 0.0.0.0/0 to: 0.0.0.0/0 }';
      const file = configuration(
        ...['logoutput: /dev/null', `internal: 127.0.0.1 port = ${port}`, 'external: 127.0.0.1'],
        ...['clientmethod: none', 'socksmethod: username', 'user.privileged: root', 'user.unprivileged: nobody'],
        ...[`client pass ${rule}`, `socks pass ${rule}`],
      );
      const mounts = `mount --bind ${users} /etc/passwd && mount --bind ${hashes} /etc/shadow`;
      return ['unshare', '-m', 'sh', '-c', `${mounts} && exec "$0" "$@"`, program, '-f', file];
    },
  },
];

function configuration(...lines: string[]): string {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, 'configuration'), `${lines.join('\n')}\n`);
  return join(folder, 'configuration');
}

for (const { name, program = name, packageName = name, start, schemes } of PROXIES) {
  const found = await provideProgram(program, packageName);
  if ('missing' in found) test.skip(`${name}: ${found.missing}`, () => {});
  else test.each(schemes)(`${name} with %s`, (scheme) => carries(scheme, (port) => start(port, found.path)));
}

async function carries(scheme: string, start: (port: number) => string[]): Promise<void> {
  const port = await freePort();
  const child = Bun.spawn(start(port), { stdout: 'ignore', stderr: 'ignore' });
  closers.push(() => child.kill());
  const vendor = await startRawServer(({ socket, body }) => void socket.write(reply(`got ${body}`)), { secure: true });
  closers.push(() => vendor.stop());
  const ask = async (password: string) => {
    const proxy = parseProxy(`${scheme}://${LOGIN.user}:${password}@127.0.0.1:${port}`);
    const upstream = testUpstream({
      network: {
        proxy: proxy.ok ? proxy.value : undefined,
        isDirect: () => false,
        proxyResolves: false,
        authorities: trustedCertificates,
      },
    });
    closers.push(() => upstream.close());
    const answer = await upstream.request(post(`https://localhost:${vendor.port}/`, 'hi', { isKnownHost: () => true }));
    if (!answer.ok) return answer.error;
    const text = await answer.value.text();
    return text.ok ? text.value : text.error;
  };
  await until(async () => (await ask(LOGIN.password)) === 'got hi');
  expect(await ask('wrong')).toMatchObject({
    kind: 'connect',
    notSent: true,
    message: 'The proxy rejected the username or password.',
  });
  child.kill();
  await child.exited;
  expect(await ask(LOGIN.password)).toMatchObject({ kind: 'connect', notSent: true });
}

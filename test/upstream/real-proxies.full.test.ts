/** Proxies that others wrote: requests with user and password through tinyproxy and microsocks. */
import { afterEach, expect } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseProxy } from '../../src/upstream/index.ts';
import { findProgram } from '../support/find-program.ts';
import { freePort } from '../support/free-port.ts';
import { testInFullRun } from '../support/full-run.ts';
import { canInstallPackages, installPackages } from '../support/install-packages.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { post, reply, startRawServer, testUpstream, trustedCertificates } from './harness.ts';

const LOGIN = { user: 'gate', password: 'a-password-of-the-proxy' };
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function provide(name: string): Promise<string> {
  if (findProgram([name]) === null && canInstallPackages()) await installPackages([[name]]);
  const found = findProgram([name]);
  if (found === null) throw new Error(`install ${name}`);
  return found;
}

const PROXIES = {
  async tinyproxy(port: number): Promise<string[]> {
    const file = join(temporaryFolder(), 'tinyproxy.conf');
    const lines = [`Port ${port}`, 'Listen 127.0.0.1', 'Timeout 60', `BasicAuth ${LOGIN.user} ${LOGIN.password}`];
    writeFileSync(file, `${lines.join('\n')}\n`);
    return [await provide('tinyproxy'), '-d', '-c', file];
  },
  async microsocks(port: number): Promise<string[]> {
    const listening = ['-i', '127.0.0.1', '-p', String(port)];
    return [await provide('microsocks'), ...listening, '-u', LOGIN.user, '-P', LOGIN.password];
  },
};

testInFullRun.each([
  ['tinyproxy', 'http'],
  ['microsocks', 'socks5h'],
  ['microsocks', 'socks5'],
] as const)('%s with %s', async (name, scheme) => {
  const port = await freePort();
  const child = Bun.spawn(await PROXIES[name](port), { stdout: 'ignore', stderr: 'ignore' });
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
    message: 'The proxy did not accept the user and the password.',
  });
  child.kill();
  await child.exited;
  expect(await ask(LOGIN.password)).toMatchObject({ kind: 'connect', notSent: true });
});

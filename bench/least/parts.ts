/**
 * The parts of the gateway that a submission and a poll cannot do without, and nothing around them:
 * its sandbox in a process of its own, its client with checked addresses, its database with its own
 * statements. No framework, no checks of results, no permissions, no log.
 */
import { readFileSync } from 'node:fs';
import { readConfig } from '../../src/app/config/config.ts';
import { sandboxCommand, sandboxLimits } from '../../src/app/config/sandbox-settings.ts';
import { newUuid, sha256Hex, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createSandbox } from '../../src/sandbox/index.ts';
import { openStore } from '../../src/store/index.ts';
import { createUpstream, type UpstreamResponse } from '../../src/upstream/index.ts';

const MEBIBYTE = 1024 * 1024;
const BALANCE = 1_000_000_000_000;
const TIMEOUT_MS = 10_000;

export type Descriptor = { url: string; method?: string; headers: Record<string, string>; body?: unknown };

export async function openParts(dataDir: string, synchronous: 'FULL' | 'NORMAL', pluginFile: string) {
  const read = readConfig({});
  if (!read.ok) throw new Error(read.faults.join());
  const common = { clock: systemClock, logger: silentLogger };
  const store = await openStore({ databaseUrl: '', dataDir, synchronous, ...common });
  const upstream = createUpstream({ allowPrivate: false, ...common });
  const sandbox = createSandbox({ limits: sandboxLimits(read.config), command: sandboxCommand(), ...common });
  await sandbox.ready();
  const source = readFileSync(new URL(pluginFile, import.meta.url), 'utf8');
  const plugin = { key: 'least', version: '1.0.0', source, sourceHash: sha256Hex(source) };
  const at = systemClock.unix();
  const user = await store.users.insert({
    ...{ username: 'least', displayName: 'least', passwordHash: '', role: 1, status: 1, email: null },
    ...{ group: 'default', language: 'en', createdAt: at },
  });
  if (!user) throw new Error('the user was not made');
  await store.ledger.grant({ walletId: user.walletId, kind: 'grant', key: newUuid(), amount: BALANCE, at });

  async function send({ url, method = 'GET', headers, body }: Descriptor): Promise<UpstreamResponse> {
    const answer = await upstream.request({
      ...{ url, method, headers, privateHosts: [new URL(url).host], maxRedirects: 0 },
      body: body === undefined ? { kind: 'none' } : { kind: 'text', text: JSON.stringify(body) },
      ...{ connectTimeoutMs: TIMEOUT_MS, headersTimeoutMs: TIMEOUT_MS, idleTimeoutMs: TIMEOUT_MS },
      maxResponseBytes: 16 * MEBIBYTE,
    });
    if (!answer.ok) throw new Error(answer.error.message);
    return answer.value;
  }

  return {
    store,
    userId: user.id,
    walletId: user.walletId,
    async hook<T>(name: string, ...args: unknown[]): Promise<T> {
      const limits = { maxArgsBytes: 16 * MEBIBYTE, maxResultBytes: 4 * MEBIBYTE };
      const called = await sandbox.call(plugin, { owner: 'user:1', path: [name], args, ...limits });
      if (!called.ok) throw new Error(called.error.message);
      return called.value.value as T;
    },
    send,
    async ask<T>(described: Descriptor): Promise<T> {
      return JSON.parse(await askText(described)) as T;
    },
    askText,
  };

  async function askText(described: Descriptor): Promise<string> {
    const text = await (await send(described)).text();
    if (!text.ok) throw new Error(text.error.message);
    return text.value;
  }
}

export type Parts = Awaited<ReturnType<typeof openParts>>;

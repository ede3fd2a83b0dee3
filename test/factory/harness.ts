/**
 * One gateway for all factory plugins. Each runs its scenarios against its own simulated vendor.
 */
import { sha256Hex } from '../../src/kernel/index.ts';
import { type Administrator, ask, type Gateway, letNothingWait, setUp, startGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import {
  mark,
  type NativeClient,
  type NativeRequest,
  NO_QUOTA,
  REFUSED_KEY,
  type RunningVendor,
  type Scenario,
  startVendor,
  type Vendor,
} from './vendor.ts';

/** Each plugin has two channels. */
const PRIORITIES = [1, 0] as const;
const FACTORY = new URL('../../src/plugins/factory/', import.meta.url);

/**
 * A scenario played to its end: what was seen, in the form of {@link readExpected}. `faults`:
 * requests that the vendor did not expect.
 */
export type Seen = Record<string, unknown> & { faults: string[] };

export type Factory = {
  /** Creates a vendor's channels and prices, then runs all of its scenarios concurrently. */
  play(vendor: Vendor): Promise<Map<string, Promise<Seen>>>;
  admin: Administrator;
  url: string;
  /** An API key. */
  key: string;
  /** Kills the gateway with SIGKILL and starts it again at the same address. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

export async function startFactory({ databaseUrl = '' } = {}): Promise<Factory> {
  const env = { TASK_POLL_INTERVAL_SECONDS: '1', UPSTREAM_ALLOW_PRIVATE: 'true' };
  let gateway = await startGateway({ env, databaseUrl });
  const admin = await setUp(gateway);
  const key = await admin.createKey();
  const vendors: RunningVendor[] = [];
  return {
    admin,
    url: gateway.url,
    key,
    async restart() {
      const { dataDir, port } = gateway;
      await gateway.kill();
      gateway = await startGateway({ env, databaseUrl, dataDir, port });
    },
    async play(vendor) {
      const running = startVendor(vendor);
      vendors.push(running);
      await install(admin, vendor, running.url);
      const ids = new Map(vendor.scenarios.map(({ name }) => [name, Promise.withResolvers<string>()]));
      const playing = vendor.scenarios.map((scenario) => {
        const seen = playScenario({ gateway, admin, key, vendor, running, ids }, scenario);
        // Not an unhandled rejection: tests that await it get the error.
        seen.catch(() => undefined);
        return [scenario.name, seen] as const;
      });
      return new Map(playing);
    },
    async stop() {
      await gateway.stop();
      await Promise.all(vendors.map((vendor) => vendor.stop()));
    },
  };
}

/** The plugin as it ships, two channels (so that a 429 moves on to the second), prices. */
export async function install(admin: Administrator, vendor: Vendor, url: string): Promise<void> {
  await letNothingWait(admin);
  const { key } = vendor;
  const plugins = await admin.call<{ meta: { key: string }; source: string; source_hash: string }[]>(
    'GET',
    '/api/plugin/task',
  );
  const shipped = plugins.find(({ meta }) => meta.key === key);
  const source = await Bun.file(new URL(`${key}.js`, FACTORY)).text();
  if (shipped?.source !== 'factory' || shipped.source_hash !== sha256Hex(source)) {
    throw new Error(`the executable does not ship src/plugins/factory/${key}.js as it is now: build it`);
  }
  for (const priority of PRIORITIES) {
    const named = { name: `${key} ${priority}`, task_plugin_key: key, priority };
    await admin.createChannel(url, {
      ...vendor.channel,
      key: vendor.channel.key.replaceAll('{vendor}', url),
      ...named,
    });
  }
  for (const [model, expression] of Object.entries(vendor.prices)) {
    await admin.call('PUT', '/api/price', { plugin_key: key, model, expression });
  }
}

type Stage = {
  gateway: Gateway;
  admin: Administrator;
  key: string;
  vendor: Vendor;
  running: RunningVendor;
  /** The public ids of the scenarios' tasks by name, once they are submitted. */
  ids: Map<string, PromiseWithResolvers<string>>;
};

async function playScenario(stage: Stage, scenario: Scenario): Promise<Seen> {
  const { gateway, admin, key, running, ids } = stage;
  const { outcome, client } = scenario;
  const submitted = await submit(stage, scenario);
  const counts = () => {
    const { submits: attempts, jobs, faults } = running.played(scenario.name);
    const strays = running.strays.filter((stray) => stray.includes(mark(scenario.name)));
    return { attempts, jobs, faults: [...faults, ...strays] };
  };
  if (submitted.status !== 200) {
    const { error = {}, message } = submitted.body as { error?: { message?: string }; message?: string };
    return { ...counts(), refused: { status: submitted.status, message: error.message ?? message ?? '' } };
  }
  const id = String(client.via === 'native' ? client.taskIdIn(submitted.body) : submitted.body.id);
  ids.get(scenario.name)?.resolve(id);
  const finished = client.via === 'native' ? await waitAsVendorsDo(stage, client, id) : undefined;
  const task = await waitForEnd(gateway.url, key, id);
  const detail = await admin.call<{ ledger: { amount: number }[] }>('GET', `/api/task/${id}`);
  const video = await ask(`${gateway.url}/v1/videos/${id}`, { token: key });
  const pick = Object.keys(outcome.video ?? {}).map((name) => [name, video.body[name]] as const);
  return {
    status: task.status,
    reason: task.fail_reason,
    artifacts: task.status === 'SUCCESS' ? await download(gateway.url, key, id) : {},
    video: Object.fromEntries(pick),
    ...(client.via === 'native' ? { answers: withoutId({ submitted: submitted.body, finished }, id) } : {}),
    bill: -detail.ledger.reduce((sum, { amount }) => sum + amount, 0) || 0,
    ...counts(),
  };
}

/** The expected {@link Seen}. */
export function readExpected({ outcome, submit, client }: Scenario): Seen {
  const { refused } = outcome;
  // A vendor that refuses the account is asked by the other channel too.
  const asked = refused && [REFUSED_KEY, NO_QUOTA].includes(refused.message) ? PRIORITIES.length : 1;
  const { attempts = submit ? asked : 0, jobs = submit ? asked : 0 } = outcome;
  const counts = { attempts, jobs, faults: [] };
  if (refused) return { ...counts, refused };
  const { status = 'SUCCESS', reason = '', artifacts = {}, video = {}, bill = 0 } = outcome;
  const files = Object.entries(artifacts).map(([name, bytes]) => [name, asText(bytes)]);
  const answers = client.via === 'native' ? { answers: client.answers } : {};
  return { status, reason, artifacts: Object.fromEntries(files), video, ...answers, bill: Math.round(bill), ...counts };
}

const asText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

async function submit(stage: Stage, { client }: Scenario): ReturnType<typeof ask> {
  const { key, vendor } = stage;
  const { url } = stage.gateway;
  if (client.via === 'native') return askNatively(stage, client.submit);
  if (client.via === 'generic') return ask(`${url}/v1/tasks/${vendor.key}`, { token: key, body: client.json });
  if ('json' in client) return ask(`${url}/v1/videos`, { token: key, body: client.json });
  return sendForm(`${url}/v1/videos`, key, client.form);
}

/** One request of a vendor's client; tasks of other scenarios are waited for. */
async function askNatively({ gateway, key, ids }: Stage, { path, json, form }: NativeRequest): ReturnType<typeof ask> {
  if (form) return sendForm(`${gateway.url}${path}`, key, form);
  let body = JSON.stringify(json);
  for (const [mention, name = ''] of body?.matchAll(/\{task:([a-z0-9-]+)\}/g) ?? []) {
    body = body.replaceAll(mention, (await ids.get(name)?.promise) ?? '');
  }
  return ask(`${gateway.url}${path}`, { token: key, ...(body === undefined ? {} : { body }) });
}

/** Polls until the vendor's answer says that the task has ended, and gives that answer. */
async function waitAsVendorsDo(stage: Stage, client: NativeClient, id: string): Promise<Record<string, unknown>> {
  return until(`a client sees the end of ${id}`, async () => {
    const { status, body } = await askNatively(stage, client.read(id));
    if (status !== 200) throw new Error(`the task ${id} cannot be read: ${status} ${JSON.stringify(body)}`);
    return client.isEnded(body) && body;
  });
}

const withoutId = (answers: unknown, id: string): unknown =>
  JSON.parse(JSON.stringify(answers).replaceAll(id, '{task}')) as unknown;

async function sendForm(url: string, key: string, fields: Record<string, string | File>): ReturnType<typeof ask> {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  const response = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body });
  const answer = (await response.json()) as Record<string, unknown>;
  return { status: response.status, body: answer, headers: response.headers };
}

/**
 * Every artifact by its key, fetched as a client does; as text, so that differences are readable.
 */
export async function download(url: string, key: string, id: string): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${key}` };
  const listed = await ask(`${url}/v1/tasks/${id}/artifacts`, { token: key });
  const files: Record<string, string> = {};
  for (const { key: name } of listed.body.artifacts as { key: string }[]) {
    const response = await fetch(`${url}/v1/tasks/${id}/artifacts/${name}/content`, { headers });
    files[name] = asText(await response.bytes());
  }
  return files;
}

async function waitForEnd(url: string, key: string, id: string): Promise<{ status: string; fail_reason: string }> {
  return until(`the task ${id} ends`, async () => {
    // The gateway may be starting again.
    const answer = await ask(`${url}/v1/tasks/${id}`, { token: key }).catch(() => undefined);
    const { status, fail_reason } = answer?.body ?? {};
    return (status === 'SUCCESS' || status === 'FAILURE') && { status, fail_reason: String(fail_reason) };
  });
}

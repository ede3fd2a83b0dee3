import { join } from 'node:path';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../test/support/gateway.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import type { Build } from './builds.ts';
import { startBenchVendor, type Vendor } from './load/start-script.ts';

/**
 * A gateway of the build with a channel to the bench's vendor, a price that is reserved, and an API
 * key.
 */
export type Stage = {
  gateway: Gateway;
  vendor: Vendor;
  admin: Administrator;
  key: string;
  submit(prompt: string): Promise<string>;
  stop(): Promise<void>;
};

/** Low enough that the first balance lasts for a bench: 200 of 100,000,000 a task. */
const PRICE = '0.0001 * u("seconds")';

export type StartOptions = { env?: Record<string, string>; dataDir?: string; databaseUrl?: string };

/** Its log goes to a file, as it would in service: read by the bench, it would cost the bench. */
export function startBuild(build: Build, options: StartOptions = {}): Promise<Gateway> {
  const dataDir = options.dataDir ?? temporaryFolder();
  const prefix = ['sh', '-c', 'exec "$@" 2>"$0"', join(dataDir, 'gateway.log')];
  return startGateway({ ...options, dataDir, prefix, program: build.program ?? [build.binary] });
}

export async function openStage(build: Build, env: Record<string, string> = {}): Promise<Stage> {
  const vendor = await startBenchVendor();
  try {
    const gateway = await startBuild(build, { env });
    const admin = await setUp(gateway);
    await prepareChannel(admin, vendor);
    const key = await admin.createKey({ name: 'bench' });
    return {
      gateway,
      vendor,
      admin,
      key,
      async submit(prompt) {
        const { status, body } = await ask(`${gateway.url}/v1/tasks/demo`, {
          token: key,
          body: { model: 'demo-video', prompt },
        });
        if (status !== 200) throw new Error(`a submission was answered ${status}: ${JSON.stringify(body)}`);
        return String(body.id);
      },
      async stop() {
        await gateway.stop();
        await vendor.stop();
      },
    };
  } catch (error) {
    await vendor.stop();
    throw error;
  }
}

/** A channel to the bench's vendor, and a price that is reserved. */
export async function prepareChannel(admin: Administrator, vendor: Vendor): Promise<void> {
  await admin.createChannel(vendor.url);
  await admin.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: PRICE });
}

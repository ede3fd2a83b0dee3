import {
  type Administrator,
  ask,
  type Gateway,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../test/support/gateway.ts';

/**
 * A gateway of the compiled binary with a channel to a demo vendor, a price that is reserved, and
 * an API key.
 */
export type Stage = {
  gateway: Gateway;
  vendor: VendorProcess;
  admin: Administrator;
  key: string;
  submit(prompt: string): Promise<string>;
  stop(): Promise<void>;
};

/** Low enough that the first balance lasts for a bench: 200 of 100,000,000 a task. */
const PRICE = '0.0001 * u("seconds")';

export async function openStage(env: Record<string, string> = {}): Promise<Stage> {
  const vendor = await startVendor();
  try {
    const gateway = await startGateway({ env });
    const admin = await setUp(gateway);
    await admin.createChannel(vendor.url);
    await admin.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: PRICE });
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

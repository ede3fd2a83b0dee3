import { type Channels, channelErrors, TASK_PLUGIN_TYPE } from '../../channels/index.ts';
import { type Clock, createSemaphore, type Logger, randomToken, type SecretBox } from '../../kernel/index.ts';
import type { PluginService } from '../../plugins/index.ts';
import type { ChannelRecord, Store } from '../../store/ports/index.ts';
import type { DemoVendor } from './index.ts';

const PLUGIN = 'demo';
/**
 * The channel setting that holds the encrypted address of the built-in vendor. Encryption keeps
 * people from marking another channel by hand.
 */
const MARK = 'built_in_demo_vendor';

export type DemoChannel = {
  /**
   * Creates the channel and starts its vendor, or returns the existing one.
   * @throws channels.demo_unavailable
   */
  findOrCreate(): Promise<{ channel: ChannelRecord; created: boolean }>;
  /** Serves the channel while it exists. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * A channel of the demo plugin whose vendor runs in this process. The vendor listens on loopback,
 * accepts the channel's key only, and runs until the channel is deleted or gets another address.
 * Its jobs are in the memory of this process, so that it suits a gateway of one node only.
 */
export function createDemoChannel(deps: {
  store: Store;
  channels: Channels;
  plugins: PluginService;
  secretBox: SecretBox;
  clock: Clock;
  logger: Logger;
}): DemoChannel {
  const { store, channels, plugins, secretBox, clock, logger } = deps;
  let vendor: (Awaited<ReturnType<DemoVendor['start']>> & Pick<DemoVendor, 'changeKey'>) | undefined;
  let unsubscribe = () => {};
  /** Serializes operations, so that two concurrent calls create one channel. */
  const mutex = createSemaphore();

  const toMark = (address: string) => ({ [MARK]: secretBox.seal(address) });

  /** Whether the channel still has the vendor's address. */
  const isOwnChannel = ({ settings, baseUrl }: ChannelRecord): boolean => {
    const mark = settings[MARK];
    return typeof mark === 'string' && secretBox.open(mark) === baseUrl;
  };
  const find = async () => (await store.channels.all()).find(isOwnChannel);

  async function stopVendor(): Promise<void> {
    await vendor?.stop();
    vendor = undefined;
  }

  /** Listens at this address, or at another one if its port is taken. Returns the address. */
  async function serve(key: string, address: string): Promise<string> {
    if (vendor?.url === address) {
      vendor.changeKey(key);
      return address;
    }
    await stopVendor();
    const { createDemoVendor } = await import('./index.ts');
    const created = createDemoVendor({ clock, key });
    const port = readPort(address);
    const started = await created.start(port).catch((error) => {
      if (port === 0) throw error;
      return created.start(0);
    });
    vendor = { ...started, changeKey: created.changeKey };
    return started.url;
  }

  async function syncVendor(): Promise<void> {
    const channel = await find();
    const account = channel && (await channels.findBegun({ channelId: channel.id, credentialId: null }));
    if (!account || !channels.isReadable(account)) return stopVendor();
    const before = vendor;
    const address = await serve(channels.key(account), channel.baseUrl);
    if (vendor === before) return;
    if (address !== channel.baseUrl) {
      const settings = { ...channel.settings, ...toMark(address) };
      await channels.update(channel.id, { baseUrl: address, settings }, { mayMoveKey: true });
    }
    logger.info({ channel_id: channel.id, address }, 'the demo vendor serves its channel');
  }

  return {
    findOrCreate: () =>
      mutex.run(async () => {
        if (store.dialect !== 'sqlite')
          throw channelErrors.demo_unavailable({
            message:
              'The built-in demo vendor keeps its jobs in one process, and a gateway on PostgreSQL may have several. Start taskgate demo-vendor and create a channel for it.',
          });
        // Stops the vendor of a channel that has just been deleted.
        await syncVendor();
        const known = await find();
        if (known) return { channel: known, created: false };
        const plugin = plugins.current().plugins.get(PLUGIN);
        if (!plugin)
          throw channelErrors.demo_unavailable({ message: 'The demo plugin is not enabled: enable it first.' });
        const key = randomToken(32);
        const baseUrl = await serve(key, '');
        const { channel } = await channels.create({
          name: 'Demo',
          type: TASK_PLUGIN_TYPE,
          key,
          baseUrl,
          models: plugin.manifest.models,
          taskPluginKey: PLUGIN,
          settings: toMark(baseUrl),
        });
        return { channel, created: true };
      }),
    async start() {
      if (store.dialect !== 'sqlite') return;
      unsubscribe = store.subscribe((topic) => {
        if (topic !== 'channels') return;
        void mutex
          .run(syncVendor)
          .catch((error) => logger.warn({ err: error }, 'the demo vendor could not be started'));
      });
      await mutex.run(syncVendor);
    },
    async stop() {
      unsubscribe();
      await mutex.run(stopVendor);
    },
  };
}

const readPort = (baseUrl: string): number => (URL.canParse(baseUrl) ? Number(new URL(baseUrl).port) : 0);

import { type Channels, channelErrors, TASK_PLUGIN_TYPE } from '../../channels/index.ts';
import { type Clock, createMutex, type Logger, randomToken, type SecretBox } from '../../kernel/index.ts';
import type { PluginService } from '../../plugins/index.ts';
import type { ChannelRecord, Store } from '../../store/ports/index.ts';
import { createDemoVendor, type DemoVendor } from '../demo-vendor/index.ts';

const PLUGIN = 'demo';
/**
 * The setting with the address that the built-in vendor gave its channel, sealed, so that nobody
 * marks another channel by hand.
 */
const MARK = 'built_in_demo_vendor';

export type DemoChannel = {
  /**
   * Makes the channel and starts its vendor, or gives the one that is there.
   * @throws channels.demo_unavailable
   */
  make(): Promise<{ channel: ChannelRecord; created: boolean }>;
  /** Serves the channel while there is one. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * A channel of the demo plugin whose vendor is part of this process: it listens on loopback alone,
 * takes the channel's own key and no other, and lives as long as the channel does, or until
 * somebody gives the channel another address. What it has made is in memory and gone with the
 * process. Jobs of one process are unknown to another, so that this is for a gateway of one node.
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
  /** One operation at a time, so that two calls at once create one channel. */
  const exclusively = createMutex();

  const markOf = (address: string) => ({ [MARK]: secretBox.seal(address) });

  /** The channel whose address is still the one that the vendor gave it. */
  const isOurs = ({ settings, baseUrl }: ChannelRecord): boolean => {
    const mark = settings[MARK];
    return typeof mark === 'string' && secretBox.open(mark) === baseUrl;
  };
  const find = async () => (await store.channels.all()).find(isOurs);

  async function end(): Promise<void> {
    await vendor?.stop();
    vendor = undefined;
  }

  /**
   * At this address, or, where something else has its port by now, at another. Gives the address.
   */
  async function serve(key: string, address: string): Promise<string> {
    if (vendor?.url === address) {
      vendor.changeKey(key);
      return address;
    }
    await end();
    const made = createDemoVendor({ clock, key });
    const port = portOf(address);
    const started = await made.start(port).catch((error) => {
      if (port === 0) throw error;
      return made.start(0);
    });
    vendor = { ...started, changeKey: made.changeKey };
    return started.url;
  }

  async function follow(): Promise<void> {
    const channel = await find();
    if (!channel || !channels.isReadable(channel)) return end();
    const before = vendor;
    const address = await serve(channels.credential(channel), channel.baseUrl);
    if (vendor === before) return;
    if (address !== channel.baseUrl) {
      const settings = { ...channel.settings, ...markOf(address) };
      await channels.update(channel.id, { baseUrl: address, settings }, { mayMoveKey: true });
    }
    logger.info({ channel_id: channel.id, address }, 'the demo vendor serves its channel');
  }

  return {
    make: () =>
      exclusively(async () => {
        if (store.dialect !== 'sqlite')
          throw channelErrors.demo_unavailable({
            message:
              'The built-in demo vendor keeps its jobs in one process, and a gateway on PostgreSQL may have several. Start taskgate demo-vendor and make a channel for it.',
          });
        // The vendor of a channel that was deleted a moment ago ends with it.
        await follow();
        const known = await find();
        if (known) return { channel: known, created: false };
        const plugin = plugins.current().plugins.get(PLUGIN);
        if (!plugin)
          throw channelErrors.demo_unavailable({ message: 'The demo plugin does not serve: enable it first.' });
        const key = randomToken(32);
        const baseUrl = await serve(key, '');
        const { channel } = await channels.create({
          name: 'Demo',
          type: TASK_PLUGIN_TYPE,
          key,
          baseUrl,
          models: plugin.manifest.models,
          taskPluginKey: PLUGIN,
          settings: markOf(baseUrl),
        });
        return { channel, created: true };
      }),
    async start() {
      if (store.dialect !== 'sqlite') return;
      unsubscribe = store.subscribe((topic) => {
        if (topic !== 'channels') return;
        void exclusively(follow).catch((error) => logger.warn({ err: error }, 'the demo vendor could not be started'));
      });
      await exclusively(follow);
    },
    async stop() {
      unsubscribe();
      await exclusively(end);
    },
  };
}

const portOf = (baseUrl: string): number => (URL.canParse(baseUrl) ? Number(new URL(baseUrl).port) : 0);

import { type Channels, channelErrors, TASK_PLUGIN_TYPE } from '../channels/index.ts';
import { type Clock, type Logger, randomToken } from '../kernel/index.ts';
import type { PluginService } from '../plugins/index.ts';
import type { ChannelRecord, Store } from '../store/ports/index.ts';
import { createDemoVendor } from './demo-vendor/index.ts';

const PLUGIN = 'demo';
/** Marks the channel whose vendor runs within this process. */
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
 * A channel of the demo plugin whose vendor is part of this process: it listens on loopback alone, takes the channel's own key and no other, and
 * lives as long as the channel does. What it has made is in memory and gone with the process. Jobs of one process are unknown to another, so
 * that this is for a gateway of one node.
 */
export function createDemoChannel(deps: {
  store: Store;
  channels: Channels;
  plugins: PluginService;
  clock: Clock;
  logger: Logger;
}): DemoChannel {
  const { store, channels, plugins, clock, logger } = deps;
  let vendor: { url: string; stop(): Promise<void> } | undefined;
  let unsubscribe = () => {};
  /** One thing at a time: two calls at once make one channel. */
  let turn: Promise<unknown> = Promise.resolve();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = turn.then(work, work);
    turn = done.catch(() => undefined);
    return done;
  }

  const find = async () => (await store.channels.all()).find(({ settings }) => settings[MARK] === true);

  async function listen(key: string, port: number) {
    const made = createDemoVendor({ clock, key });
    try {
      return await made.start(port);
    } catch (error) {
      if (port === 0) throw error;
      // Something else has its port by now: another will do, and the channel is told.
      return made.start(0);
    }
  }

  async function follow(): Promise<void> {
    const channel = await find();
    if (!channel || !channels.isReadable(channel)) {
      await vendor?.stop();
      vendor = undefined;
      return;
    }
    if (vendor) return;
    vendor = await listen(channels.credential(channel), portOf(channel.baseUrl));
    if (vendor.url !== channel.baseUrl)
      await channels.update(channel.id, { baseUrl: vendor.url }, { mayMoveKey: true });
    logger.info({ channel_id: channel.id, address: vendor.url }, 'the demo vendor serves its channel');
  }

  return {
    make: () =>
      inTurn(async () => {
        const known = await find();
        if (known) return { channel: known, created: false };
        if (store.dialect !== 'sqlite')
          throw channelErrors.demo_unavailable({
            message:
              'The built-in demo vendor keeps its jobs in one process, and a gateway on PostgreSQL may have several. Start taskgate demo-vendor and make a channel for it.',
          });
        const plugin = plugins.current().plugins.get(PLUGIN);
        if (!plugin)
          throw channelErrors.demo_unavailable({ message: 'The demo plugin does not serve: enable it first.' });
        const key = randomToken(32);
        vendor ??= await listen(key, 0);
        const { channel } = await channels.create({
          name: 'Demo',
          type: TASK_PLUGIN_TYPE,
          key,
          baseUrl: vendor.url,
          models: plugin.manifest.models,
          taskPluginKey: PLUGIN,
          settings: { [MARK]: true },
        });
        return { channel, created: true };
      }),
    async start() {
      await inTurn(follow);
      unsubscribe = store.subscribe((topic) => {
        if (topic !== 'channels') return;
        void inTurn(follow).catch((error) => logger.warn({ err: error }, 'the demo vendor could not be started'));
      });
    },
    async stop() {
      unsubscribe();
      await inTurn(async () => vendor?.stop());
    },
  };
}

const portOf = (baseUrl: string): number => (URL.canParse(baseUrl) ? Number(new URL(baseUrl).port) : 0);

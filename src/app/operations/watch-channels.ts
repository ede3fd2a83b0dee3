import type { Channels } from '../../channels/index.ts';
import { type Clock, type Logger, parseJson, sleepInStep } from '../../kernel/index.ts';
import { STATUS, type Store } from '../../store/ports/index.ts';
import type { ChannelHealth } from '../../tasks/index.ts';

const CHECK_EVERY_MS = 60_000;
/** Among the options, and none of the catalogue: all nodes share it. */
const TOLD = 'alerts.reported_channels';

export type FailingChannel = { channel: string; failed: number; ended: number };

export type ChannelWatch = { check(): Promise<void>; start(): void; stop(): Promise<void> };

type Deps = {
  store: { options: Pick<Store['options'], 'get' | 'putIfAbsent' | 'replace'> };
  clock: Clock;
  logger: Logger;
  channels: Pick<Channels, 'known'>;
  health: () => Promise<ReadonlyMap<number, ChannelHealth>>;
  isOn: () => boolean;
  tell: (failing: FailingChannel) => Promise<void>;
};

/**
 * Tells administrators once when a channel begins to fail; again only after it was healthy. What
 * was reported is stored before the mail is written: of several nodes one reports it, and a restart
 * does not repeat it.
 */
export function createChannelWatch(deps: Deps): ChannelWatch {
  const { store, clock, logger, channels, health, isOn, tell } = deps;
  const stopping = new AbortController();
  let watching: Promise<void> = Promise.resolve();

  async function check(): Promise<void> {
    if (!isOn()) return;
    const [stored, found] = await Promise.all([store.options.get(TOLD), health()]);
    const reported = readIds(stored);
    const unwell = channels.known().flatMap((channel) => {
      const state = found.get(channel.id);
      const counts = channel.status === STATUS.enabled && state !== undefined ? state : undefined;
      const isUnwell = counts?.state === 'failing' || counts?.state === 'degraded';
      return isUnwell ? [{ channel, ...counts }] : [];
    });
    // A channel that is degraded has not recovered: without this it could be reported every minute.
    const next = unwell
      .filter(({ channel, state }) => state === 'failing' || reported.includes(channel.id))
      .map(({ channel }) => channel.id);
    const value = JSON.stringify(next);
    if (value === (stored ?? '[]')) return;
    const isOurs =
      stored === undefined
        ? await store.options.putIfAbsent(TOLD, value)
        : await store.options.replace(TOLD, stored, value);
    if (!isOurs) return;
    for (const { channel, state, failed, succeeded } of unwell) {
      if (state !== 'failing' || reported.includes(channel.id)) continue;
      await tell({ channel: channel.name, failed, ended: failed + succeeded }).catch((error) =>
        logger.warn({ err: error, channel_id: channel.id }, 'administrators could not be told of a failing channel'),
      );
    }
  }

  return {
    check,
    start() {
      watching = (async () => {
        while (!stopping.signal.aborted) {
          await sleepInStep(clock, CHECK_EVERY_MS, stopping.signal);
          if (stopping.signal.aborted) return;
          await check().catch((error) => logger.warn({ err: error }, 'could not look for failing channels'));
        }
      })();
    },
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}

function readIds(stored: string | undefined): number[] {
  const value = stored === undefined ? [] : parseJson(stored);
  return Array.isArray(value) ? value.filter((id) => typeof id === 'number') : [];
}

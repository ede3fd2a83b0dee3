import type { Channels } from '../../channels/index.ts';
import { type Clock, type Logger, parseJson, sleepInStep } from '../../kernel/index.ts';
import type { ChannelHealth } from '../../reports/index.ts';
import { STATUS, type Store } from '../../store/ports/index.ts';
import type { Notices } from './queue-notices.ts';

const CHECK_EVERY_MS = 60_000;
/** Stored as an option that the catalogue does not list: all nodes share it. */
const TOLD = 'alerts.reported_channels';

export type ChannelWatch = { check(): Promise<void>; start(): void; stop(): Promise<void> };

type Deps = {
  store: { options: Pick<Store['options'], 'get'> };
  clock: Clock;
  logger: Logger;
  channels: Pick<Channels, 'known'>;
  health: () => Promise<ReadonlyMap<number, ChannelHealth>>;
  /** Whether administrators are mailed. */
  isMailed: () => boolean;
  notices: Notices;
};

/**
 * Tells administrators once when a channel begins to fail; again only after it was healthy. What
 * was reported is stored together with the notices: only one of several nodes reports it, and a
 * restart neither repeats nor loses it.
 */
export function createChannelWatch(deps: Deps): ChannelWatch {
  const { store, clock, logger, channels, health, isMailed, notices } = deps;
  const stopping = new AbortController();
  let watching: Promise<void> = Promise.resolve();

  async function check(): Promise<void> {
    if (!isMailed() && !notices.hasReceiver()) return;
    const [stored, found] = await Promise.all([store.options.get(TOLD), health()]);
    const reported = readIds(stored);
    const known = channels.known();
    const unwell = known.flatMap((channel) => {
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
    await notices.write(async ({ options }, queue) => {
      const isOurs =
        stored === undefined ? await options.putIfAbsent(TOLD, value) : await options.replace(TOLD, stored, value);
      if (!isOurs) return;
      for (const { channel, state, failed, succeeded } of unwell) {
        if (state !== 'failing' || reported.includes(channel.id)) continue;
        const ended = failed + succeeded;
        await queue({
          event: 'channel.failing',
          subject: `channel:${channel.id}`,
          data: { channel_id: channel.id, channel: channel.name, failed, ended },
          mail: isMailed() ? { kind: 'channel_failing', channel: channel.name, failed, ended } : undefined,
        });
      }
      for (const id of reported.filter((each) => !next.includes(each))) {
        const channel = known.find((each) => each.id === id);
        const reason = describeRecovery(channel, found.get(id));
        const data = { channel_id: id, channel: channel?.name ?? '', reason };
        await queue({ event: 'channel.recovered', subject: `channel:${id}`, data });
      }
    });
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

/** Why a channel that was reported no longer counts as failing. */
function describeRecovery(
  channel: ReturnType<Channels['known']>[number] | undefined,
  health: ChannelHealth | undefined,
): 'healthy' | 'idle' | 'disabled' | 'deleted' {
  if (!channel) return 'deleted';
  if (channel.status !== STATUS.enabled) return 'disabled';
  return health?.state === 'good' ? 'healthy' : 'idle';
}

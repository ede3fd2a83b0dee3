import type { CleanUpStep, Clock, WatchCache } from '../kernel/index.ts';
import type { Store } from '../store/ports/index.ts';
import { createUsageAdder, quarterCleanUp } from './add-up-usage.ts';
import { type ChannelHistoryReader, createChannelHistoryReader } from './read-channel-history.ts';
import { createFigureReader, type FigureReader } from './read-figures.ts';
import { createHealthReader, type HealthReader } from './read-health.ts';
import { createUsageReader, type UsageReader } from './read-usage.ts';

export type Reports = {
  /** Statistics of the last days; a few seconds old. */
  readonly figures: FigureReader;
  /** What was used in a period, over time and by user, key, channel or model. */
  readonly usage: UsageReader;
  /** How a channel did in the last hours. */
  readonly channelHistory: ChannelHistoryReader;
  /** Recent health of each channel, by its id; a few seconds old. */
  readonly channelHealth: HealthReader;
  /** What the hourly clean-up adds up and deletes. */
  readonly cleanUpStep: CleanUpStep;
};

export function createReports(deps: { store: Store; clock: Clock; watchCache?: WatchCache }): Reports {
  const addUp = createUsageAdder(deps);
  return {
    figures: createFigureReader(deps),
    usage: createUsageReader(deps, addUp),
    channelHistory: createChannelHistoryReader(deps, addUp),
    channelHealth: createHealthReader(deps),
    cleanUpStep: quarterCleanUp(deps, addUp),
  };
}

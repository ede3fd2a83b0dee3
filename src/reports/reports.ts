import type { CleanUpStep, Clock, ReportCacheSize } from '../kernel/index.ts';
import type { ChannelRecord, Store } from '../store/ports/index.ts';
import { type CaseFileReader, createCaseFileReader } from './cases/read-case-file.ts';
import {
  type ChannelHistoryReader,
  createChannelHistoryReader,
  createHealthReader,
  type HealthReader,
} from './read-channel-health.ts';
import { createFigureReader, type FigureReader } from './read-figures.ts';
import { createLatestResultReader, type LatestResultReader } from './read-latest-results.ts';
import { type BillReplay, createBillReplay } from './replay-bills.ts';
import { createUsageAdder, createUsageReader, quarterCleanUp, type UsageReader } from './report-usage.ts';

export type Reports = {
  /** Statistics of the last days; a few seconds old. */
  readonly figures: FigureReader;
  /** What each model made last; a few seconds old. */
  readonly latestResults: LatestResultReader;
  /** What was used in a period, over time and by user, key, channel or model. */
  readonly usage: UsageReader;
  /** How a channel did in the last hours. */
  readonly channelHistory: ChannelHistoryReader;
  /** Recent health of each channel, by its id; a few seconds old. */
  readonly channelHealth: HealthReader;
  /** Explains a task, an account or a channel. */
  readonly caseFile: CaseFileReader;
  /** What bills would have been under other prices; reads alone. */
  readonly replayBills: BillReplay;
  /** What the hourly clean-up adds up and deletes. */
  readonly cleanUpStep: CleanUpStep;
};

type ReportDeps = {
  store: Store;
  clock: Clock;
  /** Whether nothing is sent through a channel for a while. */
  isResting: (channel: ChannelRecord) => boolean;
  reportCacheSize?: ReportCacheSize;
};

export function createReports(deps: ReportDeps): Reports {
  const addUp = createUsageAdder(deps);
  const usage = createUsageReader(deps, addUp);
  const channelHistory = createChannelHistoryReader(deps, addUp);
  const figures = createFigureReader(deps);
  return {
    figures,
    latestResults: createLatestResultReader({ store: deps.store, figures }),
    usage,
    channelHistory,
    replayBills: createBillReplay(deps),
    caseFile: createCaseFileReader({ ...deps, usage, history: channelHistory }),
    channelHealth: createHealthReader(deps),
    cleanUpStep: quarterCleanUp(deps, addUp),
  };
}

import type { LinkLimits } from '../../results/index.ts';
import type { TaskLimits } from '../../tasks/index.ts';
import type { Config } from './config-variables.ts';

const MIB = 1024 * 1024;
/**
 * How long a node holds claimed tasks; it renews the lease while it works on them. Another node
 * takes over a dead node's tasks after this time at most.
 */
const POLL_LEASE_MS = 30_000;

export const taskLimits = (config: Config): Omit<TaskLimits, 'waiting'> => ({
  pollIntervalMs: config.pollIntervalSeconds * 1000,
  pollChannelConcurrency: config.pollChannelConcurrency,
  pollMaxFailures: config.pollMaxFailures,
  taskTimeoutMinutes: config.taskTimeoutMinutes,
  pollLeaseMs: POLL_LEASE_MS,
  claimLimit: config.taskQueryLimit,
  submitTimeoutMs: config.protocolTimeoutSeconds * 1000,
  submitWaitMs: config.submitWaitSeconds * 1000,
  relayWaitMs: config.relayWaitSeconds * 1000,
  tickMs: config.protocolTickMs,
  tickJitterMs: config.protocolTickJitterMs,
  observations: {
    node: config.protocolGlobalConcurrency,
    plugin: config.protocolPluginConcurrency,
    user: config.protocolUserConcurrency,
    key: config.protocolKeyConcurrency,
  },
  maxFileBytes: config.maxFileMb * MIB,
});

export const linkLimits = (config: Config): LinkLimits => ({
  days: config.artifactLinkDays,
  invalidPerMinute: config.artifactInvalidPerMinute,
  downloads: {
    node: config.artifactGlobalConcurrency,
    address: config.artifactIpConcurrency,
    artifact: config.artifactObjectConcurrency,
  },
});

import { type Clock, type Logger, silentLogger, systemClock } from '../../kernel/index.ts';
import { openStore } from '../../store/index.ts';
import type { Store } from '../../store/ports/index.ts';

/** Where the database is, and whether its commits survive a power cut. */
export type DatabaseConfig = { databaseUrl: string; dataDir: string; sqliteSynchronous: 'FULL' | 'NORMAL' };

/**
 * Opens the configured database for a command that may run beside a gateway: without migrations and
 * without sole ownership. Close it after use.
 */
export const openStoreBesideGateway = (
  { databaseUrl, dataDir, sqliteSynchronous: synchronous }: DatabaseConfig,
  { clock = systemClock, logger = silentLogger }: { clock?: Clock; logger?: Logger } = {},
): Promise<Store> => openStore({ databaseUrl, dataDir, synchronous, clock, logger, exclusive: false, migrate: false });

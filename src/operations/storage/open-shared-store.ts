import { type Clock, type Logger, silentLogger, systemClock } from '../../kernel/index.ts';
import { openStore } from '../../store/index.ts';
import type { Store } from '../../store/ports/index.ts';

/** Where the database is, and whether its commits survive a power cut. */
export type DatabaseConfig = { databaseUrl: string; dataDir: string; sqliteSynchronous: 'FULL' | 'NORMAL' };

/**
 * Opens the configured database without migrations and without sole ownership, so a gateway may be
 * running. Close it after use.
 */
export const openSharedStore = (
  { databaseUrl, dataDir, sqliteSynchronous: synchronous }: DatabaseConfig,
  { clock = systemClock, logger = silentLogger }: { clock?: Clock; logger?: Logger } = {},
): Promise<Store> => openStore({ databaseUrl, dataDir, synchronous, clock, logger, exclusive: false, migrate: false });

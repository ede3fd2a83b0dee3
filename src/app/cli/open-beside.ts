import { type Clock, type Logger, silentLogger, systemClock } from '../../kernel/index.ts';
import { openStore } from '../../store/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { Config } from '../config/config-variables.ts';

/** Opens the configured database as it is. A gateway may be running. Close it after use. */
export const openBeside = (
  { databaseUrl, dataDir, sqliteSynchronous: synchronous }: Config,
  { clock = systemClock, logger = silentLogger }: { clock?: Clock; logger?: Logger } = {},
): Promise<Store> => openStore({ databaseUrl, dataDir, synchronous, clock, logger, exclusive: false, migrate: false });

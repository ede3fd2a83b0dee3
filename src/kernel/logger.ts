/**
 * The logger's interface; `telemetry/logging/logger.ts` implements it with pino. Fields first, a
 * short message second.
 */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger whose lines all carry `fields`. */
  child(fields: object): Logger;
}

export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};

/**
 * Registers a cache in memory, so that its number of entries becomes a metric. `cache` is its name
 * in the metric.
 */
export type ReportCacheSize = (cache: string, size: () => number) => void;

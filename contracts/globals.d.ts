import type { Utils, UtilsExtensions } from './v1.d.ts';

/** The two globals of plugins, which a module alone cannot declare to editors. */
declare global {
  const utils: Utils & UtilsExtensions;
  /** Writes to the gateway's debug log, and to the terminal of `taskgate plugin dev`. */
  const console: { log(...values: unknown[]): void };
}

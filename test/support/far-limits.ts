/**
 * Limits that a test is not about: no busy machine reaches them. A test waits for its condition,
 * and what hangs ends by `PATIENCE_MS` with words of its own, before the limit of the test.
 */

/** The limit of tests and hooks, set by `set-test-limit.ts`. Longer ones stand in their files. */
export const TEST_LIMIT_MS = 600_000;

/** How long a wait for a condition, a command or a page may take. */
export const PATIENCE_MS = 300_000;

/**
 * Limits of the product. A test whose plugin never ends sets a short one, since such a plugin keeps
 * a core busy until then.
 */
export const FAR_MS = 300_000;

/** Variables that set such limits for a gateway's process: the longest that they allow. */
export const farLimits: Record<string, string> = {
  SANDBOX_TIMEOUT_MILLISECONDS: '60000',
  SANDBOX_KILL_GRACE_MILLISECONDS: '10000',
};

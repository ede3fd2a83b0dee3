/**
 * Limits of the product that a test is not about: no busy machine reaches them. A test whose plugin
 * never ends sets a short one, since such a plugin keeps a core busy until then.
 */
export const FAR_MS = 60_000;

/** Variables that set such limits for a gateway's process. */
export const farLimits: Record<string, string> = {
  SANDBOX_TIMEOUT_MILLISECONDS: String(FAR_MS),
  SANDBOX_KILL_GRACE_MILLISECONDS: '10000',
};

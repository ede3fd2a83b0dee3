import type { DeclaredLimit, DeclaredLimits } from '../../store/ports/index.ts';

/** The pool of a channel that names none, and where an outage of its vendor is kept. */
export const ownPool = (channelId: number): string => `#${channelId}`;

/** The name under which a rest of a channel's credential is kept. */
export const credentialPool = ({ channelId, credentialId }: { channelId: number; credentialId: number }): string =>
  credentialId === 0 ? ownPool(channelId) : `#${channelId}/${credentialId}`;

/** The strictest of what holds for a pool. `model` empty: for all models together. */
export function findStrictest(all: readonly (DeclaredLimits | null)[], model: string): DeclaredLimit | undefined {
  const declared = all.flatMap((limits) => {
    if (model === '') return limits ? [limits] : [];
    const { models = {} } = limits ?? {};
    return Object.hasOwn(models, model) ? [models[model] as DeclaredLimit] : [];
  });
  return mergeLimits(declared);
}

/** The strictest of several limits; `undefined`: they limit nothing. */
export function mergeLimits(limits: readonly DeclaredLimit[]): DeclaredLimit | undefined {
  const least = (field: keyof DeclaredLimit): number | undefined => {
    const values = limits.flatMap((limit) => limit[field] ?? []);
    return values.length === 0 ? undefined : Math.min(...values);
  };
  const [maxRunning, maxPerMinute] = [least('maxRunning'), least('maxPerMinute')];
  if (maxRunning === undefined && maxPerMinute === undefined) return undefined;
  // One that declares a rate without a burst allows one at once.
  const rated = limits.filter((limit) => limit.maxPerMinute !== undefined);
  const burst = Math.min(...rated.map((limit) => limit.burst ?? 1));
  return {
    ...(maxRunning === undefined ? {} : { maxRunning }),
    ...(maxPerMinute === undefined ? {} : { maxPerMinute, burst }),
  };
}

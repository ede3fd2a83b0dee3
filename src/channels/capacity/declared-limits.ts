import { hasHiddenCharacters, sentence } from '../../kernel/index.ts';
import type { DeclaredLimit, DeclaredLimits } from '../../store/ports/index.ts';
import { channelErrors } from '../errors.ts';

const HIGHEST = 1_000_000;
const MAX_POOL = 64;
const MAX_MODELS = 1000;

/** The pool of a channel that names none, and where an outage of its vendor is kept. */
export const ownPool = (channelId: number): string => `#${channelId}`;

/** The name under which a rest of a channel's credential is kept. */
export const credentialPool = ({ channelId, credentialId }: { channelId: number; credentialId: number }): string =>
  credentialId === 0 ? ownPool(channelId) : `#${channelId}/${credentialId}`;

/**
 * What an account may run, as the operator says.
 * @throws `channels.invalid`
 */
export function checkLimits(limits: DeclaredLimits | null): DeclaredLimits | null {
  if (limits === null) return null;
  const { models = {}, ...whole } = limits;
  const names = Object.keys(models);
  if (names.length > MAX_MODELS)
    throw invalid('limits.models', sentence('channels.list_max', { field: 'limits.models', max: MAX_MODELS }));
  const checked = names.map((name) => {
    if (name.trim() === '')
      throw invalid('limits.models', sentence('channels.list_empty_entry', { field: 'limits.models' }));
    return [name, checkLimit(models[name] ?? {}, `limits.models.${name}`)] as const;
  });
  const given = checked.filter(([, limit]) => Object.keys(limit).length > 0);
  const limit: DeclaredLimits = checkLimit(whole, 'limits');
  if (given.length > 0) limit.models = Object.fromEntries(given);
  return Object.keys(limit).length === 0 ? null : limit;
}

function checkLimit({ maxRunning, maxPerMinute, burst }: DeclaredLimit, param: string): DeclaredLimit {
  const fields = { max_running: maxRunning, max_per_minute: maxPerMinute, burst };
  for (const [field, value] of Object.entries(fields)) {
    const isFit = value === undefined || (Number.isInteger(value) && value >= 1 && value <= HIGHEST);
    if (!isFit)
      throw invalid(
        `${param}.${field}`,
        sentence('channels.limit_range', { field: `${param}.${field}`, max: HIGHEST }),
      );
  }
  if (burst !== undefined && (maxPerMinute === undefined || burst > maxPerMinute)) {
    throw invalid(`${param}.burst`, sentence('channels.limit_burst', { field: `${param}.burst` }));
  }
  return {
    ...(maxRunning === undefined ? {} : { maxRunning }),
    ...(maxPerMinute === undefined ? {} : { maxPerMinute }),
    ...(burst === undefined ? {} : { burst }),
  };
}

/** @throws `channels.invalid` */
export function checkPool(pool: string): string {
  const name = pool.trim();
  if (name.length > MAX_POOL || name.startsWith('#') || hasHiddenCharacters(name))
    throw invalid('pool', sentence('channels.pool_name', { max: MAX_POOL }));
  return name;
}

const invalid = (param: string, message: ReturnType<typeof sentence>) => channelErrors.invalid({ param, message });

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

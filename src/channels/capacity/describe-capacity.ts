import type { Clock } from '../../kernel/index.ts';
import type { ChannelRecord, DeclaredLimit, DeclaredLimits } from '../../store/ports/index.ts';
import { credentialPool, findStrictest, ownPool } from './declared-limits.ts';
import type { PoolState, PoolStates } from './pool-states.ts';
import type { RunningSlots, SlotCount } from './running-slots.ts';
import type { CapacityView, RestView, Scope } from './types.ts';

type Described = {
  channel: ChannelRecord;
  credentialIds: readonly number[];
  pool: string;
  slots: RunningSlots;
  states: PoolStates;
  /** The limits that are declared for a scope: the pool's, then the model's. */
  levels: (scope: Scope) => { model: string; limit: DeclaredLimit }[];
  /** What the vendor reports about the pool's accounts. */
  reported: readonly DeclaredLimits[];
  clock: Clock;
};

/** What people see of a channel: its own tasks, what limits it, and each model that it has run. */
export function describeCapacity(of: Described): CapacityView {
  const { channel, credentialIds, pool, slots, states, levels, reported, clock } = of;
  const known = states
    .list(pool)
    .filter(({ model, stored, rest }) => model !== '' && (stored > 0 || rest.reason !== ''));
  const names = [...new Set([...known.map(({ model }) => model), ...slots.listModels(pool)])].sort();
  const scope = (model: string): Scope => ({ channelId: channel.id, credentialId: 0, pool, model });

  const describeRest = (found: PoolState[]): RestView => {
    const longest = found.filter(({ rest }) => rest.reason !== '').sort((a, b) => b.rest.untilMs - a.rest.untilMs)[0];
    if (!longest) return { restingUntil: 0, restReason: '', restingSince: 0, restStep: 0 };
    const leftMs = Math.max(0, longest.rest.untilMs - clock.monotonicMs());
    const { reason, since, step } = longest.rest;
    const restingUntil = clock.unix() + Math.ceil(leftMs / 1000);
    return { restingUntil, restReason: reason, restingSince: since, restStep: step };
  };
  const count = ({ inFlight, abandoned }: SlotCount) => ({ running: Math.max(0, inFlight - abandoned), abandoned });
  const maxRunning = (model: string): number | undefined =>
    levels(scope(model)).find((level) => level.model === model)?.limit.maxRunning;

  const isReported = (limit: number, ...ofModels: string[]): boolean =>
    ofModels.some((model) => findStrictest(reported, model)?.maxRunning === limit);

  const models = names.map((model) => {
    const state = states.find({ pool, model });
    const declared = levels(scope(model)).flatMap(({ limit }) => limit.maxRunning ?? []);
    const learned = declared.length === 0;
    const least = Math.min(...declared);
    return {
      model,
      ...count(slots.find(pool, model)),
      limit: learned ? state.learned.ceiling : least,
      learned,
      limitReason: learned ? state.learned.reason : isReported(least, '', model) ? ('told' as const) : ('' as const),
      ...describeRest([state]),
    };
  });
  const whole = maxRunning('') ?? null;
  const own = states.find({ pool: ownPool(channel.id), model: '' });
  const keys = credentialIds.map((credentialId) =>
    states.find({ pool: credentialPool({ channelId: channel.id, credentialId }), model: '' }),
  );
  // One that does not rest serves for all; else the channel rests until the first may be tried.
  const first = keys.every(({ rest }) => rest.reason !== '')
    ? keys.toSorted((a, b) => a.rest.untilMs - b.rest.untilMs).slice(0, 1)
    : [];
  return {
    ...count(slots.ofChannel(channel.id)),
    limit: whole ?? (models.length > 0 ? models.reduce((sum, { limit }) => sum + (limit ?? 0), 0) : null),
    learned: whole === null,
    limitReason: whole !== null && isReported(whole, '') ? 'told' : '',
    ...describeRest([own, ...first, ...models.map(({ model }) => states.find({ pool, model }))]),
    models,
    credentials: credentialIds.map((id, index) => ({ id, ...describeRest(keys.slice(index, index + 1)) })),
  };
}

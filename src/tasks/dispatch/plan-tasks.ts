import { mapModel, type Scope, type VendorAccount } from '../../channels/index.ts';
import type { LoadedPlugin } from '../../plugins/index.ts';
import type { WaitingCount } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';
import type { Plan } from './choose-next-tasks.ts';

type Queues = {
  classes: readonly WaitingCount[];
  /** Tasks that are sent together. */
  most: number;
  /** Grows with each plan: the class that is planned last may get nothing, another each time. */
  turn: number;
};

/**
 * Plans which accounts could send which tasks, by the free slots that this node knows of. Queues of
 * one priority may want the same slots: `chooseNextTasks` decides between them.
 */
export function planTasks(deps: TaskDeps, { classes, most, turn }: Queues): Plan[] {
  const { capacity } = deps.node;
  const toScope = (account: VendorAccount, model: string): Scope =>
    capacity.scope(account, mapModel(account.channel.modelMapping, model));
  /** Counted once for each account and model: each choice of an account asks for all of them. */
  const counted = new Map<string, number>();
  const count = (scope: Scope): number => {
    const key = `${scope.credentialId} ${scope.model}`;
    const found = counted.get(key) ?? capacity.freeSlots(scope);
    counted.set(key, found);
    return found;
  };
  /** What higher priorities take. */
  const taken = new Map<string, number>();
  const name = ({ pool, model }: Scope): string => `${pool} ${model}`;
  const free = (scope: Scope): number => count(scope) - (taken.get(name(scope)) ?? 0);

  const { generation, release } = deps.pin();
  try {
    const plans: Plan[] = [];
    const priorities = [...Map.groupBy(classes, ({ priority }) => priority)].sort(([a], [b]) => b - a);
    for (const [, rivals] of priorities) {
      const first = turn % rivals.length;
      const wanted = [...rivals.slice(first), ...rivals.slice(0, first)].flatMap((waitingClass) =>
        planClass(waitingClass, generation.plugins.get(waitingClass.plugin)),
      );
      for (const { scope, limit } of wanted)
        taken.set(name(scope), Math.min(count(scope), (taken.get(name(scope)) ?? 0) + limit));
      plans.push(...wanted);
    }
    return plans;
  } finally {
    release();
  }

  function planClass(waitingClass: WaitingCount, plugin: LoadedPlugin | undefined): Plan[] {
    const plans: Plan[] = [];
    if (!plugin || plugin.suspended()) return plans;
    for (let left = Math.min(waitingClass.waiting - waitingClass.parked, most); left > 0; ) {
      const account = deps.vendors.channels.pick({
        pluginKey: waitingClass.plugin,
        channelTypes: plugin.manifest.channelTypes,
        ...{
          model: waitingClass.model,
          group: waitingClass.group,
          except: plans.map((one) => one.account.credential.id),
        },
        only:
          waitingClass.channelId > 0
            ? { channelId: waitingClass.channelId, credentialId: waitingClass.credentialId || null }
            : undefined,
        hasFreeSlot: (one) => free(toScope(one, waitingClass.model)) > 0,
        running: capacity.running,
      });
      if (!account) break;
      const scope = toScope(account, waitingClass.model);
      // Accounts of one channel share what is free.
      const sharing = deps.vendors.channels.accounts(account.channel).length;
      const limit = Math.min(left, Math.ceil(free(scope) / sharing));
      plans.push({ waitingClass, account, scope, limit });
      left -= limit;
    }
    return plans;
  }
}

import {
  type Dispatch,
  mapModel,
  type PickRequest,
  type Scope,
  type Start,
  serves,
  type VendorAccount,
} from '../../channels/index.ts';
import { sha256Hex } from '../../kernel/index.ts';
import type { WaitingClass } from '../../store/ports/index.ts';
import type { DecodedRequest, Submission, TaskDeps } from '../types.ts';

/** The account that a submission is sent by, or would be if it had a free slot. */
export type Choice = {
  account: VendorAccount;
  /** The request as the plugin that drives the channel decoded it. */
  decoded: DecodedRequest;
  scope: Scope;
} & (
  | { kind: 'begun'; dispatch: Dispatch }
  /** The store decides whether it may begin. */
  | { kind: 'asks'; start: Start }
  /** Every account is busy, or others wait before it. */
  | { kind: 'full' }
);

/** Keeps the account, for a task that waits. */
export const toFull = ({ account, decoded, scope }: Choice): Choice & { kind: 'full' } => ({
  ...{ kind: 'full', account, decoded, scope },
});

type Wanted = { taskId: string; tried: readonly number[]; isNew: boolean };

/** Whether tasks of this group wait, and clients do not see that a vendor is full. */
export const mayWait = (deps: TaskDeps, group: string): boolean =>
  deps.limits.waiting(group).maxWaitMs > 0 && deps.node.features.has('waiting@1');

/**
 * The class of a task: those that wait for the same slots share one. Its name is short, since each
 * row of a waiting task has it.
 */
export function toWaitingClass(request: DecodedRequest & Pick<Submission, 'caller'>): WaitingClass {
  const { plugin, intent, caller, originTasks } = request;
  const channelId = originTasks?.channelId ?? 0;
  const credentialId = originTasks?.credentialId ?? 0;
  const parts = { plugin: plugin.key, model: intent.model, group: caller.group, channelId, credentialId };
  const named = [parts.plugin, parts.model, parts.group, channelId, ...(credentialId > 0 ? [credentialId] : [])];
  return { ...parts, class: sha256Hex(JSON.stringify(named)).slice(0, 16) };
}

/**
 * Picks an account with a free slot, and takes it. Where nothing waits only a declared limit holds
 * a submission back: then one that rests serves if no other is free. Undefined: no channel serves
 * the model, or all accounts were tried.
 */
export function takeAccount(
  deps: TaskDeps,
  submission: Submission,
  { taskId, tried, isNew }: Wanted,
): Choice | undefined {
  const { capacity, waiting } = deps.node;
  const { caller } = submission;
  const candidates: DecodedRequest[] = [submission, ...(submission.alternatives ?? [])];
  const waits = mayWait(deps, caller.group);
  const findScope = (account: VendorAccount): Scope =>
    capacity.scope(account, mapModel(account.channel.modelMapping, submission.intent.model));
  const isUndeclared = (account: VendorAccount): boolean => capacity.declared(findScope(account)) === undefined;
  /** A new task goes straight to an account that has slots for all that wait before it, too. */
  const hasSlotsFor = (decoded: DecodedRequest) => {
    const before = isNew && waits ? waiting.counts.count(toWaitingClass({ ...decoded, caller }).class) : 0;
    return (account: VendorAccount): boolean => {
      const scope = findScope(account);
      return capacity.freeSlots(scope) > before && !(isNew && waits && waiting.counts.isGathered(scope));
    };
  };
  const requestFor = ({ plugin, intent, originTasks }: DecodedRequest) => ({
    pluginKey: plugin.key,
    channelTypes: plugin.manifest.channelTypes,
    model: intent.model,
    group: caller.group,
    except: tried,
    only: originTasks,
    running: capacity.running,
  });
  const pick = (filter?: (decoded: DecodedRequest) => PickRequest['hasFreeSlot']) => {
    const [request, ...others] = candidates.map((decoded) => ({
      ...requestFor(decoded),
      hasFreeSlot: filter?.(decoded),
    }));
    const account = request && deps.vendors.channels.pick(request, ...others);
    const decoded =
      account &&
      candidates.find((one) => serves(account.channel, requestFor(one)) && filter?.(one)?.(account) !== false);
    return decoded && { account, decoded };
  };
  const free = pick(hasSlotsFor) ?? (waits ? undefined : pick(() => isUndeclared));
  if (!free) {
    const full = pick();
    return full && { kind: 'full', ...full, scope: findScope(full.account) };
  }
  const { account, decoded } = free;
  const scope = findScope(account);
  const start = { taskId, slots: 1, userId: caller.user.id };
  const asks = capacity.needsLock(scope) && (waits || capacity.declared(scope) !== undefined);
  return asks
    ? { kind: 'asks', account, decoded, scope, start }
    : { kind: 'begun', account, decoded, scope, dispatch: capacity.begin(scope, start) };
}

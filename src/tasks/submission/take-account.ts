import {
  type Account,
  type Dispatch,
  mapModel,
  type PickRequest,
  type Scope,
  type Start,
  serves,
} from '../../channels/index.ts';
import type { DecodedRequest, Submission, TaskDeps } from '../types.ts';
import { waitingClass } from '../waiting/waiting-classes.ts';

/** The account that a submission is sent by, or would be if it had room. */
export type Choice = {
  account: Account;
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

type Wanted = { taskId: string; tried: readonly number[]; isNew: boolean };

/** Whether tasks of this group wait, and clients do not see that a vendor is full. */
export const mayWait = (deps: TaskDeps, group: string): boolean =>
  deps.limits.waiting(group).maxWaitMs > 0 && deps.node.features.has('waiting@1');

export const readClass = ({ plugin, intent, caller, originTasks }: DecodedRequest & Pick<Submission, 'caller'>) =>
  waitingClass({
    plugin: plugin.key,
    model: intent.model,
    group: caller.group,
    channelId: originTasks?.channelId ?? 0,
    credentialId: originTasks?.credentialId ?? 0,
  });

/**
 * Picks an account that has room, and takes a slot there. Where nothing waits only a declared limit
 * holds a submission back: then one that rests serves if no other has room. Undefined: no channel
 * serves the model, or all accounts were tried.
 */
export function takeAccount(
  deps: TaskDeps,
  submission: Submission,
  { taskId, tried, isNew }: Wanted,
): Choice | undefined {
  const { capacity } = deps.node;
  const { caller } = submission;
  const candidates: DecodedRequest[] = [submission, ...(submission.alternatives ?? [])];
  const waits = mayWait(deps, caller.group);
  const findScope = (account: Account): Scope =>
    capacity.scope(account, mapModel(account.channel.modelMapping, submission.intent.model));
  const isUndeclared = (account: Account): boolean => capacity.declared(findScope(account)) === undefined;
  /** A new task goes straight to an account that has room for all that wait before it, too. */
  const roomFor = (decoded: DecodedRequest) => {
    const before = isNew && waits ? deps.node.line.waiting(readClass({ ...decoded, caller }).class) : 0;
    return (account: Account): boolean => capacity.room(findScope(account)) > before;
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
  const pick = (roomOf?: (decoded: DecodedRequest) => PickRequest['hasRoom']) => {
    const [request, ...others] = candidates.map((decoded) => ({ ...requestFor(decoded), hasRoom: roomOf?.(decoded) }));
    const account = request && deps.vendors.channels.pick(request, ...others);
    const decoded =
      account &&
      candidates.find((one) => serves(account.channel, requestFor(one)) && roomOf?.(one)?.(account) !== false);
    return decoded && { account, decoded };
  };
  const free = pick(roomFor) ?? (waits ? undefined : pick(() => isUndeclared));
  if (!free) {
    const full = pick();
    return full && { kind: 'full', ...full, scope: findScope(full.account) };
  }
  const { account, decoded } = free;
  const scope = findScope(account);
  const start = { taskId, slots: 1, userId: caller.user.id };
  const asks = capacity.asksStore(scope) && (waits || capacity.declared(scope) !== undefined);
  return asks
    ? { kind: 'asks', account, decoded, scope, start }
    : { kind: 'begun', account, decoded, scope, dispatch: capacity.begin(scope, start) };
}

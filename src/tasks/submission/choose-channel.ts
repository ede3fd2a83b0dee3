import { type Dispatch, mapModel, type PickRequest, type Scope, type Start, serves } from '../../channels/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import type { PluginOrder, Submission, TaskDeps } from '../types.ts';
import { waitingClass } from '../waiting/waiting-line.ts';

/** The channel that a submission is sent by, or would be if it had room. */
export type Choice = {
  channel: ChannelRecord;
  /** What the plugin that drives the channel makes of the request. */
  order: PluginOrder;
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
  deps.limits.waiting(group).maxWaitMs > 0 && deps.node.line.isOpen();

export const classOf = ({ plugin, intent, caller, originTasks }: PluginOrder & Pick<Submission, 'caller'>) =>
  waitingClass({
    plugin: plugin.key,
    model: intent.model,
    group: caller.group,
    channelId: originTasks?.channelId ?? 0,
  });

/**
 * Picks a channel that has room, and takes a slot there. Where nothing waits only a declared limit
 * holds a submission back. Undefined: no channel serves the model, or all were tried.
 */
export function chooseChannel(
  deps: TaskDeps,
  submission: Submission,
  { taskId, tried, isNew }: Wanted,
): Choice | undefined {
  const { capacity } = deps.node;
  const { caller } = submission;
  const orders: PluginOrder[] = [submission, ...(submission.alternatives ?? [])];
  const waits = mayWait(deps, caller.group);
  const findScope = (channel: ChannelRecord): Scope =>
    capacity.scope(channel, mapModel(channel.modelMapping, submission.intent.model));
  const hasRoom = (channel: ChannelRecord): boolean => {
    const scope = findScope(channel);
    return (!waits && capacity.declared(scope) === undefined) || capacity.room(scope) > 0;
  };
  const isBehind = (order: PluginOrder): boolean =>
    isNew && waits && deps.node.line.isBusy(classOf({ ...order, caller }).class);
  const requestFor = ({ plugin, intent, originTasks }: PluginOrder) => ({
    pluginKey: plugin.key,
    channelTypes: plugin.manifest.channelTypes,
    model: intent.model,
    group: caller.group,
    except: tried,
    ...(originTasks ? { only: originTasks.channelId } : {}),
  });
  const pick = (from: readonly PluginOrder[], room: Pick<PickRequest, 'hasRoom'>) => {
    const [request, ...others] = from.map((order) => ({ ...requestFor(order), ...room }));
    const picked = request && deps.vendors.channels.pick(request, ...others);
    const order = picked && from.find((one) => serves(picked, requestFor(one)));
    return order && { channel: picked, order };
  };
  const free = pick(
    orders.filter((order) => !isBehind(order)),
    { hasRoom },
  );
  if (!free) {
    const full = pick(orders, {});
    return full && { kind: 'full', ...full, scope: findScope(full.channel) };
  }
  const { channel, order } = free;
  const scope = findScope(channel);
  const start = { taskId, slots: 1, userId: caller.user.id };
  const asks = capacity.asksStore(scope) && (waits || capacity.declared(scope) !== undefined);
  return asks
    ? { kind: 'asks', channel, order, scope, start }
    : { kind: 'begun', channel, order, scope, dispatch: capacity.begin(scope, start) };
}

import { mapModel, serves } from '../../channels/index.ts';
import { toRetryRequest } from '../../files/index.ts';
import { AppError, sentence, userOwner } from '../../kernel/index.ts';
import type { Generation, LoadedPlugin } from '../../plugins/index.ts';
import type { AcceptedPrice, TaskExecution, TaskRecord, WaitingCount, WaitingRecord } from '../../store/ports/index.ts';
import { localCredential } from '../../vendors/index.ts';
import { isWaiting } from '../state/describe-task.ts';
import { endWaiting, toLease } from '../state/finish-task.ts';
import { isOfGateway } from '../submission/attempt-channels.ts';
import { decodeOtherModel, type OtherSubmission } from '../submission/find-protocol-owner.ts';
import { readAccepted } from '../submission/move-task.ts';
import { type PreparedSubmission, prepareSubmission } from '../submission/prepare-submission.ts';
import { SUBMIT_LEASE_MS } from '../submission/renew-lease.ts';
import { reservationNumber } from '../submission/return-to-queue.ts';
import { toWaitingClass } from '../submission/take-account.ts';
import type { ModelFallback } from '../task-node.ts';
import type { TaskDeps } from '../types.ts';
import { restoreSubmission, storeIntent } from '../waiting/stored-request.ts';
import type { FindCaller } from './find-caller.ts';

/** Tasks of one queue that are looked at together. */
const MAX_LOOKED_AT = 16;

type SweepContext = {
  findCaller: FindCaller;
  nodes: readonly string[];
  /** By class, how many of the oldest were skipped: those behind them are looked at next. */
  skipped: Map<string, number>;
};
type Fallbacks = Readonly<Record<string, ModelFallback>>;

/**
 * Moves waiting tasks to the queue of another model, where their group allows it: while every
 * account of their model rests, or once they have waited too long beside full ones, and if the
 * other model has slots now. Nothing was sent before, and it is never dearer than what was
 * accepted. From then on the task is one of that model. Returns how many moved.
 */
export async function fallBack(
  deps: TaskDeps,
  classes: readonly WaitingCount[],
  { findCaller, nodes, skipped }: SweepContext,
): Promise<number> {
  // An older node would bill such a task by its own price alone.
  if (!deps.node.features.has('accepted_price@1')) return 0;
  const pin = deps.pin();
  const { generation } = pin;
  try {
    let moved = 0;
    for (const [of] of Map.groupBy(classes, (each) => each.class).values()) {
      const fallbacks = of && of.channelId === 0 ? deps.limits.waiting(of.group).fallbacks : undefined;
      const chains = Object.entries(fallbacks ?? {}).filter(([model, { models }]) =>
        [model, ...models].includes(of?.model ?? ''),
      );
      if (!of || chains.length === 0) continue;
      const waitedMs = findLeastWait(deps, of, {
        plugin: generation.plugins.get(of.plugin),
        rules: chains.map(([, rule]) => rule),
      });
      if (waitedMs === undefined) continue;
      const skip = skipped.get(of.class) ?? 0;
      const wanted = { class: of.class, nodes, waitedMs, skip, limit: MAX_LOOKED_AT };
      const entries = await deps.store.waiting.fallingBack(wanted);
      let unusable = 0;
      for (const entry of entries) {
        const run = { entry, generation, findCaller, fallbacks: Object.fromEntries(chains) };
        const outcome = await tryOthers(deps, run);
        if (outcome === 'moved') moved += 1;
        if (outcome === 'skipped') unusable += 1;
      }
      if (unusable === MAX_LOOKED_AT) skipped.set(of.class, skip + unusable);
      else skipped.delete(of.class);
    }
    return moved;
  } finally {
    pin.release();
  }
}

/** How long a task of a queue must have waited; undefined: none moves, since they can be sent. */
function findLeastWait(
  { vendors: { channels }, node: { capacity } }: TaskDeps,
  of: WaitingCount,
  { plugin, rules }: { plugin: LoadedPlugin | undefined; rules: readonly ModelFallback[] },
): number | undefined {
  const { model, group } = of;
  const channelTypes = plugin?.manifest.channelTypes ?? [];
  const serving = channels.known().filter((one) => serves(one, { pluginKey: of.plugin, channelTypes, model, group }));
  const upstream = (one: (typeof serving)[number]): string => mapModel(one.modelMapping, model);
  if (serving.length > 0 && serving.every((one) => capacity.rests(one, upstream(one)))) return 0;
  const hasFreeSlot = serving.some((one) =>
    channels.accounts(one).some((account) => capacity.freeSlots(capacity.scope(account, upstream(one))) > 0),
  );
  const waits = rules.flatMap(({ afterMs }) => afterMs ?? []);
  return hasFreeSlot || waits.length === 0 ? undefined : Math.min(...waits);
}

type Waiting = { entry: WaitingRecord; generation: Generation; findCaller: FindCaller; fallbacks: Fallbacks };

/**
 * Moves a task to the first model of its rule that has a free slot and may serve it, and ends it
 * where its dispatch would, since its caller may not have it any more. `skipped`: it waits, and
 * no other model could be looked for.
 */
async function tryOthers(
  deps: TaskDeps,
  { entry, generation, findCaller, fallbacks }: Waiting,
): Promise<'moved' | 'stays' | 'skipped'> {
  const { store, logger } = deps;
  const task = await store.tasks.byTaskId(entry.taskId);
  if (!task || !isWaiting(task)) return 'stays';
  const { originModelName: current, requestedModelName: requested = current } = task.properties;
  const others = [requested, ...(fallbacks[requested]?.models ?? [])].filter((model) => model !== current);
  if (others.length === 0) return 'skipped';
  let mayLater = false;
  try {
    const plugin = await generation.findPlugin(task);
    const caller = await findCaller(task).catch((error: unknown) => {
      if (!(error instanceof AppError) || isOfGateway(error)) throw error;
      return error;
    });
    if (caller instanceof AppError) {
      await endWaiting(deps, task, { error: caller });
      return 'stays';
    }
    if (!plugin) return 'skipped';
    // A price that reserves nothing before it knows its facts is not a bound for another one.
    const accepted = readAccepted(task);
    if (accepted.quota === 0 && deps.billing.readsFacts(accepted)) {
      await store.waiting.keepModel(task.taskId);
      return 'stays';
    }
    const submission = await restoreSubmission(deps, { task, request: entry.request, plugin, caller });
    const allowed = caller.key?.models ?? [];
    for (const model of others) {
      if (allowed.length > 0 && !allowed.includes(model)) continue;
      for (const other of await decodeOtherModel(deps, submission, { model, generation })) {
        const found = await prepareOther(deps, { task, accepted, requested }, other);
        if (found === 'full') mayLater = true;
        else if (found !== 'refused') {
          const moved = await changeQueue(deps, { task, entry, requested, prepared: found });
          if (moved !== 'unpaid') return moved ? 'moved' : 'stays';
        }
      }
    }
    if (!mayLater) await store.waiting.keepModel(task.taskId);
  } catch (error) {
    // It still waits, and is looked at again.
    logger.warn({ err: error, task_id: task.taskId }, 'a waiting task could not be given to another model');
    return 'skipped';
  }
  return 'stays';
}

type Other = { task: TaskRecord; accepted: AcceptedPrice; requested: string };

/**
 * `full`: no account has a free slot just now. `refused`: it cannot serve this request, or is
 * dearer than what was accepted. The model that was asked for costs what was accepted at most,
 * whatever it costs now.
 */
async function prepareOther(
  deps: TaskDeps,
  { task, accepted, requested }: Other,
  submission: OtherSubmission,
): Promise<PreparedSubmission | 'full' | 'refused'> {
  const { capacity, waiting, limiters } = deps.node;
  const { plugin, intent, caller } = submission;
  // Others wait before it there.
  if (plugin.suspended() || waiting.counts.count(toWaitingClass(submission).class) > 0) return 'full';
  const account = deps.vendors.channels.pick({
    ...{ pluginKey: plugin.key, channelTypes: plugin.manifest.channelTypes },
    ...{ model: intent.model, group: caller.group, except: [], running: capacity.running },
    hasFreeSlot: (one) => capacity.freeSlots(capacity.scope(one, mapModel(one.channel.modelMapping, intent.model))) > 0,
  });
  if (!account) return 'full';
  const release = await limiters.submissions.enter({ owner: userOwner(caller.user.id), queue: plugin.key });
  try {
    const attempt = { account, publicTaskId: task.taskId, findCredential: localCredential };
    const prepared = await prepareSubmission(deps, submission, attempt);
    const { quote } = prepared;
    if (quote.quota <= accepted.quota) return prepared;
    if (intent.model !== requested) return 'refused';
    return { ...prepared, quote: { ...quote, quota: accepted.quota } };
  } catch (error) {
    if (error instanceof AppError && error.kind === 'invalid') return 'refused';
    throw error;
  } finally {
    release();
  }
}

type Move = { task: TaskRecord; entry: WaitingRecord; requested: string; prepared: PreparedSubmission };

/**
 * False: it left its queue by then. `unpaid`: its wallet, key or budget lacks what more it costs.
 */
async function changeQueue(deps: TaskDeps, { task, entry, requested, prepared }: Move): Promise<boolean | 'unpaid'> {
  const { node, clock } = deps;
  const { plugin, generation, intent, action, slots, quote, upstreamModel } = prepared;
  const into = toWaitingClass(prepared);
  const isMoved = await node.writes.money
    .replacing(async (tx, replace) => {
      const [taken] = await tx.waiting.take([{ taskId: task.taskId }], { owner: node.id, leaseForMs: SUBMIT_LEASE_MS });
      if (!taken || taken.entry.class !== entry.class) throw LEFT;
      await node.writes.sources.keep(tx, plugin, clock.unix());
      const change = {
        ...{ platform: plugin.key, sourceHash: plugin.sourceHash, action, slots },
        ...{ quota: quote.quota, billing: { ...quote.snapshot, accepted: readAccepted(taken.task) } },
        execution: {
          ...withRequest(taken.task.execution, prepared),
          ...{ pluginKey: plugin.key, pluginVersion: plugin.version, generation },
        },
        properties: {
          ...taken.task.properties,
          ...{ originModelName: intent.model, upstreamModelName: upstreamModel },
          requestedModelName: requested,
        },
      };
      if (!(await tx.tasks.amend(toLease(taken.task), change))) throw LEFT;
      const after = { ...taken.task, ...change };
      const reserved = { reserved: taken.task.quota, attempt: reservationNumber(taken.task, 1) };
      await replace(tx, after, reserved);
      const detail = sentence('tasks.fell_back', { from: task.properties.originModelName, to: intent.model });
      await tx.tasks.addEvent({
        taskId: task.taskId,
        at: clock.unix(),
        kind: 'fell_back',
        status: 'NOT_START',
        detail,
      });
      await tx.waiting.count([taken], { isSent: false });
      const moved = { task: after, entry: { ...taken.entry, request: storeIntent(entry.request, intent) } };
      if (!(await tx.waiting.putBack(moved, { waitMs: 0, counts: false, into }))) throw LEFT;
      return true;
    })
    .catch((error: unknown) => {
      if (error === LEFT) return false;
      if (error instanceof AppError) return 'unpaid' as const;
      throw error;
    });
  if (isMoved === true) {
    node.writes.sources.committed(plugin, clock.unix());
    node.waiting.counts.entered(into.class);
    node.watchers.changed(task);
  }
  return isMoved;
}

/** Undoes what its transaction has written. */
const LEFT = new Error('the task left its queue');

/** Stores the request that a repeat of the task is made from. */
function withRequest(execution: TaskExecution, { intent, request }: PreparedSubmission): TaskExecution {
  const { request: repeatable, inputs, ...rest } = execution;
  const again = repeatable && toRetryRequest({ body: request.body, intent });
  if (!inputs) return again ? { ...rest, request: again } : rest;
  const { model, action, requestBody = null } = intent;
  // A body that is kept as a file is that of the former model.
  if (inputs.files.some(({ as }) => as === 'body')) return { ...rest, inputsLost: 'unavailable' };
  return { ...rest, inputs: { ...inputs, model, action, body: requestBody } };
}

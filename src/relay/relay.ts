import { RELAY_TYPE } from '../channels/index.ts';
import { type Logger, sleepInStep } from '../kernel/index.ts';
import { type ChannelRecord, type RelayKind, STATUS } from '../store/ports/index.ts';
import {
  type Caller,
  findProtocolOwners,
  INTERRUPTED_EVERY_MS,
  type ProtocolOwner,
  type TaskDeps,
  taskErrors,
} from '../tasks/index.ts';
import { relayErrors } from './errors.ts';
import { createAccountRequestLimits } from './limit-account-requests.ts';
import { createOwnerRequestLimits } from './limit-owner-requests.ts';
import {
  callStoredObject,
  findLinkedVideo,
  findOwnObject,
  type LinkedVideo,
  noSuchObject,
  type ObjectName,
} from './objects/call-stored-object.ts';
import {
  cancelRelayTask,
  deleteRelayTask,
  followRelayTask,
  type OwnRelayTask,
  pageRelayTasks,
  type RelayTaskPage,
  type RelayTaskRead,
  readRelayTask,
  refuseRelayArtifacts,
} from './requests/follow-request.ts';
import { relayRequest } from './requests/relay-request.ts';
import { type ShownRelayTask, showRelayTask } from './requests/show-request.ts';
import type {
  RelayAnswer,
  RelayCall,
  RelayDeps,
  RelayedRequest,
  RelayLinks,
  RemixSource,
  Settlements,
} from './types.ts';
import { refundInterrupted } from './usage/refund-relay.ts';

/** Relays requests for models that no plugin serves to OpenAI-compatible vendors, unchanged. */
export type Relay = {
  /**
   * Whether the caller's request for the model is relayed: no plugin serves it to them on this
   * surface, and a relay channel lists it. True also where only channels of other groups list a
   * model that no plugin claims: `create` says so.
   */
  takes(caller: Caller, kind: RelayKind, model: string): boolean;
  /** Whether a relay channel serves the model to the caller. */
  serves(caller: Caller, model: string): boolean;
  /** For a request that only the relay serves. @throws tasks.model_not_found */
  assertTakes(caller: Caller, kind: RelayKind, model: string): void;
  create(caller: Caller, request: RelayedRequest): Promise<RelayAnswer>;
  /**
   * The user's own relayed video, to build a remix on.
   * @throws tasks.not_found, tasks.relay_object_gone when its request is past its retention
   */
  remixSource(userId: number, id: string): Promise<RemixSource>;
  /** Calls an object that the user's own request created. @throws tasks.not_found for any other */
  forward(object: ObjectName, call: RelayCall): Promise<RelayAnswer>;
  /** The video that a request has made, for anyone who has its link. */
  linkedVideo(relayId: string): Promise<LinkedVideo | undefined>;
  /** Requests that their clients follow as tasks. */
  readonly tasks: RelayTasks;
  /** Starts to refund requests that earlier processes left open. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /**
   * Deletes about `limit` ended requests, and as many objects, that are past their retention.
   * Returns how many.
   */
  deleteOld(limit: number): Promise<number>;
};

/** All of these throw tasks.task_not_found for what is not the caller's own. */
type RelayTasks = {
  /** @throws tasks.rate_limit_exceeded, tasks.artifact_access_limited */
  read(read: RelayTaskRead): Promise<RelayAnswer>;
  /** As `read`, with the images one by one. */
  show(read: RelayTaskRead): Promise<ShownRelayTask>;
  /** @throws tasks.page_not_found */
  page(userId: number, page: Parameters<typeof pageRelayTasks>[2]): Promise<RelayTaskPage>;
  /** @throws tasks.rate_limit_exceeded */
  follow(following: OwnRelayTask & { left: AbortSignal }): ReturnType<typeof followRelayTask>;
  /** @throws tasks.task_finished, tasks.cancel_unsupported in any case */
  cancel(own: OwnRelayTask): Promise<never>;
  /** @throws tasks.cancel_unsupported while the vendor works */
  delete(own: OwnRelayTask): Promise<void>;
  /** @throws tasks.artifacts_unsupported in any case */
  refuseArtifacts(own: OwnRelayTask): Promise<never>;
};

const DAY = 24 * 3600;
/** Rows serve repeats, for a day, and support questions. The bill itself is in the ledger. */
const REQUESTS_KEPT_SECONDS = 30 * DAY;
/**
 * An object's owner matters while its vendor has it. OpenAI keeps responses for 30 days and videos
 * for less.
 */
const OBJECTS_KEPT_SECONDS = 90 * DAY;

/** The plugins' protocol of each kind that has one. */
const PROTOCOLS = { response: 'proto_responses', video: 'proto_video' } as const;
const hasProtocol = (kind: RelayKind): kind is keyof typeof PROTOCOLS => Object.hasOwn(PROTOCOLS, kind);

export function createRelay({ linkVideo, ...deps }: TaskDeps & RelayLinks): Relay {
  const { store, clock, logger } = deps;
  const { channels } = deps.vendors;
  const stopping = new AbortController();
  const settlements = createSettlements(logger);
  const accountLimits = createAccountRequestLimits({ clock, capacity: deps.node.capacity });
  const ownerLimits = createOwnerRequestLimits({ clock });
  const shared = {
    settlements,
    accountLimits,
    ownerLimits,
    stopping: stopping.signal,
    thinkingModels: new Set<string>(),
    linkVideo,
  };
  const relayDeps: RelayDeps = { ...deps, shared };
  let loop = Promise.resolve();

  async function refundLoop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await refundInterrupted(deps).catch((error) =>
        logger.error({ err: error }, 'interrupted relayed requests could not be read; retrying'),
      );
      await sleepInStep(clock, INTERRUPTED_EVERY_MS[store.dialect], stopping.signal);
    }
  }

  function findOwner({ group }: Caller, kind: RelayKind, model: string): ProtocolOwner | undefined {
    if (!hasProtocol(kind)) return undefined;
    const pin = deps.pin();
    try {
      const wanted = { generation: pin.generation, protocol: PROTOCOLS[kind], model, group };
      return findProtocolOwners(deps.vendors, wanted)[0];
    } finally {
      pin.release();
    }
  }

  const listing = (model: string): ChannelRecord[] =>
    channels
      .known()
      .filter(({ status, type, models }) => status === STATUS.enabled && type === RELAY_TYPE && models.includes(model));
  const canServe = ({ group }: Caller, model: string): boolean =>
    listing(model).some(({ groups }) => groups.includes(group));

  function takes(caller: Caller, kind: RelayKind, model: string): boolean {
    const owner = findOwner(caller, kind, model);
    if (owner?.hasChannel) return false;
    return canServe(caller, model) || (!owner && listing(model).length > 0);
  }

  return {
    takes,
    serves: canServe,
    assertTakes(caller, kind, model) {
      if (model.trim() === '') throw taskErrors.model_required({ param: 'model' });
      if (takes(caller, kind, model)) return;
      const message = `No channel relays the model "${model.slice(0, 100)}".`;
      throw taskErrors.model_not_found({ message, param: 'model' });
    },
    create: (caller, request) => relayRequest(relayDeps, caller, request),
    async remixSource(userId, id) {
      const object = await findOwnObject(deps, { userId, kind: 'video', id });
      if (!object) throw noSuchObject({ kind: 'video', id });
      const made = await store.relays.byRelayId(object.relayId);
      if (!made) throw relayErrors.relay_object_gone({ message: 'This video is too old to be remixed.' });
      const { facts, submissionFacts, completionFacts } = made.billing;
      const { video } = object;
      return { id, video, model: made.model, facts: { ...facts, ...submissionFacts, ...completionFacts } };
    },
    forward: (object, call) => callStoredObject(relayDeps, object, call),
    linkedVideo: (relayId) => findLinkedVideo(relayDeps, relayId),
    tasks: {
      read: (read) => readRelayTask(deps, read),
      page: (userId, page) => pageRelayTasks(deps, userId, page),
      show: (read) => showRelayTask(deps, read),
      follow: (following) => followRelayTask(deps, following),
      cancel: (own) => cancelRelayTask(deps, own),
      delete: (own) => deleteRelayTask(deps, own),
      refuseArtifacts: (own) => refuseRelayArtifacts(deps, own),
    },
    async start() {
      if (store.dialect === 'sqlite') await store.relays.expireLeases();
      loop = refundLoop();
    },
    async stop() {
      stopping.abort();
      await Promise.all([loop, settlements.all()]);
    },
    async deleteOld(limit) {
      const at = clock.unix();
      const requests = await store.relays.deleteEnded(at - REQUESTS_KEPT_SECONDS, limit);
      return requests + (await store.relays.deleteObjects(at - OBJECTS_KEPT_SECONDS, limit));
    },
  };
}

function createSettlements(logger: Logger): Settlements {
  const running = new Set<Promise<unknown>>();
  return {
    track(settlement) {
      running.add(settlement);
      settlement
        .catch((error) => logger.error({ err: error }, 'work after a relayed answer failed'))
        .finally(() => running.delete(settlement));
    },
    async all() {
      // A settlement that ends may begin another one.
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}

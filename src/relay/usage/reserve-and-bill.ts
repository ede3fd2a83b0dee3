import type { Quote } from '../../billing/index.ts';
import { mapModel, type VendorAccount } from '../../channels/index.ts';
import { AppError, type JsonObject, newRelayId, type Sentence } from '../../kernel/index.ts';
import type {
  NewKeptFiles,
  NewRelay as NewRow,
  RelayClaim,
  RelayKind,
  RelayRecord,
  Repositories,
} from '../../store/ports/index.ts';
import {
  type Caller,
  type Idempotency,
  insertRecoveringCommit,
  STORE_ATTEMPTS,
  STORE_PAUSE_MS,
  SUBMIT_LEASE_MS,
  type TaskDeps,
  taskErrors,
} from '../../tasks/index.ts';
import { relayErrors } from '../errors.ts';
import type { OpenRelay, RelayIntent } from '../types.ts';

type NewRelay = {
  caller: Caller;
  requestId: string;
  intent: RelayIntent;
  idempotency: Idempotency | undefined;
  account: VendorAccount;
  quote: Quote;
};

/** The plugin key of relayed models' prices. No plugin can have it. */
export const RELAY_PLUGIN_KEY = '*';

/** Kinds of whose answers nothing is stored, and nothing is asked for again. */
const HELD_KINDS: ReadonlySet<RelayKind> = new Set(['chat', 'embedding']);
/** Columns of a request that is held in memory, for which no row exists. */
const UNSTORED = { id: 0, status: 'OPEN', httpStatus: 0, leaseUntilMs: 0, finishedAt: 0, hiddenAt: 0 } as const;

/**
 * Holds the reservation in memory, or writes the row and its reservation in one transaction.
 * @throws billing.*, tasks.idempotency_in_progress
 */
export async function openRelay(deps: TaskDeps, opened: NewRelay): Promise<OpenRelay> {
  const { caller, requestId, intent, idempotency, account, quote } = opened;
  const row: Row = {
    userId: caller.user.id,
    walletId: caller.walletId,
    apiKeyId: caller.key?.id ?? null,
    relayId: newRelayId(deps.clock.nowMs(), deps.node.random),
    kind: intent.kind,
    group: caller.group,
    channelId: account.channel.id,
    credentialId: account.credential.id,
    model: intent.model,
    quota: quote.quota,
    billing: quote.snapshot,
    requestId,
    createdAt: deps.clock.unix(),
    leaseOwner: deps.node.id,
  };
  const hold = mayBeHeld(deps, opened) ? await deps.node.writes.money.hold({ ...row, taskId: row.relayId }) : undefined;
  return hold ? { ...row, ...UNSTORED, hold: { ...hold, row } } : insertRelay(deps, row, idempotency);
}

function mayBeHeld({ store, node: { capacity } }: TaskDeps, { intent, idempotency, account }: NewRelay): boolean {
  if (!HELD_KINDS.has(intent.kind) || idempotency) return false;
  // Other nodes count its row where a limit is declared.
  const scope = () => capacity.scope(account, mapModel(account.channel.modelMapping, intent.model));
  return store.dialect === 'sqlite' || capacity.declared(scope()) === undefined;
}

type Row = Omit<NewRow, 'leaseForMs'>;

function insertRelay(deps: TaskDeps, row: Row, idempotency: Idempotency | undefined): Promise<RelayRecord> {
  const insert = (tx: Repositories): Promise<RelayRecord> => tx.relays.open({ ...row, leaseForMs: SUBMIT_LEASE_MS });
  return insertRecoveringCommit(deps, {
    id: row.relayId,
    insert: () => deps.node.writes.money.open({ payer: { ...row, taskId: row.relayId }, idempotency, insert }),
    async find() {
      const relay = await deps.store.relays.byRelayId(row.relayId);
      return relay?.status === 'OPEN' ? relay : undefined;
    },
  });
}

type Move = { account: VendorAccount; quote: Quote; attempt: number };

/**
 * Moves the request to another account and replaces its reservation, as the price may differ. One
 * that was held in memory is stored then.
 * @throws billing.*, tasks.submission_interrupted
 */
export async function moveRelay(
  deps: TaskDeps,
  { hold, ...relay }: OpenRelay,
  { account, quote: { quota, snapshot: billing }, attempt }: Move,
): Promise<RelayRecord> {
  const change = { channelId: account.channel.id, credentialId: account.credential.id, quota, billing };
  if (hold) {
    hold.end();
    return insertRelay(deps, { ...hold.row, ...change }, undefined);
  }
  const isMoved = await deps.node.writes.money.replacing(async (tx, replace) => {
    const { relayId, leaseOwner } = relay;
    if (!(await tx.relays.move(relayId, leaseOwner, { ...change, leaseForMs: SUBMIT_LEASE_MS }))) return false;
    await replace(tx, { ...toReservedTask(relay), ...change }, { reserved: relay.quota, attempt });
    return true;
  });
  if (!isMoved) throw taskErrors.submission_interrupted({ shouldRetry: false });
  return { ...relay, ...change };
}

/**
 * How an answered request is charged. `usage`: facts of the answer, which override those of the
 * reservation. `trouble`: why there are none, so that the reservation stands.
 */
type Answered = { httpStatus: number; usage?: JsonObject; trouble?: Sentence };
/** `kept`: the answer that its client may ask for again. `mustBeKept`: else nothing is billed. */
export type Kept = { kept?: NewKeptFiles | undefined; mustBeKept?: boolean };

/**
 * Charges an answered request: before any part of the answer reaches the client or, where its price
 * reads the vendor's usage or its reservation is held in memory, at the end of the answer.
 * @throws tasks.submission_interrupted, tasks.submission_unrecorded when it cannot be charged,
 * tasks.answer_not_kept
 */
export async function billRelay(deps: TaskDeps, relay: OpenRelay, answered: Answered & Kept): Promise<void> {
  try {
    await storeBill(deps, relay, answered);
  } finally {
    relay.hold?.end();
  }
}

async function storeBill(deps: TaskDeps, relay: OpenRelay, answered: Answered & Kept): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (await writeBill(deps, relay, answered)) return;
      // An earlier attempt may have been committed although its acknowledgement was lost.
      if ((await deps.store.relays.byRelayId(relay.relayId))?.status === 'BILLED') return;
      break;
    } catch (error) {
      if (error instanceof AppError && error.code === NOT_KEPT) throw error;
      deps.logger.error(
        { err: error, relay_id: relay.relayId, attempt },
        'answered relayed request could not be billed; retrying',
      );
      if (attempt === STORE_ATTEMPTS) throw taskErrors.submission_unrecorded({ cause: error, shouldRetry: false });
      await deps.clock.sleep(STORE_PAUSE_MS * attempt);
    }
  }
  deps.logger.error({ relay_id: relay.relayId }, 'relayed request not billed: its lease was lost before the answer');
  throw taskErrors.submission_interrupted({ shouldRetry: false });
}

const NOT_KEPT = relayErrors.answer_not_kept().code;

async function writeBill(
  deps: TaskDeps,
  relay: OpenRelay,
  { httpStatus, usage, trouble, kept, mustBeKept = false }: Answered & Kept,
): Promise<boolean> {
  const { clock, billing, node } = deps;
  const used = usage ? { ...relay, billing: { ...relay.billing, completionFacts: usage } } : relay;
  const bill = billing.finalBill(toReservedTask(used), trouble);
  // At once: its client may ask for the next before this is written.
  relay.hold?.bill(bill.quota);
  const ending = { ...bill, status: 'BILLED' as const, httpStatus, finishedAt: clock.unix() };
  const claim = { relayId: relay.relayId, by: { owner: node.id }, reserved: relay.quota };
  const written = await node.writes.money.close({
    async move(tx) {
      if (!(await endRelay(tx, relay, { claim, ending }))) return false;
      const isKept = kept !== undefined && (await tx.results.keepFiles(kept));
      if (mustBeKept && !isKept) throw relayErrors.answer_not_kept({ shouldRetry: false });
      return true;
    },
    ended: { task: toReservedTask(relay), bill },
    owes: relay.hold && toReservedTask(relay),
  });
  if (written) deps.telemetry.meter?.spent(relay.channelId, bill.quota);
  return written;
}

type End = { claim: RelayClaim; ending: Parameters<Repositories['relays']['end']>[1] };

/** Ends the row, or writes it if the request was held in memory. */
export function endRelay(tx: Repositories, { hold }: OpenRelay, { claim, ending }: End): Promise<boolean> {
  if (!hold) return tx.relays.end(claim, ending);
  return tx.relays.insertEnded({ ...hold.row, ...ending });
}

/**
 * Releases the lease: from now on repeats may read what was stored of a billed answer. If the store
 * fails, the lease expires.
 */
export const releaseRelay = ({ store, logger }: TaskDeps, { relayId, leaseOwner }: RelayRecord): Promise<void> =>
  store.relays
    .release(relayId, leaseOwner)
    .catch((error) =>
      logger.warn({ err: error, relay_id: relayId }, 'lease of a relayed request could not be released'),
    );

export const toReservedTask = ({ hold: _, ...relay }: OpenRelay) => ({
  ...relay,
  taskId: relay.relayId,
  platform: RELAY_PLUGIN_KEY,
  properties: { originModelName: relay.model },
});

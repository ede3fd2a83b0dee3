import type { VendorAccount } from '../../channels/index.ts';
import type { Json, JsonObject } from '../../kernel/index.ts';
import type { RelayObject, RelayObjectKind, RelayPartKind } from '../../store/ports/index.ts';
import type { Caller, TaskDeps } from '../../tasks/index.ts';
import { relayErrors } from '../errors.ts';
import type { Reference, RelayDeps, RelayIntent } from '../types.ts';
import { findMaker, findOwnObject, learnUsage } from './call-stored-object.ts';
import { isObjectId } from './vendor-ids.ts';

/**
 * The earlier objects that a request builds on. `account`: the one that made all of them; undefined
 * when there are none. `madeBy`: the requests that made them, and which kind of object is named.
 */
export type Sources = { account: VendorAccount | undefined; madeBy: ReadonlyMap<string, Reference['kind']> };

/**
 * Finds the objects that the request builds on. An object of another user is reported as missing.
 * @throws tasks.previous_response_not_found, .referenced_video_not_found, .relay_request_invalid
 */
export async function findSources(deps: RelayDeps, { user }: Caller, { references }: RelayIntent): Promise<Sources> {
  const [items, containers] = await Promise.all([
    ownParts(deps, { userId: user.id, kind: 'item', references }),
    ownParts(deps, { userId: user.id, kind: 'container', references }),
  ]);
  const own = { item: items, container: containers };
  const madeBy = new Map<string, Reference['kind']>();
  let account: VendorAccount | undefined;
  for (const reference of references) {
    const { kind, objectId } = reference;
    const object =
      kind === 'item' || kind === 'container'
        ? own[kind].get(objectId)
        : await findOwnObject(deps, { userId: user.id, kind, id: objectId });
    const maker = object && (await findMaker(deps, object));
    if (!maker || (account && account.credential.id !== maker.credential.id)) throw notFound(reference);
    account = maker;
    if (madeBy.get(object.relayId) !== 'response') madeBy.set(object.relayId, kind);
  }
  for (const [relayId, kind] of madeBy) if (kind !== 'video') await learnUsage(deps, relayId, ['retrieve']);
  return { account, madeBy };
}

/**
 * `seconds`: of the longest video. `tokens`: of the answers that the vendor reads again, for a
 * response with its whole input. `videos`: the facts of each.
 */
type SourceSizes = { seconds: number; tokens: number; videos: JsonObject[] };

/** Reads the sizes of these objects from the bills of their requests. */
export async function readSources({ store }: TaskDeps, { madeBy }: Sources): Promise<SourceSizes> {
  let [seconds, tokens] = [0, 0];
  const videos: JsonObject[] = [];
  for (const [relayId, kind] of madeBy) {
    const billing = kind === 'container' ? undefined : (await store.relays.byRelayId(relayId))?.billing;
    if (kind === 'video') videos.push(billing?.facts ?? {});
    if (!billing) continue;
    const { facts, submissionFacts, completionFacts, outcome } = billing;
    // A report that was not believed is not a measure.
    const known = { ...facts, ...submissionFacts, ...(outcome?.kept === undefined ? completionFacts : {}) };
    if (kind === 'video') seconds = Math.max(seconds, readCount(known.seconds));
    else tokens += readCount(known.output_tokens) + (kind === 'response' ? readCount(known.input_tokens) : 0);
  }
  return { seconds, tokens, videos };
}

const readCount = (value: Json | undefined): number => (typeof value === 'number' ? value : 0);

type PartsQuery = { userId: number; kind: RelayPartKind; references: readonly Reference[] };

/** The user's parts of this kind by id. If several vendors use the same id, the latest counts. */
async function ownParts(
  { store }: TaskDeps,
  { userId, kind: partKind, references }: PartsQuery,
): Promise<Map<string, RelayObject<RelayPartKind>>> {
  const named = references.filter(({ kind, objectId }) => kind === partKind && isObjectId(objectId));
  const ids = new Set(named.map(({ objectId }) => objectId));
  const parts = await store.relays.ownParts(userId, partKind, [...ids]);
  return new Map(parts.map((part) => [part.objectId, part]));
}

const ADVICE: Record<RelayPartKind, string> = {
  item: 'This item refers to one that the vendor stores, and no response of yours on one channel has made it: send it in full (reasoning with its encrypted_content), or use previous_response_id.',
  container: 'No response of yours on one channel has made this container: let the vendor make one ({"type": "auto"}).',
};

function notFound({
  kind,
  objectId,
  param,
}: {
  kind: RelayObjectKind | RelayPartKind;
  objectId: string;
  param: string;
}) {
  if (kind === 'response') return relayErrors.previous_response_not_found({ param });
  if (kind === 'video') return relayErrors.referenced_video_not_found({ param });
  const message = `${ADVICE[kind]} Its id is ${JSON.stringify(objectId.slice(0, 60))}.`;
  return relayErrors.relay_request_invalid({ message, param });
}

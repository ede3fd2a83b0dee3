import type { Account } from '../channels/index.ts';
import type { RelayObject, RelayObjectKind, RelayPartKind } from '../store/ports/index.ts';
import type { Caller, TaskDeps } from '../tasks/index.ts';
import { relayErrors } from './errors.ts';
import { findMaker, findOwnObject } from './forward-call.ts';
import type { Reference, RelayIntent } from './types.ts';
import { isObjectId } from './vendor-ids.ts';

/**
 * Finds the one account that made all objects that the request builds on; undefined when it builds
 * on none. An object of another user is reported as missing.
 * @throws tasks.previous_response_not_found, .referenced_video_not_found, .relay_request_invalid
 */
export async function findPinnedAccount(
  deps: TaskDeps,
  { user }: Caller,
  { references }: RelayIntent,
): Promise<Account | undefined> {
  const [items, containers] = await Promise.all([
    ownParts(deps, { userId: user.id, kind: 'item', references }),
    ownParts(deps, { userId: user.id, kind: 'container', references }),
  ]);
  const own = { item: items, container: containers };
  let only: Account | undefined;
  for (const reference of references) {
    const { kind, objectId } = reference;
    const object =
      kind === 'item' || kind === 'container'
        ? own[kind].get(objectId)
        : await findOwnObject(deps, { userId: user.id, kind, id: objectId });
    const account = object && (await findMaker(deps, object));
    if (!account || (only && only.credential.id !== account.credential.id)) throw notFound(reference);
    only = account;
  }
  return only;
}

type PartsQuery = { userId: number; kind: RelayPartKind; references: readonly Reference[] };

/** The user's parts of this kind by id. Of several vendors with the same id, the latest counts. */
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
  item: 'This item refers to one that the vendor stores, and no response of yours on one channel has made it: send it whole (reasoning with its encrypted_content), or use previous_response_id.',
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

import type { RelayKind, RelayObject, RelayPartKind } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { Caller, TaskDeps } from '../types.ts';
import { channelOf, findOwnObject } from './forward-call.ts';
import type { Reference, RelayIntent } from './read-relay-request.ts';

/**
 * The one channel of all that the request builds on, each of which is the caller's own or does not
 * exist for him.
 */
export async function pinnedChannel(
  deps: TaskDeps,
  { user }: Caller,
  { references }: RelayIntent,
): Promise<number | undefined> {
  const [items, containers] = await Promise.all([
    ownParts(deps, user.id, 'item', references),
    ownParts(deps, user.id, 'container', references),
  ]);
  const own = { item: items, container: containers };
  let only: number | undefined;
  for (const reference of references) {
    const { kind, objectId } = reference;
    const object =
      kind === 'item' || kind === 'container'
        ? own[kind].get(objectId)
        : await findOwnObject(deps, user.id, kind, objectId);
    const channel = object && (await channelOf(deps, object));
    if (!channel || (only !== undefined && only !== channel.id)) throw unknown(reference);
    only = channel.id;
  }
  return only;
}

/** By name; where several vendors gave the same, the latest. */
async function ownParts(
  { store }: TaskDeps,
  userId: number,
  wanted: RelayPartKind,
  references: readonly Reference[],
): Promise<Map<string, RelayObject<RelayPartKind>>> {
  const names = new Set(references.flatMap(({ kind, objectId }) => (kind === wanted ? [objectId] : [])));
  const parts = await store.relays.ownParts(userId, wanted, [...names]);
  return new Map(parts.map((part) => [part.objectId, part]));
}

const SAYS: Record<RelayPartKind, string> = {
  item: 'This item stands for one that the vendor keeps, and no response of yours on one channel has made it: send it whole (reasoning with its encrypted_content), or use previous_response_id.',
  container: 'No response of yours on one channel has made this container: let the vendor make one ({"type": "auto"}).',
};

function unknown({ kind, objectId, param }: { kind: RelayKind | RelayPartKind; objectId: string; param: string }) {
  if (kind === 'response') return taskErrors.previous_response_not_found({ param });
  if (kind === 'video') return taskErrors.referenced_video_not_found({ param });
  const message = `${SAYS[kind]} It is named ${JSON.stringify(objectId.slice(0, 60))}.`;
  return taskErrors.relay_request_invalid({ message, param });
}

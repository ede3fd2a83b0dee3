import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { RelayKind } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { Reference } from './read-relay-request.ts';

/** More parts of earlier answers than a conversation has. */
const MAX_REFERENCES = 1000;

/**
 * Members that hold what a client or a vendor says of its own: no vendor looks up an object that is
 * named in them.
 */
const FREE_TEXT: ReadonlySet<string> = new Set(['metadata', 'parameters', 'schema', 'annotations', 'logprobs']);
/** Pair parts of one conversation with each other, or stand for a public service. */
const NO_OBJECT: ReadonlySet<string> = new Set(['call_id', 'tool_call_id', 'connector_id']);
/** Name what an answer to an earlier request of the user's may have made. */
const PARTS: ReadonlyMap<string, 'item' | 'container'> = new Map([
  ['container', 'container'],
  ['container_id', 'container'],
  ['approval_request_id', 'item'],
]);
/** Objects of the vendor's account that are given whole, as an id or as an object that has one. */
const SHARED: ReadonlySet<string> = new Set(['conversation', 'prompt']);
const VIDEOS: ReadonlySet<string> = new Set(['remix_video_id', 'video_id', 'video']);
/** What an item that the vendor need not look up has beside its id. */
const CONTENT = ['call_id', 'arguments', 'output', 'tools', 'encrypted_content'] as const;

/**
 * The objects that a request builds on. Channels are one account of the vendor's for all users, so
 * a request must not reach what somebody else's has made there: what the gateway can tell the owner
 * of is looked up, everything else is refused by its name, be it of a parameter that the vendor
 * will invent tomorrow.
 * @throws tasks.relay_request_invalid
 */
export function readReferences(kind: RelayKind, values: JsonObject): Reference[] {
  const found: Reference[] = [];
  const isResponse = kind === 'response';
  for (const [param, value] of Object.entries(values)) {
    if (isResponse && param === 'previous_response_id' && typeof value === 'string') {
      if (value !== '') found.push({ param, kind, objectId: value });
      continue;
    }
    if (isResponse && SHARED.has(param) && value !== null && value !== undefined) throw shared(param, param);
    if (isResponse && param === 'input' && Array.isArray(value)) addStoredItems(found, value);
    if (isResponse || !VIDEOS.has(param)) {
      addReferences(found, kind, param, value);
      continue;
    }
    // A `video` that is a text is an address or the video itself.
    const { id, ...others } = isObject(value) ? value : { id: param === 'video' ? undefined : value };
    if (typeof id === 'string' && id !== '') found.push({ param, kind, objectId: id });
    else if (isNamed(id)) throw shared(param, param);
    for (const [name, inner] of Object.entries(others)) addReferences(found, kind, name, inner, param);
  }
  if (found.length > MAX_REFERENCES) {
    const message = `The request names more than ${MAX_REFERENCES} parts of earlier answers: use previous_response_id.`;
    throw taskErrors.relay_request_invalid({ message, param: 'input' });
  }
  return found;
}

/**
 * Whether a parameter of this name names an object of the vendor's account: `file_id`,
 * `vector_store_ids`, for videos every `id` too.
 */
export const referencesObject = (kind: RelayKind, name: string): boolean =>
  (/_ids?$/.test(name) && !NO_OBJECT.has(name)) || (kind === 'video' && /^ids?$/.test(name));

/**
 * Items of `input` that are there by their id alone. An image without its data stands for the
 * stored one.
 */
function addStoredItems(found: Reference[], input: readonly Json[]): void {
  for (const item of input)
    if (isObject(item) && typeof item.id === 'string' && !isWhole(item))
      found.push({ param: 'input', kind: 'item', objectId: item.id });
}

function isWhole(item: Record<string, unknown>): boolean {
  const { type, content, result, encrypted_content: sealed } = item;
  switch (type ?? 'message') {
    case 'item_reference':
      return false;
    case 'message':
      return content !== undefined && content !== null;
    case 'image_generation_call':
      return typeof result === 'string';
    // Its text is a summary; what the model goes on with is either sealed in it or with the vendor.
    case 'reasoning':
      return typeof sealed === 'string';
    default:
      return CONTENT.some((name) => item[name] !== undefined && item[name] !== null);
  }
}

/** Adds what the member `member` names, which is `param` or stands in it. */
function addReferences(
  found: Reference[],
  kind: RelayKind,
  member: string,
  value: Json | undefined,
  param = member,
): void {
  seeMember(member, value ?? null, (name, inner) => {
    const part = kind === 'response' ? PARTS.get(name) : undefined;
    if (part && typeof inner === 'string') {
      if (inner !== '') found.push({ param, kind: part, objectId: inner });
    } else if ((part || referencesObject(kind, name)) && isNamed(inner)) throw shared(param, name);
  });
}

const isNamed = (value: Json | undefined): boolean =>
  (typeof value === 'string' && value !== '') || (Array.isArray(value) && value.length > 0);

type See = (name: string, value: Json) => void;

/**
 * Shows a member and every named one at any depth. A body nests `MAX_JSON_DEPTH` levels at most,
 * but may hold millions of values: nothing is made for each.
 */
function seeMember(name: string, value: Json, see: See): void {
  if (FREE_TEXT.has(name)) return;
  see(name, value);
  seeMembersOf(value, see);
}

function seeMembersOf(value: Json, see: See): void {
  if (Array.isArray(value)) for (const element of value) seeMembersOf(element, see);
  else if (isObject(value)) for (const name of Object.keys(value)) seeMember(name, value[name] ?? null, see);
}

const shared = (param: string, name: string) =>
  taskErrors.relay_request_invalid({
    message: `"${name.slice(0, 60)}" names what lives in the vendor's account, which belongs to no one user, so that it cannot be used here. Send the content itself.`,
    param,
  });

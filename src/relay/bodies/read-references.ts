/**
 * Finds the earlier objects of the vendor's account that a relayed request builds on: it must not
 * reach those of another user.
 */
import { isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import type { RelayKind } from '../../store/ports/index.ts';
import { relayErrors } from '../errors.ts';
import type { Reference } from '../types.ts';
import { normalizeMemberName } from './request-members.ts';

/** More references to earlier answers than any conversation has. */
const MAX_REFERENCES = 1000;

/** Members with free content: vendors look up no object that is named in them. */
const FREE_TEXT: ReadonlySet<string> = new Set([
  'metadata',
  'client_metadata',
  'parameters',
  'schema',
  'annotations',
  'logprobs',
]);
/** Ids that link parts of one conversation or name a public service, but no stored object. */
const NO_OBJECT: ReadonlySet<string> = new Set([
  ...['call_id', 'tool_call_id', 'caller_id', 'connector_id'],
  // Groups requests in the background, by a text of the client's choice.
  'continuation_id',
]);
/** Members that name parts of the answer to an earlier request. */
const PARTS: ReadonlyMap<string, 'item' | 'container'> = new Map([
  ['container', 'container'],
  ['container_id', 'container'],
  ['approval_request_id', 'item'],
]);
/** Objects of the vendor's account, named by an id or by an object with an id. */
const SHARED: ReadonlySet<string> = new Set(['conversation', 'prompt']);
const VIDEOS: ReadonlySet<string> = new Set(['remix_video_id', 'video_id', 'video']);
/** An item with one of these members is complete, so the vendor need not look it up. */
const CONTENT = ['call_id', 'arguments', 'output', 'tools', 'encrypted_content'] as const;
/** What is read of a response's request and of the items of its `input`, by its exact name. */
const IN_RESPONSES: ReadonlySet<string> = new Set([...SHARED, 'previous_response_id', 'input']);
const IN_ITEMS: ReadonlySet<string> = new Set([...CONTENT, 'id', 'type', 'content', 'result']);

/**
 * Reads the objects that a request builds on. All users of a channel share one account of the
 * vendor, so a request must not reach objects that another user's request created there. Objects
 * whose owner the gateway knows are returned, to be checked. Every other member whose name looks
 * like an object's id is refused, including those of future parameters.
 * @throws tasks.relay_request_invalid
 */
export function readReferences(kind: RelayKind, values: JsonObject): Reference[] {
  const found: Reference[] = [];
  const isResponse = kind === 'response';
  const isVideo = kind === 'video';
  if (kind === 'chat' && Array.isArray(values.messages)) refuseStoredAudio(values.messages);
  for (const [param, value] of Object.entries(values)) {
    if (
      (isResponse && IN_RESPONSES.has(normalizeMemberName(param))) ||
      (isVideo && VIDEOS.has(normalizeMemberName(param)))
    ) {
      refuseOtherSpelling(param, param);
    }
    if (isResponse && param === 'previous_response_id' && isText(value)) {
      if (value !== '') found.push({ param, kind, objectId: readId(value, param) });
      continue;
    }
    if (isResponse && SHARED.has(param) && value !== null && value !== undefined) throw shared(param, param);
    if (isResponse && param === 'input' && Array.isArray(value)) addStoredItems(found, value);
    if (!isVideo || !VIDEOS.has(param)) {
      addReferences(found, { kind, member: param, value });
      continue;
    }
    // A `video` that is a text is an address or the video's content.
    const { id, ...others } = isObject(value) ? value : { id: param === 'video' ? undefined : value };
    if (isText(id) && id !== '') found.push({ param, kind: 'video', objectId: readId(id, param) });
    else if (isNamed(id)) throw shared(param, param);
    for (const [member, inner] of Object.entries(others)) addReferences(found, { kind, member, value: inner, param });
  }
  if (found.length > MAX_REFERENCES) {
    const message = `The request names more than ${MAX_REFERENCES} parts of earlier answers: use previous_response_id.`;
    throw relayErrors.relay_request_invalid({ message, param: 'input' });
  }
  return found;
}

/**
 * Whether a parameter of this name holds ids of objects in the vendor's account: `file_id`,
 * `vector_store_ids`, and for videos every `id`.
 */
export const referencesObject = (kind: RelayKind, name: string): boolean =>
  (/_ids?$/.test(name) && !NO_OBJECT.has(name)) || (kind === 'video' && /^ids?$/.test(name));

/** Adds the items of `input` that name a stored item; an image without data is one of them. */
function addStoredItems(found: Reference[], input: readonly Json[]): void {
  for (const item of input) {
    if (!isObject(item)) continue;
    for (const name of Object.keys(item))
      if (IN_ITEMS.has(normalizeMemberName(name))) refuseOtherSpelling(name, 'input');
    if (isText(item.id) && !isWhole(item))
      found.push({ param: 'input', kind: 'item', objectId: readId(item.id, 'input') });
  }
}

/** A vendor that ignores case would look up what the gateway has not checked. */
function refuseOtherSpelling(name: string, param: string): void {
  const plain = normalizeMemberName(name);
  if (plain === name) return;
  const message = `${JSON.stringify(name)} could be read as "${plain}": write it like this, or leave it out.`;
  throw relayErrors.relay_request_invalid({ message, param });
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
    // Its text is only a summary: the reasoning itself is encrypted in it or stored at the vendor.
    case 'reasoning':
      return typeof sealed === 'string';
    default:
      return CONTENT.some((name) => item[name] !== undefined && item[name] !== null);
  }
}

/** A message may name the sound of an earlier answer, which all users of the channel share. */
function refuseStoredAudio(messages: readonly Json[]): void {
  for (const message of messages)
    if (isObject(message) && isObject(message.audio) && isNamed(message.audio.id as Json))
      throw shared('messages', 'audio');
}

/** `member` is the parameter `param` or one of its members. */
type Member = { kind: RelayKind; member: string; value: Json | undefined; param?: string };

/** Adds the objects that a member names at any depth. */
function addReferences(found: Reference[], { kind, member, value, param = member }: Member): void {
  visitMember(member, value ?? null, (name, inner) => {
    const part = kind === 'response' ? PARTS.get(name) : undefined;
    if (part && isText(inner)) {
      if (inner !== '') found.push({ param, kind: part, objectId: readId(inner, param) });
    } else if ((part || referencesObject(kind, name)) && isNamed(inner)) throw shared(param, name);
    const plain = normalizeMemberName(name);
    if (plain !== name && isNamed(inner) && (PARTS.has(plain) || referencesObject(kind, plain)))
      refuseOtherSpelling(name, param);
  });
}

/** Vendors name their objects by texts or by numbers. */
const isText = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number';

/** @throws tasks.relay_request_invalid for a number that the vendor could read differently */
function readId(id: string | number, param: string): string {
  if (typeof id === 'string' || Number.isSafeInteger(id)) return String(id);
  throw relayErrors.relay_request_invalid({ message: 'Send this id as a string: as a number it is not exact.', param });
}

const isNamed = (value: Json | undefined): boolean =>
  (isText(value) && value !== '') || (Array.isArray(value) && value.length > 0);

type Visit = (name: string, value: Json) => void;

/**
 * Visits a member and all members below it. A body has at most `MAX_JSON_DEPTH` levels but may have
 * millions of values, so nothing is allocated per value.
 */
function visitMember(name: string, value: Json, visit: Visit): void {
  if (FREE_TEXT.has(name)) return;
  visit(name, value);
  visitMembers(value, visit);
}

function visitMembers(value: Json, visit: Visit): void {
  if (Array.isArray(value)) for (const element of value) visitMembers(element, visit);
  else if (isObject(value)) for (const name of Object.keys(value)) visitMember(name, value[name] ?? null, visit);
}

const shared = (param: string, name: string) =>
  relayErrors.relay_request_invalid({
    message: `"${name.slice(0, 60)}" names an object in the vendor's account, which all users share, so it cannot be used here. Send the content itself.`,
    param,
  });

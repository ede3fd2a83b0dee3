import { type Json, quoted, redactSecrets, type Secrets, type Sentence, sentence } from '../../kernel/index.ts';
import { isAddress, type LoadedPlugin, type ParsedTask } from '../../plugins/index.ts';
import type { StoredResult } from '../../store/ports/index.ts';
import { BASE64_FROM, BASE64_KEEP } from '../../vendors/index.ts';

/** Progress when the plugin reports none (as in new-api). */
export const DEFAULT_PROGRESS: Record<string, string> = { SUBMITTED: '10%', QUEUED: '20%', IN_PROGRESS: '30%' };

/** Why the vendor says that a task failed, in the words of the plugin. */
export const vendorFailure = (reason: string): Sentence =>
  reason === '' ? sentence('tasks.vendor_reported') : quoted(reason);

export const UNUSABLE = 'unusable';
/** Why a task fails whose result is at such an address: what nobody can get is not charged. */
export const UNUSABLE_RESULT = sentence('tasks.result_unusable');

/**
 * Decides what is stored of a succeeded task's `url`, or else `remoteUrl`: without artifacts,
 * nothing else leads to the result. Undefined if the plugin lists artifacts or gave no address;
 * `unusable` if nobody could ever fetch from its address. `isCut`: media were cut out of the
 * answer, and a `data:` URL with them.
 */
export function storedResult(
  { manifest }: LoadedPlugin,
  { url, remoteUrl }: Pick<ParsedTask, 'url' | 'remoteUrl'>,
  { secrets, isCut }: { secrets: Secrets; isCut: boolean },
): StoredResult | typeof UNUSABLE | undefined {
  const address = url ?? remoteUrl;
  if (manifest.hasArtifacts || address === undefined) return undefined;
  if (/^data:/i.test(address)) return isCut || address.length > MAX_SNAPSHOT_BYTES ? { again: true } : { url: address };
  return isAddress(address) ? { url: redactSecrets(address, secrets) } : UNUSABLE;
}

/** Largest JSON in `task.data` and in plugin state. */
export const MAX_SNAPSHOT_BYTES = 1024 * 1024;
const BASE64 = /^(?:data:[\w.+/;=-]+;base64,)?[A-Za-z0-9+/_\r\n-]+={0,2}$/;

/** Prepares a vendor's answer for storage: cuts Base64 payloads to their first characters. */
export function trimSnapshot(value: Json): Json {
  if (typeof value === 'string') {
    return value.length >= BASE64_FROM && BASE64.test(value) ? value.slice(0, BASE64_KEEP) : value;
  }
  if (Array.isArray(value)) return value.map(trimSnapshot);
  if (value === null || typeof value !== 'object') return value;
  // fromEntries defines own properties: a vendor's "__proto__" stays data.
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, trimSnapshot(child)]));
}

export const snapshotBytes = (value: Json): number => Buffer.byteLength(JSON.stringify(value) ?? '');

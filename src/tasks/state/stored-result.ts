import { redactSecrets, type Secrets } from '../../kernel/index.ts';
import type { LoadedPlugin, ParsedTask } from '../../plugins/index.ts';
import type { StoredResult } from '../../store/ports/index.ts';
import { MAX_SNAPSHOT_BYTES } from './trim-data.ts';

/** Longest http(s) URL that is stored, as long as one that is requested. */
const MAX_URL_LENGTH = 65_536;

/**
 * What to store of a succeeded task's `url`, or else `remoteUrl`: without artifacts nothing else
 * leads to the result. Undefined if the plugin lists artifacts or gave no address. `isCut`: media
 * were cut out of the answer, and a `data:` URL with them.
 */
export function storedResult(
  { manifest }: LoadedPlugin,
  { url, remoteUrl }: Pick<ParsedTask, 'url' | 'remoteUrl'>,
  { secrets, isCut }: { secrets: Secrets; isCut: boolean },
): StoredResult | undefined {
  const address = url ?? remoteUrl;
  if (manifest.hasArtifacts || address === undefined) return undefined;
  if (/^data:/i.test(address)) return isCut || address.length > MAX_SNAPSHOT_BYTES ? { again: true } : { url: address };
  return address.length > MAX_URL_LENGTH ? undefined : { url: redactSecrets(address, secrets) };
}

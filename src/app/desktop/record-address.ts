import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, parseJson, randomToken } from '../../kernel/index.ts';

/** Where the gateway of a data directory listens. */
export type RecordedAddress = {
  address: string;
  /** Opens the set-up page, once. */
  setupLink: string | undefined;
};

const FILE = 'taskgate.address';
const MAX_BYTES = 4096;

/**
 * Records in the data directory where its gateway listens, for commands of the same user: the
 * set-up link in it opens the gateway to its reader, so nobody else may read it. Returns what
 * removes it. A gateway serves without it: `false` when it cannot be written.
 */
export function recordAddress(dataDir: string, recorded: RecordedAddress): (() => void) | false {
  const path = join(dataDir, FILE);
  const draft = `${path}.${randomToken(6)}`;
  try {
    const { address, setupLink } = recorded;
    writeFileSync(draft, `${JSON.stringify({ address, setup_url: setupLink })}\n`, { flag: 'wx', mode: 0o600 });
    renameSync(draft, path);
    return () => rmSync(path, { force: true });
  } catch {
    rmSync(draft, { force: true });
    return false;
  }
}

/** What was recorded last; a gateway that crashed has left it behind. */
export function readAddress(dataDir: string): RecordedAddress | undefined {
  try {
    const text = readFileSync(join(dataDir, FILE), 'utf8');
    const value = text.length > MAX_BYTES ? undefined : parseJson(text);
    if (!isObject(value) || typeof value.address !== 'string' || !URL.canParse(value.address)) return undefined;
    return {
      address: value.address,
      setupLink: typeof value.setup_url === 'string' ? value.setup_url : undefined,
    };
  } catch {
    return undefined;
  }
}

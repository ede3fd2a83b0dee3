import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isObject, OperatorError, parseJson, trimTrailing } from '../../../kernel/index.ts';

/** Which gateway a client command calls, and with which key. */
export type ClientSettings = { url: string; key: string };

type Environment = Readonly<Record<string, string | undefined>>;

const SETTINGS_FILE = 'client.json';

/**
 * TASKGATE_URL and TASKGATE_API_KEY, and what they leave open as `taskgate login` wrote it.
 * @throws OperatorError that says how to set them
 */
export function readClientSettings(environment: Environment): ClientSettings {
  const stored = readStored(environment);
  const { TASKGATE_URL: url = stored?.url, TASKGATE_API_KEY: key } = environment;
  if (url === undefined) throw new OperatorError('no gateway is known: run "taskgate login URL", or set TASKGATE_URL');
  // A key is for the gateway that it was entered for.
  const known = key ?? (stored?.url === normalizeUrl(url) ? stored.key : undefined);
  if (known === undefined) {
    throw new OperatorError(`no API key for ${url} is known: run "taskgate login ${url}", or set TASKGATE_API_KEY`);
  }
  return { url: normalizeUrl(url), key: known };
}

/** Only its owner may read the file. */
export function writeClientSettings(environment: Environment, settings: ClientSettings): string {
  const file = settingsFile(environment);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
  return file;
}

/** @throws OperatorError for what is not an address of a gateway */
export function normalizeUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.search !== '') {
    throw new OperatorError(`"${text}" is not the address of a gateway, such as https://gateway.example.com`);
  }
  return trimTrailing(`${url.origin}${url.pathname}`, '/').replace(/\/v1$/, '');
}

function readStored(environment: Environment): ClientSettings | undefined {
  try {
    const stored = parseJson(readFileSync(settingsFile(environment), 'utf8'));
    if (!isObject(stored) || typeof stored.url !== 'string' || typeof stored.key !== 'string') return undefined;
    return { url: stored.url, key: stored.key };
  } catch {
    return undefined;
  }
}

function settingsFile({ XDG_CONFIG_HOME: config, APPDATA: roaming, HOME: home }: Environment): string {
  const folder = config ?? roaming ?? (home === undefined ? undefined : join(home, '.config'));
  if (folder === undefined) throw new OperatorError('HOME is not set: set TASKGATE_URL and TASKGATE_API_KEY');
  return join(folder, 'taskgate', SETTINGS_FILE);
}

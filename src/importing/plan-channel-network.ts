/** What a channel of new-api says about its way to the vendor. */
import { sealHeaders, sealProxy } from '../channels/index.ts';
import { AppError, hasHiddenCharacters } from '../kernel/index.ts';
import type { SourceRow } from '../store/index.ts';
import { type PlanContext, readObject } from './plan-context.ts';
import { readText } from './read-source.ts';

type PlannedNetwork = {
  proxySealed: string | null;
  headersSealed: string | null;
  /** Settings that it has and a channel here does not. */
  unsupported: string[];
};

/**
 * Headers that requests here have of their own, with the channel's key or the kind of their body.
 * There a channel's header replaces them; here it is added where there is none.
 */
const OWN_HEADERS = new Set([
  ...['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'xi-api-key', 'content-type', 'accept'],
]);
/** Names that stand for headers of the client: all, or those of a pattern. */
const PASSES_ON = /^(?:\*$|re:|regex:)/i;
const API_KEY = '{api_key}';
const CLIENT_HEADER = /^\s*\{client_header:/;
const MAX_SHOWN_NAME = 40;
/** Some of them may be empty; a channel here takes fewer. */
const MAX_GIVEN = 64;

export function planNetwork({ secretBox }: PlanContext, row: SourceRow, keys: readonly string[]): PlannedNetwork {
  const unsupported: string[] = [];
  const seal = (what: string, work: () => string | null): string | null => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      unsupported.push(what);
      return null;
    }
  };
  const headers: Record<string, string> = {};
  // `unsupportedColumns` reports one that cannot be read.
  const given = Object.entries(readObject(readText(row, 'header_override'))).map(
    ([name, value]) => [name.trim(), value] as const,
  );
  if (given.length > MAX_GIVEN) unsupported.push(`a header_override of ${given.length} headers`);
  for (const [name, value] of given.length > MAX_GIVEN ? [] : given) {
    // There, an empty one is not sent.
    if (name === '' || (value === '' && !PASSES_ON.test(name))) continue;
    const text = typeof value === 'string' ? fillIn(value, keys) : undefined;
    const isTaken = text !== undefined && !PASSES_ON.test(name) && !OWN_HEADERS.has(name.toLowerCase());
    if (!isTaken) unsupported.push(describe(name));
    else if (seal(describe(name), () => sealHeaders(secretBox, { [name]: text })) !== null) headers[name] = text;
  }
  return {
    proxySealed: seal('a proxy that cannot be read', () => readProxy(row, (text) => sealProxy(secretBox, text))),
    headersSealed: seal('a header_override', () => sealHeaders(secretBox, headers)),
    unsupported,
  };
}

const describe = (name: string): string =>
  `a header_override of ${hasHiddenCharacters(name) ? 'a hidden name' : JSON.stringify(name.slice(0, MAX_SHOWN_NAME))}`;

/** Undefined: it takes a value from the client, or would be another for each key. */
function fillIn(text: string, keys: readonly string[]): string | undefined {
  if (CLIENT_HEADER.test(text)) return undefined;
  if (!text.includes(API_KEY)) return text;
  const [key, ...others] = keys;
  return key === undefined || others.length > 0 ? undefined : text.replaceAll(API_KEY, () => key.trim());
}

function readProxy(row: SourceRow, seal: (text: string) => string | null): string | null {
  const { proxy } = readObject(readText(row, 'setting'));
  if (proxy === undefined || proxy === null || proxy === '') return null;
  // There, a SOCKS proxy always resolves the names itself.
  return seal(typeof proxy === 'string' ? proxy.trim().replace(/^socks5:/i, 'socks5h:') : '?');
}

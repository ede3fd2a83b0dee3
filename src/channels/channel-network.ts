import { isObject, type JsonObject, parseJson, type SecretBox, type Sentence, sentence } from '../kernel/index.ts';
import type { ChannelRecord } from '../store/ports/index.ts';
import {
  describeProxy,
  isFieldValue,
  isHeaderName,
  isHostHeader,
  type ProxyServer,
  parseProxy,
} from '../upstream/index.ts';
import { channelErrors } from './errors.ts';

/** The value of a channel's `proxy` that overrides the gateway's by none. */
const DIRECT = 'direct';
const MAX_HEADERS = 16;
const MAX_HEADER_LENGTH = 4096;
const MAX_PROXY_LENGTH = 1000;
const MAX_DEFAULTS_LENGTH = 16 * 1024;

/** How a channel's requests leave, and what they carry besides what its plugin says. */
export type ChannelNetwork = {
  /** Null: none. Undefined: the gateway's. */
  proxy: ProxyServer | null | undefined;
  /** For the channel's own host alone. */
  headers: Readonly<Record<string, string>>;
  /** Secrets of the proxy and the headers, which are redacted from logs and errors. */
  secrets: readonly string[];
};

/** What people see of the network: no credential and no value. */
export type ShownNetwork = { proxy: string; headerNames: string[] };

type Sealed = Pick<ChannelRecord, 'proxySealed' | 'headersSealed'>;

const invalid = (param: string, message: Sentence) => channelErrors.invalid({ param, message });

/** Undefined: no current or previous secret opens it. */
export function openNetwork(secretBox: SecretBox, { proxySealed, headersSealed }: Sealed): ChannelNetwork | undefined {
  const proxyText = proxySealed === null ? '' : secretBox.open(proxySealed);
  const headersText = headersSealed === null ? '{}' : secretBox.open(headersSealed);
  if (proxyText === undefined || headersText === undefined) return undefined;
  const parsed = proxyText === '' || proxyText === DIRECT ? undefined : parseProxy(proxyText);
  // What was saved was checked.
  if (parsed?.ok === false) return undefined;
  const headers = parseJson(headersText) as Record<string, string>;
  const password = parsed?.value.password ?? '';
  return {
    proxy: proxyText === DIRECT ? null : parsed?.value,
    headers,
    secrets: [password, encodeURIComponent(password), ...Object.values(headers)].filter((text) => text !== ''),
  };
}

export const showNetwork = ({ proxy, headers }: ChannelNetwork): ShownNetwork => ({
  proxy: proxy === undefined ? '' : proxy === null ? DIRECT : describeProxy(proxy),
  headerNames: Object.keys(headers),
});

/** Empty: the gateway's. */
export function sealProxy(secretBox: SecretBox, text: string): string | null {
  const proxy = text.trim();
  if (proxy === '') return null;
  if (proxy !== DIRECT) {
    const parsed = parseProxy(proxy);
    if (proxy.length > MAX_PROXY_LENGTH) throw invalid('proxy', sentence('upstream.proxy_form'));
    if (!parsed.ok) throw invalid('proxy', parsed.error);
  }
  return secretBox.seal(proxy);
}

/** A value that is null stays as it was. */
export function sealHeaders(
  secretBox: SecretBox,
  given: Readonly<Record<string, string | null>>,
  before: Readonly<Record<string, string>> = {},
): string | null {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    const param = `headers.${name.slice(0, 100)}`;
    const kept = value ?? (Object.hasOwn(before, name) ? before[name] : undefined);
    if (!isHeaderName(name)) throw invalid(param, sentence('upstream.header_name'));
    if (isHostHeader(name)) throw invalid(param, sentence('upstream.header_set', { name: name.toLowerCase() }));
    if (kept === undefined || kept.trim() === '' || kept.length > MAX_HEADER_LENGTH || !isFieldValue(kept)) {
      throw invalid(param, sentence('upstream.header_value', { name: name.toLowerCase() }));
    }
    const isTwice = Object.keys(headers).some((other) => other.toLowerCase() === name.toLowerCase());
    if (isTwice) throw invalid(param, sentence('channels.header_twice', { name }));
    headers[name] = kept.trim();
  }
  const count = Object.keys(headers).length;
  if (count > MAX_HEADERS) throw invalid('headers', sentence('channels.headers_max', { max: MAX_HEADERS }));
  return count === 0 ? null : secretBox.seal(JSON.stringify(headers));
}

/** The gateway itself says which model is asked and whether the answer is a stream. */
const OWN_FIELDS = ['model', 'stream'];

/** @throws `channels.invalid` */
export function checkBodyDefaults(defaults: JsonObject | null): JsonObject | null {
  if (defaults === null || Object.keys(defaults).length === 0) return null;
  const own = OWN_FIELDS.find((name) => Object.hasOwn(defaults, name));
  if (own !== undefined) throw invalid(`body_defaults.${own}`, sentence('channels.default_own', { field: own }));
  if (!isObject(defaults) || JSON.stringify(defaults).length > MAX_DEFAULTS_LENGTH)
    throw invalid('body_defaults', sentence('channels.defaults_length', { max: MAX_DEFAULTS_LENGTH }));
  return defaults;
}

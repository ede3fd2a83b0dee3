import { err, isObject, type Json, ok, type Result } from '../kernel/index.ts';

/** A marketplace: `indexUrl` is the address of its index, `https:`, `http:` or `file:`. */
type MarketSource = { name: string; indexUrl: string };

/** The public marketplaces of new-api, where the plugin contract comes from. */
export const DEFAULT_MARKET_SOURCES: readonly MarketSource[] = [
  { name: 'Official', indexUrl: 'https://www.newapi.ai/api/v1/plugins/index.json' },
  { name: 'GitHub', indexUrl: 'https://raw.githubusercontent.com/QuantumNous/new-api-plugins/main/index.json' },
];

const MAX_SOURCES = 20;
const MAX_NAME = 60;
const MAX_URL = 500;

/** `field` is a path such as `1.index_url`, or empty for the list; `message` is a sentence. */
export type SourceFault = { field: string; message: string };

/** Reads `[{name, index_url}]`, or returns its first fault. An empty list means no marketplace. */
export function parseMarketSources(value: Json | undefined): Result<MarketSource[], SourceFault> {
  if (!Array.isArray(value) || value.length > MAX_SOURCES) {
    return err({ field: '', message: `The sources must be a list of at most ${MAX_SOURCES} {name, index_url}.` });
  }
  const sources: MarketSource[] = [];
  for (const [index, entry] of value.entries()) {
    const fault = (field: string, message: string) => err({ field: field ? `${index}.${field}` : `${index}`, message });
    if (!isObject(entry)) return fault('', `Source ${index + 1} must be an object {name, index_url}.`);
    const { name, index_url: indexUrl, ...others } = entry;
    const [unknown] = Object.keys(others);
    if (unknown !== undefined) {
      return fault(
        unknown.slice(0, MAX_NAME),
        `Source ${index + 1} has an unknown field: it takes name and index_url.`,
      );
    }
    if (typeof name !== 'string' || name !== name.trim() || !/^[^\p{Cc}]{1,60}$/u.test(name)) {
      return fault('name', `The name of source ${index + 1} must be one line of 1 to ${MAX_NAME} characters.`);
    }
    if (sources.some((other) => other.name.toLowerCase() === name.toLowerCase())) {
      return fault(
        'name',
        `The name of source ${index + 1} is taken by another source: give each source its own name.`,
      );
    }
    const problem = typeof indexUrl === 'string' ? faultOfUrl(indexUrl) : 'is missing';
    if (problem !== undefined) return fault('index_url', `The index_url of source ${index + 1} ${problem}.`);
    sources.push({ name, indexUrl: String(indexUrl) });
  }
  return ok(sources);
}

function faultOfUrl(text: string): string | undefined {
  const kinds =
    'must be an absolute http or https URL, or file:// and the absolute path of a folder under MARKETPLACE_DIR';
  if (text.length > MAX_URL) return `must have at most ${MAX_URL} characters`;
  if (/[\s\p{Cc}\\]/u.test(text) || !/^(?:https?|file):\/\//i.test(text) || !URL.canParse(text)) return kinds;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text)) return 'must carry no credentials';
  if (text.includes('#')) return 'must have no fragment';
  if (url.protocol === 'file:' && (url.host !== '' || text.includes('?'))) return kinds;
  return undefined;
}

export const writeMarketSources = (sources: readonly MarketSource[]): string =>
  JSON.stringify(sources.map(({ name, indexUrl }) => ({ name, index_url: indexUrl })));

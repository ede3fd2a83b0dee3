import { isObject, SHORTEST_SECRET } from '../../kernel/index.ts';

/** Where a credential does not belong: requests carry it in their headers. */
export type CredentialPlace = 'query' | 'body' | 'log';

/** A plugin version that puts its channels' keys elsewhere, and how often since the start. */
export type ExposedCredential = {
  key: string;
  version: string;
  sourceHash: string;
  places: { place: CredentialPlace; hook: string; calls: number }[];
};

/** Plugin versions that are remembered, far more than serve at once. */
const MOST_VERSIONS = 256;

type Called = { hook: string; args: readonly unknown[]; console: readonly string[]; request: unknown };
type Version = Pick<ExposedCredential, 'key' | 'version' | 'sourceHash'>;

/**
 * Counts the requests of each plugin version that hold the channel's key in the query, the body or
 * the log. Keeps no text of any of them. A vendor may want its key there, so nothing is refused.
 */
export function createExposureDetector() {
  const found = new Map<string, ExposedCredential>();

  function count(version: Version, place: CredentialPlace, hook: string): void {
    const known = found.get(version.sourceHash) ?? { ...version, places: [] };
    if (found.size >= MOST_VERSIONS && !found.has(version.sourceHash)) return;
    found.set(version.sourceHash, known);
    const entry = known.places.find((one) => one.place === place && one.hook === hook);
    if (entry) entry.calls += 1;
    else known.places.push({ place, hook, calls: 1 });
  }

  return {
    /** Looks at a finished call. `request`: what the hook built, if it builds requests. */
    look(version: Version, { hook, args, console, request: described }: Called): void {
      if (console.length === 0 && !isObject(described)) return;
      // A look-up describes its request in a member, and has its context last.
      const request = isObject(described) && isObject(described.request) ? described.request : described;
      const secrets = secretsIn(args.find((value) => isObject(value) && (value.apiKey ?? value.authHeader)));
      if (secrets.length === 0) return;
      const holds = (text: string): boolean => secrets.some((secret) => text.includes(secret));
      if (console.some(holds)) count(version, 'log', hook);
      if (!isObject(request)) return;
      const { url, body, parts } = request;
      const query = typeof url === 'string' ? url.slice(url.split('?', 1)[0]?.length) : '';
      if (holds(query)) count(version, 'query', hook);
      if (someText(body, holds) || someText(parts, holds)) count(version, 'body', hook);
    },
    list: (): readonly ExposedCredential[] => [...found.values()],
  };
}
export type ExposureDetector = ReturnType<typeof createExposureDetector>;

/**
 * The key in a driver hook's context, as it is and as an address writes it. The first part of
 * `AK|SK` is a name, which vendors want in requests.
 */
function secretsIn(context: unknown): string[] {
  if (!isObject(context)) return [];
  const { apiKey, authHeader } = context;
  const given = typeof apiKey === 'string' ? apiKey : authHeader;
  if (typeof given !== 'string') return [];
  const key = given.replace(/^Bearer /, '');
  const secrets = [key, ...key.split('|').slice(1)].filter(({ length }) => length >= SHORTEST_SECRET);
  return secrets.flatMap((secret) => {
    const encoded = encodeURIComponent(secret.toWellFormed());
    return encoded === secret ? [secret] : [secret, encoded];
  });
}

/** Whether a text in a JSON value passes the test. Member names are not tested. */
function someText(value: unknown, test: (text: string) => boolean): boolean {
  const pending = [value];
  for (let index = 0; index < pending.length; index += 1) {
    const next = pending[index];
    if (typeof next === 'string') {
      if (test(next)) return true;
    } else if (typeof next === 'object' && next !== null) for (const one of Object.values(next)) pending.push(one);
  }
  return false;
}

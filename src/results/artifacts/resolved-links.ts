import type { Clock, ReportCacheSize } from '../../kernel/index.ts';
import type { FoundLink, ResolvedLinks } from '../types.ts';

/** Addresses that are remembered; longer ones are not. */
const MAX_KNOWN = 1_000;
const MAX_URL_LENGTH = 8_192;

/** Remembers for a short time where vendors said that content is. A node has its own. */
export function createResolvedLinks({
  clock,
  reportCacheSize,
}: {
  clock: Clock;
  reportCacheSize?: ReportCacheSize;
}): ResolvedLinks {
  const known = new Map<string, { url: string; untilMs: number }>();
  const running = new Map<string, Promise<string | undefined>>();
  reportCacheSize?.('resolved_links', () => known.size);

  function remember(id: string, { url, seconds }: FoundLink): void {
    if (url.length > MAX_URL_LENGTH) return;
    known.delete(id);
    known.set(id, { url, untilMs: clock.monotonicMs() + seconds * 1000 });
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value as string);
  }

  return {
    find(id) {
      const found = known.get(id);
      if (found && found.untilMs > clock.monotonicMs()) return found.url;
      known.delete(id);
      return undefined;
    },
    forget: (id) => void known.delete(id),
    resolve(id, lookUp) {
      const shared = running.get(id);
      if (shared) return shared;
      const looking = lookUp()
        .then((found) => {
          if (found) remember(id, found);
          return found?.url;
        })
        .finally(() => running.delete(id));
      running.set(id, looking);
      return looking;
    },
  };
}

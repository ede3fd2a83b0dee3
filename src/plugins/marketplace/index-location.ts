import { trimTrailing } from '../../kernel/index.ts';
import type { MarketSource } from './types.ts';

/** The URL of a source's index. For a folder that is its `index.json`. */
export function indexLocation({ indexUrl }: MarketSource): URL {
  const url = new URL(indexUrl);
  if (url.protocol === 'file:' && !url.pathname.endsWith('.json')) {
    url.pathname = `${trimTrailing(url.pathname, '/')}/index.json`;
  }
  return url;
}

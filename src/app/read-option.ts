import { OPTION_CATALOGUE } from '../http/option-catalogue.ts';
import type { LiveOptions } from './live-options.ts';

/** The value of an option as this node knows it; its default where nothing is stored, or something that is not allowed. */
export function readOption(options: LiveOptions, key: string): string {
  const rule = OPTION_CATALOGUE[key];
  if (!rule) throw new Error(`There is no option "${key}".`);
  const stored = options.get(key);
  return stored !== undefined && rule.check(stored) === undefined ? stored : rule.default;
}

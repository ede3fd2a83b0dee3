import type { ResultSettings } from '../../files/index.ts';
import type { Json } from '../../kernel/index.ts';
import type { OptionValues } from '../../settings/index.ts';

const MB = 1_000_000;
const GB = 1_000_000_000;

/** What the options say about kept results. */
export const resultSettings = (options: OptionValues): ResultSettings => ({
  keep: options.choice('results.keep'),
  keepInputs: options.flag('results.keep_inputs'),
  daysOf: (group) => ofGroup(options.json('results.days'), group),
  quotaOf: (group) => ofGroup(options.json('results.quota_gb'), group) * GB || undefined,
  usdPerGbDayOf: (group) => ofGroup(options.json('results.price_gb_day'), group),
  previewBytes: options.number('results.previews_mb') * MB,
  redirects: options.flag('results.s3_redirect'),
});

/** The catalogue has checked the objects of groups to numbers. */
function ofGroup(value: Json, group: string): number {
  const byGroup = value as Record<string, number>;
  return (Object.hasOwn(byGroup, group) ? byGroup[group] : byGroup.default) ?? 0;
}

import type { OptionValues } from '../../settings/index.ts';
import type { ResultSettings } from '../../tasks/index.ts';

const GB = 1_000_000_000;

/** What the options say about kept results. The catalogue has checked the objects of groups. */
export function resultSettings(options: OptionValues): ResultSettings {
  const ofGroup = (key: 'results.days' | 'results.quota_gb' | 'results.price_gb_day', group: string): number => {
    const byGroup = options.json(key) as Record<string, number>;
    return (Object.hasOwn(byGroup, group) ? byGroup[group] : byGroup.default) ?? 0;
  };
  return {
    keep: options.choice('results.keep'),
    daysOf: (group) => ofGroup('results.days', group),
    quotaOf: (group) => ofGroup('results.quota_gb', group) * GB || undefined,
    usdPerGbDayOf: (group) => ofGroup('results.price_gb_day', group),
    redirects: options.flag('results.s3_redirect'),
  };
}

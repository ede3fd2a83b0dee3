import { isObject, parseJson } from '../../kernel/index.ts';
import { boolean, choice, integer, json, type OptionRules } from './option-rule.ts';

const GROUP = /^[\w.-]{1,64}$/;
const MAX_GROUPS = 1000;
/** A hundred years. */
const MAX_DAYS = 36_500;
const MAX_GB = 1_000_000;

/** A JSON object of groups to numbers; `default` is for every group that is not named. */
const byGroup = (initial: string, allows: (value: number) => boolean, wanted: string) =>
  json(initial, (value) => {
    const groups = parseJson(value);
    const valid =
      isObject(groups) &&
      Object.keys(groups).length <= MAX_GROUPS &&
      Object.entries(groups).every(
        ([name, number]) => GROUP.test(name) && typeof number === 'number' && allows(number),
      );
    return valid ? undefined : `a JSON object of group names, or default, to ${wanted}`;
  });

export const resultOptions = {
  /** Which results the gateway keeps: none, those that a request or API key asks for, or all. */
  'results.keep': { proof: 'none', ...choice(['off', 'asked', 'all'], 'off, asked or all') },
  /** Whether files of requests are kept, with the limits of results, to run their tasks again. */
  'results.keep_inputs': { proof: 'none', ...boolean(false) },
  /** Days for which results are kept, by group; 0: for ever. */
  'results.days': {
    proof: 'none',
    ...byGroup(
      '{"default":0}',
      (days) => Number.isInteger(days) && days >= 0 && days <= MAX_DAYS,
      `whole days from 0 (for ever) to ${MAX_DAYS}`,
    ),
  },
  /** GB (10^9 bytes) that a user may keep, by group; 0: no limit. */
  'results.quota_gb': {
    proof: 'none',
    ...byGroup('{"default":0}', (gb) => gb >= 0 && gb <= MAX_GB, `GB from 0 (no limit) to ${MAX_GB}`),
  },
  /** USD for a kept GB (10^9 bytes) and day, by group; 0: free. */
  'results.price_gb_day': {
    proof: 'none',
    ...byGroup('{"default":0}', (usd) => usd >= 0 && usd <= 1000, 'USD from 0 to 1000'),
  },
  /** MB (10^6 bytes) that the previews of all users may take together; 0: there are none. */
  'results.previews_mb': { proof: 'none', ...integer(256, 0, 1_000_000) },
  /** Whether downloads are redirected to the bucket, where results are kept in one. */
  'results.s3_redirect': { proof: 'settings.security', ...boolean(false) },
} satisfies OptionRules;

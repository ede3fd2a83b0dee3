import type { OptionKey } from './catalogue/option-catalogue.ts';
import type { OptionSnapshot } from './read-options.ts';
import { FEATURES, type Feature, missingFor } from './requirements.ts';
import type { OptionFault } from './types.ts';

/** Why a change is refused, told of one of the options that it names. */
export type Refusal = { key: OptionKey; message: string; rule?: OptionFault['rule'] };

/**
 * What a change would break among the options: something switched on without what it needs, and
 * something taken away that is needed. What was broken before is no reason to refuse a change of
 * something else. `changed` is not empty.
 */
export function checkChange(
  before: OptionSnapshot,
  after: OptionSnapshot,
  changed: readonly [OptionKey, ...OptionKey[]],
): Refusal[] {
  const refusals: Refusal[] = [];
  for (const feature of FEATURES) {
    const already = wanting(feature, before);
    const missing = wanting(feature, after).filter((key) => !already.includes(key));
    if (missing.length === 0) continue;
    const names = missing.join(' and ');
    refusals.push(
      before.flag(feature)
        ? {
            key: changed.find((key) => missing.includes(key)) ?? changed[0],
            message: `${feature} is on and needs ${names}: switch it off first.`,
          }
        : { key: feature, message: `Set ${names} before ${feature} is switched on${lostAmong(after, missing)}.` },
    );
  }
  const tls = changed.find((key) => key === 'SMTPSSLEnabled' || key === 'SMTPStartTLSEnabled');
  if (tls && after.flag('SMTPSSLEnabled') && after.flag('SMTPStartTLSEnabled')) {
    refusals.push({
      key: tls,
      message:
        'SMTPSSLEnabled (TLS from the first byte) and SMTPStartTLSEnabled exclude each other: switch the other one off.',
    });
  }
  return refusals;
}

/** Nothing while the feature is off. */
const wanting = (feature: Feature, options: OptionSnapshot): OptionKey[] =>
  options.flag(feature) ? missingFor(feature, options) : [];

/** A secret may be stored and yet be missing. */
function lostAmong(options: OptionSnapshot, missing: readonly OptionKey[]): string {
  const lost = missing.filter((key) => options.unreadable.has(key));
  return lost.length === 0 ? '' : ` (no CRYPTO_SECRET opens the stored ${lost.join(' and ')}: enter it again)`;
}

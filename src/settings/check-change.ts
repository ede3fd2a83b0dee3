import { type Sentence, sentence } from '../kernel/index.ts';
import type { OptionKey } from './catalogue/option-catalogue.ts';
import type { OptionSnapshot } from './read-options.ts';
import { FEATURES, type Feature, missingFor } from './requirements.ts';
import type { OptionFault } from './types.ts';

/** Why a change is refused; `key` is one of the options in the change. */
export type Refusal = { key: OptionKey; message: Sentence; rule?: OptionFault['rule'] };

/**
 * Refuses a change that switches on a feature without what it needs, or that takes away what a
 * feature needs. What was missing before does not block a change of something else.
 */
export function checkChange(
  before: OptionSnapshot,
  after: OptionSnapshot,
  changed: readonly [OptionKey, ...OptionKey[]],
): Refusal[] {
  const refusals: Refusal[] = [];
  for (const feature of FEATURES) {
    const missingBefore = missingIfOn(feature, before);
    const missing = missingIfOn(feature, after).filter((key) => !missingBefore.includes(key));
    if (missing.length === 0) continue;
    const names = missing.join(' and ');
    refusals.push(
      before.flag(feature)
        ? {
            key: changed.find((key) => missing.includes(key)) ?? changed[0],
            message: sentence('settings.needed_by_feature', { feature, names }),
          }
        : {
            key: feature,
            message: sentence('settings.feature_needs', { names, feature, note: unreadableNote(after, missing) }),
          },
    );
  }
  const tls = changed.find((key) => key === 'SMTPSSLEnabled' || key === 'SMTPStartTLSEnabled');
  if (tls && after.flag('SMTPSSLEnabled') && after.flag('SMTPStartTLSEnabled')) {
    refusals.push({
      key: tls,
      message: sentence('settings.one_tls_mode'),
    });
  }
  return refusals;
}

/** Empty while the feature is off. */
const missingIfOn = (feature: Feature, options: OptionSnapshot): OptionKey[] =>
  options.flag(feature) ? missingFor(feature, options) : [];

/** Explains why a secret that is stored counts as missing. */
function unreadableNote(options: OptionSnapshot, missing: readonly OptionKey[]): string {
  const unreadable = missing.filter((key) => options.unreadable.has(key));
  return unreadable.length === 0
    ? ''
    : ` (no CRYPTO_SECRET decrypts the stored ${unreadable.join(' and ')}: enter it again)`;
}

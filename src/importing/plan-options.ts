import { FEATURES, isOptionKey, missingFor, type OptionKey, readOptions, ruleFor } from '../settings/index.ts';
import { KNOWN_OPTIONS, RENAMED_OPTIONS, SAME_OPTIONS } from './new-api-mapping.ts';
import type { PlanContext } from './plan-context.ts';
import { readObject } from './plan-context.ts';

export type PlannedOption = { key: OptionKey; value: string };

/** What new accounts have to pass. */
const GUARDS = [
  'EmailVerificationEnabled',
  'EmailDomainRestrictionEnabled',
  'EmailAliasRestrictionEnabled',
  'TurnstileCheckEnabled',
] as const satisfies OptionKey[];

/**
 * Options that mean the same here and are not set here. A feature whose needs are not met is left
 * off.
 */
export async function planOptions(context: PlanContext): Promise<PlannedOption[]> {
  const { store, secretBox, options, report } = context;
  const leave = (key: string, code: string, message: string) =>
    report.remark({ kind: 'option', id: key, name: '', effect: 'left', code, message });
  for (const name of context.unreadable) leave(name, 'unreadable', 'its value is huge or not valid UTF-8');
  const stored = await store.options.all();
  const present = new Map(stored.map(({ key, value }) => [key, value]));
  const planned: PlannedOption[] = [];
  for (const [name, given] of options) {
    const renamed = Object.hasOwn(RENAMED_OPTIONS, name) ? RENAMED_OPTIONS[name] : undefined;
    const key = renamed ?? name;
    if (renamed === undefined && isOptionKey(key) && !SAME_OPTIONS.has(key)) {
      leave(name, 'foreign', 'new-api has no such option: set it here');
      continue;
    }
    if (!isOptionKey(key)) {
      if (!KNOWN_OPTIONS.has(name) && !isPayment(name)) leave(name, 'unknown', 'there is no such option here');
      continue;
    }
    const value = convert(key, given, context);
    const rule = ruleFor(key);
    if (value === rule.default && !present.has(key)) continue;
    const wanted = rule.check(value);
    if (wanted !== undefined) {
      leave(name, 'not_allowed', `its value must be ${wanted}`);
      continue;
    }
    if (key === 'PasswordLoginEnabled' && value === 'false') {
      leave(name, 'unsafe', 'switch it off once root has another way to sign in');
      continue;
    }
    const before = present.get(key);
    const clear = before === undefined ? undefined : rule.type === 'secret' ? secretBox.open(before) : before;
    if (before === undefined) planned.push({ key, value });
    else if (clear === value) report.skip('option');
    else leave(name, 'option_taken', 'it is set to something else here');
  }
  const after = readOptions(
    [
      ...stored,
      ...planned.map(({ key, value }) => ({
        key,
        value: ruleFor(key).type === 'secret' ? secretBox.seal(value) : value,
      })),
    ],
    secretBox,
  );
  const usable = planned.filter(({ key, value }) => {
    const feature = FEATURES.find((each) => each === key);
    if (feature === undefined || value !== 'true') return true;
    const missing = missingFor(feature, after);
    if (missing.length === 0) return true;
    leave(key, 'incomplete', `it needs ${missing.join(' and ')}, which are not set`);
    return false;
  });
  const kept = keepClosed(usable, { context, present, leave });
  for (const [name, what] of [
    ['GroupGroupRatio', 'ratios by the group of the user and that of the key have no form here'],
    ['group_ratio_setting.group_special_usable_group', 'groups that only some groups may use have no form here'],
  ] as const) {
    if (Object.keys(readObject(options.get(name))).length > 0)
      leave(name, 'no_form', `${what}: look at what these users pay`);
  }
  report.take('option', kept.length);
  return kept;
}

type Gate = {
  context: PlanContext;
  present: ReadonlyMap<string, string>;
  leave: (key: string, code: string, message: string) => void;
};

/** Registration here stays closed unless it asks for what it asked for there. */
function keepClosed(planned: readonly PlannedOption[], { context, present, leave }: Gate): PlannedOption[] {
  const isOn = (key: OptionKey): boolean =>
    (planned.find((option) => option.key === key)?.value ?? present.get(key) ?? ruleFor(key).default) === 'true';
  const lost = GUARDS.filter(
    (key) => (context.options.get(key) === 'true' || context.unreadable.includes(key)) && !isOn(key),
  );
  const lists =
    context.options.get('EmailDomainRestrictionEnabled') === 'true' ? ['EmailDomainWhitelist' as const] : [];
  const changed = lists.filter((key) => {
    const wanted = context.options.get(key);
    const holds = planned.find((option) => option.key === key)?.value ?? present.get(key) ?? ruleFor(key).default;
    return context.unreadable.includes(key) || (wanted !== undefined && wanted !== holds);
  });
  const missing = [...lost, ...changed];
  if (missing.length === 0) return [...planned];
  return planned.filter(({ key, value }) => {
    if (key !== 'RegisterEnabled' || value !== 'true') return true;
    leave(key, 'unsafe', `${missing.join(' and ')} could not be taken: set it, then open the registration`);
    return false;
  });
}

/** Quota is counted in this gateway's unit; a removed slash is no other address. */
function convert(key: OptionKey, value: string, { scale }: PlanContext): string {
  if (/^QuotaFor/.test(key) && /^\d{1,15}$/.test(value)) return String(Math.floor(Number(value) * scale));
  return ruleFor(key).type === 'secret' ? value.trim() : value;
}

/** Settings of payments and looks, which have no counterpart and nobody misses. */
const isPayment = (name: string): boolean =>
  /^(?:payment_setting|theme|console_setting|perf_metrics|general_setting)\.|^(?:Pay|Stripe|Creem|Waffo|Epay|TopUp|Price$|USDExchangeRate$|AutoGroups$|UserUsableGroups$|TopupGroupRatio$|group_ratio_setting\.|GroupGroupRatio$|RetryTimes$)/.test(
    name,
  );

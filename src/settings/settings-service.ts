import { type Clock, err, ok, pluralize, quoted, type Result, type SecretBox, sentence } from '../kernel/index.ts';
import type { Repositories, Store } from '../store/ports/index.ts';
import {
  describeRemoved,
  groupFor,
  isOptionKey,
  OPTION_KEYS,
  type OptionKey,
  ruleFor,
  trialFor,
} from './catalogue/option-catalogue.ts';
import { checkChange, findMovedProviders, refuseMovedSecrets } from './check-change.ts';
import { type OptionSnapshot, type OptionValues, readOptions } from './read-options.ts';
import type { OptionChanged, OptionFault, OptionView, SettingsService } from './types.ts';

/** Shown in place of a secret that is set. A client that sends it back changes nothing. */
const MASK = '***';

/**
 * Every change writes this row first. On PostgreSQL that serializes changes: the next one waits for
 * the row's lock and then sees what this one has written.
 */
const LOCK_KEY = 'options.changed_at';

/** Characters of a value in the audit log. */
const MAX_AUDIT_VALUE = 2000;

export type SettingsServiceDeps = {
  store: Store;
  secretBox: SecretBox;
  clock: Clock;
  /** Updates this node's replica of the options. */
  reload(): Promise<void>;
  /** Whether a root account can sign in without a password under these options. */
  rootHasOtherSignInMethod(tx: Repositories, options: OptionValues): Promise<boolean>;
};

type Change = { key: OptionKey; value: string };

/**
 * Shows and changes the options: by their rules, all or none, with a row in the audit log, and
 * published to the other nodes.
 */
export function createSettingsService(deps: SettingsServiceDeps): SettingsService {
  const { store, secretBox, clock } = deps;

  /** Checks the changes against the stored options and writes them; encrypts secrets. */
  async function write(
    tx: Repositories,
    changes: readonly Change[],
    force: boolean,
  ): Promise<Result<Written, Refusals>> {
    await tx.options.put(LOCK_KEY, String(clock.unix()));
    const stored = await tx.options.all();
    const before = readOptions(stored, secretBox);
    const isSecret = (key: OptionKey) => ruleFor(key).type === 'secret';
    // A secret that is sent is written even if it is the same. Otherwise the answer would tell
    // people who may not read the secret that they guessed it.
    const writes = changes
      .filter(({ key, value }) => (isSecret(key) ? value !== MASK : value !== before.raw(key)))
      .map(({ key, value }) => ({ key, value: isSecret(key) && value !== '' ? secretBox.seal(value) : value }));
    const [first, ...others] = writes.map(({ key }) => key);
    if (first === undefined) return ok({ before, after: before, keys: [] });
    const keys: [OptionKey, ...OptionKey[]] = [first, ...others];
    const after = readOptions(
      [...stored.filter(({ key }) => !keys.some((each) => each === key)), ...writes],
      secretBox,
    );

    const refusals = [...checkChange(before, after, keys), ...refuseMovedSecrets(before, after, keys)];
    if (!force) refusals.push(...(await refuseMovedProviders(tx, findMovedProviders(before, after, keys))));
    if (await locksRootOut(tx, before, after)) {
      refusals.push({
        key: keys.find((key) => key === 'PasswordLoginEnabled') ?? first,
        message: sentence('settings.root_locked_out'),
      });
    }
    if (refusals.length > 0) return err(refusals);
    for (const { key, value } of writes) await tx.options.put(key, value);
    return ok({ before, after, keys });
  }

  async function locksRootOut(tx: Repositories, before: OptionValues, after: OptionValues): Promise<boolean> {
    const rootCanSignIn = async (options: OptionValues) =>
      options.flag('PasswordLoginEnabled') || (await deps.rootHasOtherSignInMethod(tx, options));
    return !(await rootCanSignIn(after)) && (await rootCanSignIn(before));
  }

  /** Puts written options into effect on every node. */
  async function announce({ before, after, keys }: Written): Promise<OptionChanged[]> {
    if (keys.length > 0) await Promise.all([deps.reload(), store.publish('options')]);
    return keys.map((key) => ({ key, before: auditValue(key, before), after: auditValue(key, after) }));
  }

  return {
    proofFor: (keys) =>
      keys.some((key) => isOptionKey(key) && ruleFor(key).proof !== 'none') ? 'settings.security' : 'none',

    async list() {
      const current = readOptions(await store.options.all(), secretBox);
      return OPTION_KEYS.map((key) => show(key, current));
    },

    async change(changes, { force = false } = {}) {
      const checked = checkEach(changes);
      if (!checked.ok) return checked;
      const done = await store.transaction((tx) => write(tx, checked.value, force));
      if (!done.ok) {
        return err(
          done.error.map(({ key, message, rule }): OptionFault => {
            const index = changes.findIndex((each) => each.key === key);
            const where = { index: Math.max(index, 0), field: 'value' as const };
            return { ...where, ...message, ...(rule === undefined ? {} : { rule }) };
          }),
        );
      }
      const changed = await announce(done.value);
      return ok({ views: checked.value.map(({ key }) => show(key, done.value.after)), changed });
    },

    async revise(key, revise) {
      if (!isOptionKey(key)) return err(quoted(`There is no option "${key}".`));
      const done = await store.transaction(async (tx) => {
        await tx.options.put(LOCK_KEY, String(clock.unix()));
        const value = revise(readOptions(await tx.options.all(), secretBox).raw(key));
        if (value === undefined) return ok(undefined);
        const checked = checkEach([{ key, value }]);
        return checked.ok ? write(tx, checked.value, false) : err(checked.error);
      });
      if (!done.ok) {
        const message = done.error[0]?.message ?? '';
        return err(typeof message === 'string' ? quoted(message) : message);
      }
      return ok(done.value && (await announce(done.value))[0]);
    },
  };
}

type Written = { before: OptionSnapshot; after: OptionSnapshot; keys: readonly OptionKey[] };
type Refusals = ReturnType<typeof checkChange>;

/** Refuses to move a provider while identities are bound there. */
async function refuseMovedProviders(tx: Repositories, moves: ReturnType<typeof findMovedProviders>): Promise<Refusals> {
  const refusals: Refusals = [];
  for (const { key, provider } of moves) {
    const count = await tx.identities.countProvider(provider);
    if (count === 0) continue;
    const identities = pluralize(count, 'identity is', 'identities are');
    refusals.push({
      key,
      rule: 'needs_force',
      message: sentence('settings.identities_bound', { identities, count, provider, option: key }),
    });
  }
  return refusals;
}

/** Checks each change by itself: known key, allowed value, no duplicates. */
function checkEach(changes: readonly { key: string; value: string }[]): Result<Change[], OptionFault[]> {
  const faults: OptionFault[] = [];
  const valid = new Map<OptionKey, Change>();
  changes.forEach(({ key, value }, index) => {
    if (!isOptionKey(key)) {
      const known = OPTION_KEYS.join(', ');
      const message = describeRemoved(key) ?? `There is no option "${key.slice(0, 100)}". Options: ${known}.`;
      faults.push({ index, field: 'key', message });
      return;
    }
    const rule = ruleFor(key);
    const wanted = rule.type === 'secret' && value === MASK ? undefined : rule.check(value);
    if (wanted !== undefined) faults.push({ index, field: 'value', message: `The value of ${key} must be ${wanted}.` });
    if (valid.has(key)) faults.push({ index, field: 'key', ...sentence('settings.named_twice', { option: key }) });
    valid.set(key, { key, value });
  });
  return faults.length > 0 ? err(faults) : ok([...valid.values()]);
}

function show(key: OptionKey, options: OptionSnapshot): OptionView {
  const rule = ruleFor(key);
  const trial = trialFor(key);
  const view = {
    key,
    type: rule.type,
    default: rule.default,
    group: groupFor(key),
    proof: rule.proof,
    live: true as const,
    ...rule.bounds,
    ...(trial ? { trial } : {}),
  };
  if (rule.type !== 'secret') {
    return { ...view, value: options.raw(key), ...(rule.choices ? { choices: rule.choices } : {}) };
  }
  const unreadable = options.unreadable.has(key);
  return {
    ...view,
    value: unreadable || options.isSet(key) ? MASK : '',
    secret: true,
    ...(unreadable ? { unreadable: true } : {}),
  };
}

/** The value in the audit log: for a secret only whether it is set, for a long text its start. */
function auditValue(key: OptionKey, options: OptionSnapshot): string {
  const value = options.raw(key);
  if (ruleFor(key).type !== 'secret')
    return value.length > MAX_AUDIT_VALUE ? `${value.slice(0, MAX_AUDIT_VALUE)}…` : value;
  if (options.unreadable.has(key)) return 'unreadable';
  return options.isSet(key) ? 'set' : 'unset';
}

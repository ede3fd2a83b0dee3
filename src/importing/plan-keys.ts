import { hasHiddenCharacters, isGroupName, sha256Hex } from '../kernel/index.ts';
import type { SourceRow } from '../store/index.ts';
import { type ImportedKey, ROLE, type Role, STATUS } from '../store/ports/index.ts';
import { readRange } from '../upstream/index.ts';
import { type PlanContext, splitList, toQuota, toUsed } from './plan-context.ts';
import { findFault, isDeleted, isFlag, readFlag, readNumber, readText } from './read-source.ts';

/** As they are stored there: without `sk-`, which people write before it. */
const KEY = /^[A-Za-z0-9]{48}$/;
const PREFIX_LENGTH = 11;
const MAX_NAME = 50;
const MAX_LIST = 500;
/** A time before all keys: 0 would mean "never" here. */
const LONG_AGO = 1;
const THERE = { enabled: 1, disabled: 2, expired: 3, exhausted: 4 } as const;

type PlannedKey = Omit<ImportedKey, 'userId' | 'walletId'>;
/** `taken`: what is here, and what earlier rows of the page have. */
type Owner = { group: string; role: Role; taken: Set<string> };

/**
 * The API keys of one user. A rule that has no form here makes a key disabled rather than wider
 * than it was.
 */
export function planKeys(context: PlanContext, tokens: readonly SourceRow[], owner: Owner): PlannedKey[] {
  return tokens.flatMap((token) => planKey(context, token, owner) ?? []);
}

export const hashKeys = (tokens: readonly SourceRow[]): string[] =>
  tokens.map((token) => readText(token, 'key')).flatMap((key) => (KEY.test(key) ? [hashKey(key)] : []));

const hashKey = (key: string): string => sha256Hex(`sk-${key}`);

function planKey(context: PlanContext, token: SourceRow, owner: Owner): PlannedKey | undefined {
  const id = readText(token, 'id');
  const name = readText(token, 'name');
  const remark = (effect: 'left' | 'changed' | 'note', code: string, message: string) => {
    context.report.remark({ kind: 'api_key', id, name: name.slice(0, MAX_NAME), effect, code, message });
  };
  const leave = (code: string, message: string) => {
    remark('left', code, message);
    return undefined;
  };
  if (isDeleted(token)) return leave('deleted', 'it is deleted there');
  const fault = findFault(token, ['key', 'model_limits', 'allow_ips', 'group']);
  if (fault !== undefined) return leave('unreadable', fault);
  const key = readText(token, 'key');
  if (!KEY.test(key)) {
    const why = key.startsWith('sk-')
      ? 'it is stored with the prefix sk-, so it never worked there'
      : 'keys have 48 letters and digits here';
    return leave('other_form', why);
  }
  if (owner.taken.has(hashKey(key))) return leave('key_taken', 'the same key exists here');
  const remaining = readNumber(token, 'remain_quota');
  if (remaining === undefined || !Number.isSafeInteger(toQuota(context.scale, remaining)))
    return leave('unreadable', 'its budget is not a whole number');
  owner.taken.add(hashKey(key));

  const disabled: string[] = [];
  if (!isFlag(token, 'model_limits_enabled')) disabled.push('it is unclear whether its list of models applies');
  const models = readFlag(token, 'model_limits_enabled') ? splitList(readText(token, 'model_limits')) : [];
  if (readFlag(token, 'model_limits_enabled') && models.length === 0) disabled.push('it allows no model');
  if (models.length > MAX_LIST) disabled.push(`it names more than ${MAX_LIST} models`);
  const { ranges, unknown } = readAddresses(readText(token, 'allow_ips'));
  if (unknown.length > 0 && ranges.length > 0) {
    remark('changed', 'addresses_left', `not IP addresses: ${unknown.slice(0, 3).join(', ').slice(0, 100)}`);
  }
  if (unknown.length > 0 && ranges.length === 0) disabled.push('none of its addresses is an IP address');
  if (ranges.length > MAX_LIST) disabled.push(`it names more than ${MAX_LIST} addresses`);

  const status = readNumber(token, 'status');
  const unlimited = readFlag(token, 'unlimited_quota');
  if (status === THERE.exhausted && (unlimited || remaining > 0))
    disabled.push('it is marked as used up there although it has quota left');
  const expiresAt = planEnd(token, status);
  if (status === THERE.expired && expiresAt > context.now)
    disabled.push('it is marked as expired there although its time has not come');
  if (disabled.length > 0) remark('changed', 'disabled', `it is disabled: ${disabled.join('; ')}`);
  const isOn = status !== undefined && status !== THERE.disabled && Object.values<number>(THERE).includes(status);
  const group = planGroup(readText(token, 'group').trim(), owner, remark);
  return {
    name: toName(name, id),
    keyHash: hashKey(key),
    prefix: `sk-${key}`.slice(0, PREFIX_LENGTH),
    status: isOn && disabled.length === 0 ? STATUS.enabled : STATUS.disabled,
    unlimitedQuota: unlimited,
    quota: toQuota(context.scale, remaining),
    usedQuota: toUsed(context.scale, readNumber(token, 'used_quota')),
    models: models.slice(0, MAX_LIST),
    allowIps: ranges.slice(0, MAX_LIST),
    expiresAt,
    group,
    createdAt: Math.max(0, readNumber(token, 'created_time') ?? 0) || context.now,
    lastUsedAt: Math.max(0, readNumber(token, 'accessed_time') ?? 0),
  };
}

/**
 * -1 is never there, 0 here. An expired key without a time has ended, and so has one whose time
 * nobody can read: null and 0 are the past there.
 */
function planEnd(token: SourceRow, status: number | undefined): number {
  const end = token.expired_time === undefined ? -1 : (readNumber(token, 'expired_time') ?? 0);
  if (status === THERE.expired) return end > 0 ? end : LONG_AGO;
  return end < 0 ? 0 : Math.max(end, LONG_AGO);
}

function planGroup(
  group: string,
  owner: Owner,
  remark: (effect: 'changed', code: string, message: string) => void,
): string | null {
  if (group === '' || group === owner.group) return null;
  if (group !== 'auto' && owner.role >= ROLE.admin && isGroupName(group)) return group;
  const why =
    group === 'auto'
      ? 'groups are not chosen automatically here'
      : 'only keys of administrators have a group of their own here';
  remark('changed', 'group_left', `its group ${group.slice(0, 64)} is not taken, ${why}: that of its owner counts`);
  return null;
}

/** One a line; blanks and commas around them mean nothing there. */
function readAddresses(text: string): { ranges: string[]; unknown: string[] } {
  const ranges = new Set<string>();
  const unknown: string[] = [];
  for (const line of text.split('\n')) {
    const entry = line.replace(/[\s,]/g, '');
    if (entry === '') continue;
    const range = readRange(entry);
    if (range === undefined) unknown.push(entry);
    else ranges.add(range);
  }
  return { ranges: [...ranges], unknown };
}

function toName(name: string, id: string): string {
  const short = [...name.trim()].slice(0, MAX_NAME).join('').trim();
  return short === '' || hasHiddenCharacters(short) ? `key ${id}` : short;
}

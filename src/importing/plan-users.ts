import { isImportableHash, isUsername, readMailAddress } from '../auth/index.ts';
import { hasHiddenCharacters, isGroupName, OperatorError, pluralize } from '../kernel/index.ts';
import type { SourceRow } from '../store/index.ts';
import { ROLE, type Role, STATUS } from '../store/ports/index.ts';
import { type PlanContext, type PlannedUser, readObject, toQuota, toUsed } from './plan-context.ts';
import { hashKeys, planKeys } from './plan-keys.ts';
import { planFactors, planIdentities, readBindings, readFactors, readIdentities } from './plan-sign-in.ts';
import { findFault, isDeleted, readNumber, readText } from './read-source.ts';

/** Users that are read, checked and written at once. */
const USERS_AT_ONCE = 100;
const MAX_DISPLAY_NAME = 64;
const MAX_REMARK = 255;
const READ_AS_TEXT = ['username', 'password', 'email', 'group', 'aff_code'] as const;

/**
 * Plans users with all that belongs to them, in the order of their ids. It runs twice over one
 * source, with the same outcome: the first time reports what would happen, the second time writes
 * it.
 */
export async function* planUsers(context: PlanContext): AsyncGenerator<PlannedUser[]> {
  const { source } = context;
  const seen: Seen = {
    ...{ names: new Set(), emails: new Set(), identities: new Set(), hasRoot: context.hasRoot },
    ...{ users: 0, tokens: 0 },
  };
  const limitedAdmins = await findLimitedAdmins(context);
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const rows = await source.page('users', after, USERS_AT_ONCE);
    const last = readNumber(rows.at(-1) ?? {}, 'id');
    // Ids ascend, so that those after it could not be found.
    if (last === undefined && rows.length > 0) {
      throw new OperatorError('the table "users" of the source has an id that is not a whole number up to 15 digits');
    }
    if (last === undefined) {
      const orphans = await source.ofUsers('tokens', after, Number.MAX_SAFE_INTEGER);
      for (const token of orphans) leaveKey(context, token, 'nobody owns it');
      await findUnread(context, seen, orphans.length);
      return;
    }
    yield await planPage(context, { rows, after, until: last, seen, limitedAdmins });
    after = last;
  }
}

/**
 * Rows are found by a number: one without could not be. A user would be lost with their money.
 *
 * @throws `OperatorError` for a user
 */
async function findUnread({ source, report }: PlanContext, seen: Seen, orphans: number): Promise<void> {
  const users = ((await source.count('users')) ?? 0) - seen.users;
  if (users > 0) {
    throw new OperatorError(`the table "users" of the source has ${pluralize(users, 'row')} whose id is not a number`);
  }
  const tokens = ((await source.count('tokens')) ?? 0) - seen.tokens - orphans;
  if (tokens <= 0) return;
  const message = 'the id of its owner is not a number';
  report.remark({
    kind: 'api_key',
    id: pluralize(tokens, 'row'),
    name: '',
    effect: 'left',
    code: 'unreadable',
    message,
  });
}

/** What earlier accounts of the source have: empty at the start of each of the two readings. */
type Seen = {
  names: Set<string>;
  emails: Set<string>;
  identities: Set<string>;
  hasRoot: boolean;
  /** Rows that were read. */
  users: number;
  tokens: number;
};
type Page = { rows: SourceRow[]; after: number; until: number; seen: Seen; limitedAdmins: ReadonlySet<string> };

async function planPage(context: PlanContext, page: Page): Promise<PlannedUser[]> {
  const { store, source, sourceKey, report } = context;
  const { rows, after, until, seen } = page;
  const ids = rows.map((row) => readText(row, 'id'));
  const present = await store.imports.targets(sourceKey, 'user', ids);
  const tokens = await source.ofUsers('tokens', after, until);
  seen.users += rows.length;
  seen.tokens += tokens.length;
  const bindings = await readBindings(context, after, until);
  const factors = await readFactors(context, after, until);
  const named = rows.map((row) => ({ row, email: readMailAddress(readText(row, 'email')) }));
  const taken = await store.imports.existing({
    usernames: [...rows.map((row) => readText(row, 'username').toLowerCase()), ...ids.map(otherName)],
    emails: named.flatMap(({ email }) => email ?? []),
    affCodes: rows.flatMap((row) => readText(row, 'aff_code') || []),
    keyHashes: hashKeys(tokens),
    credentialIds: factors.credentialIds,
    identities: [
      ...readIdentities(rows, bindings),
      ...named.flatMap(({ email }) => (email === undefined ? [] : [{ provider: 'email', subject: email }])),
    ],
  });

  const known = new Set(ids);
  const twice = new Set(ids.filter((id, index) => ids.indexOf(id) !== index));
  for (const token of tokens) if (!known.has(readText(token, 'user_id'))) leaveKey(context, token, 'nobody owns it');

  const planned: PlannedUser[] = [];
  for (const { row, email } of named) {
    const id = readText(row, 'id');
    const own = tokens.filter((token) => token.user_id === id);
    if (present.has(id)) {
      report.skip('user');
      // Their names count: another account of the source may not take them.
      seen.names.add(readText(row, 'username').toLowerCase());
      if (email !== undefined) seen.emails.add(email);
      continue;
    }
    const user = planUser(context, {
      ...{ row, email, seen, taken },
      ...{ limited: page.limitedAdmins.has(id), isTwice: twice.has(id) },
    });
    if (user === undefined) {
      for (const token of own) leaveKey(context, token, 'its owner is not imported');
      continue;
    }
    const group = user.record.group;
    const keys = planKeys(context, own, { group, role: user.record.role, taken: taken.keyHashes });
    const identities = planIdentities(context, {
      row,
      user,
      bindings,
      taken: taken.identities,
      seen: seen.identities,
    });
    planned.push(
      planFactors(
        context,
        { ...user, keys, identities: [...user.identities, ...identities] },
        { ...factors, taken: taken.credentialIds },
      ),
    );
  }
  for (const { keys, identities, passkeys } of planned) {
    report.take('user');
    report.take('api_key', keys.length);
    report.take('identity', identities.length + passkeys.length);
  }
  return planned;
}

const leaveKey = ({ report }: PlanContext, token: SourceRow, message: string): void => {
  if (isDeleted(token)) return;
  const name = readText(token, 'name');
  report.remark({ kind: 'api_key', id: readText(token, 'id'), name, effect: 'left', code: 'owner_left', message });
};

type Candidate = {
  row: SourceRow;
  email: string | undefined;
  seen: Seen;
  taken: Record<'usernames' | 'emails' | 'affCodes' | 'identities', Set<string>>;
  limited: boolean;
  /** Another account of the source has its id. */
  isTwice: boolean;
};

/** The account alone; `undefined` where it stays there. */
function planUser(
  context: PlanContext,
  { row, email, seen, taken, limited, isTwice }: Candidate,
): PlannedUser | undefined {
  const { report, now, scale, sourceKey } = context;
  const id = readText(row, 'id');
  const given = readText(row, 'username');
  const remark = (effect: 'left' | 'changed' | 'note', code: string, message: string) => {
    report.remark({ kind: 'user', id, name: given.slice(0, 64), effect, code, message });
  };
  const leave = (code: string, message: string) => {
    remark('left', code, message);
    return undefined;
  };

  if (isDeleted(row)) return leave('deleted', 'it is deleted there');
  const fault = findFault(row, READ_AS_TEXT);
  if (fault !== undefined) return leave('unreadable', fault);
  const quota = readNumber(row, 'quota');
  const sourceId = readNumber(row, 'id');
  if (isTwice) return leave('unreadable', 'another account has its id');
  if (sourceId === undefined || sourceId <= 0) return leave('unreadable', 'its id is not a positive number');
  if (quota === undefined || !Number.isSafeInteger(toQuota(scale, quota))) {
    return leave('unreadable', 'its balance is not a whole number');
  }
  // A name that an earlier account of the source has is no other person's here.
  if (!seen.names.has(given.toLowerCase()) && taken.usernames.has(given.toLowerCase())) {
    return leave('name_taken', 'another account here has its name: rename one of them, then run the import again');
  }
  const username = chooseName({ given, id, seen, taken: taken.usernames });
  if (username === undefined) return leave('name_taken', `neither its name nor ${otherName(id)} is free here`);
  if (username !== given) {
    const why = isUsername(given)
      ? 'its name differs from another by its case alone'
      : 'its name has characters that are not allowed here';
    remark('changed', 'renamed', `${why}: it is called ${username}`);
  }
  seen.names.add(username.toLowerCase());
  const address = chooseEmail({ row, email, seen, taken });
  if (address.why !== undefined) remark('changed', 'email_left', `its email address is not imported: ${address.why}`);

  const role = planRole(readNumber(row, 'role') ?? 0, { hasRoot: seen.hasRoot, limited, remark });
  if (role === ROLE.root) seen.hasRoot = true;
  const group = readText(row, 'group').trim() || 'default';
  if (!isGroupName(group))
    remark('changed', 'group_left', 'the name of its group is not allowed here: it is in default');
  else if (!Object.hasOwn(readObject(context.options.get('GroupRatio') ?? '{"default":1,"vip":1,"svip":1}'), group)) {
    remark('note', 'group_unknown', `its group ${group} has no ratio there: 1 is used`);
  }
  if (quota < 0) remark('note', 'debt', 'its balance is below zero, and stays so');
  const unmoved = readNumber(row, 'aff_quota') ?? 0;
  if (unmoved > 0)
    remark(
      'note',
      'invitations',
      `it has ${unmoved} of invitation quota that it never moved to its balance: credit it by hand`,
    );
  if (readText(row, 'access_token') !== '') {
    remark('note', 'access_token_left', 'its management token is not imported: the API here is a different one');
  }

  return {
    sourceId: id,
    inviter: readNumber(row, 'inviter_id') ?? 0,
    balance: { grantKey: `import:${sourceKey}:user:${id}`, amount: toQuota(scale, quota) },
    record: {
      ...(context.keepsIds ? { id: sourceId } : {}),
      username,
      displayName: plain(readText(row, 'display_name'), MAX_DISPLAY_NAME) || username,
      passwordHash: planPassword(readText(row, 'password'), remark),
      role,
      status: readNumber(row, 'status') === STATUS.enabled ? STATUS.enabled : STATUS.disabled,
      email: address.email ?? null,
      group: isGroupName(group) ? group : 'default',
      quota: toQuota(scale, quota),
      usedQuota: toUsed(scale, readNumber(row, 'used_quota')),
      requestCount: Math.max(0, readNumber(row, 'request_count') ?? 0),
      language: readLanguage(readText(row, 'setting')),
      affCode: readAffiliateCode(row, taken.affCodes),
      inviterId: 0,
      remark: plain(readText(row, 'remark'), MAX_REMARK),
      createdAt: readTime(row, 'created_at') || now,
      lastLoginAt: readTime(row, 'last_login_at'),
    },
    keys: [],
    identities: address.email === undefined ? [] : [{ provider: 'email', subject: address.email }],
    factor: undefined,
    passkeys: [],
  };
}

type Names = { given: string; id: string; seen: Seen; taken: ReadonlySet<string> };

/** The name of an account whose own is not allowed here. */
const otherName = (id: string): string => `new-api-${id}`;

function chooseName({ given, id, seen, taken }: Names): string | undefined {
  const isFree = (name: string) => !seen.names.has(name.toLowerCase()) && !taken.has(name.toLowerCase());
  if (isUsername(given) && isFree(given)) return given;
  const other = otherName(id);
  return isFree(other) ? other : undefined;
}

function chooseEmail({ row, email, seen, taken }: Omit<Candidate, 'limited' | 'isTwice'>): {
  email?: string;
  why?: string;
} {
  if (readText(row, 'email').trim() === '') return {};
  if (email === undefined) return { why: 'no mail can be sent to it' };
  if (seen.emails.has(email) || taken.emails.has(email) || taken.identities.has(`email\n${email}`)) {
    return { why: 'another account has it' };
  }
  seen.emails.add(email);
  return { email };
}

type Remarker = (effect: 'changed' | 'note', code: string, message: string) => void;

function planRole(
  role: number,
  { hasRoot, limited, remark }: { hasRoot: boolean; limited: boolean; remark: Remarker },
): Role {
  if (role === ROLE.root && !hasRoot) return ROLE.root;
  if (role === ROLE.root) {
    remark('changed', 'root_taken', 'there is a root account here: it becomes an administrator');
    return ROLE.admin;
  }
  if (role !== ROLE.admin) return ROLE.user;
  if (!limited) return ROLE.admin;
  remark(
    'changed',
    'rights_left',
    'it has rights of its own there, which an administrator here would exceed: it becomes a user',
  );
  return ROLE.user;
}

function planPassword(hash: string, remark: Remarker): string | null {
  if (hash === '') return null;
  if (isImportableHash(hash)) return hash;
  remark('changed', 'password_left', 'its password has a form that is not known here: it must set a new one');
  return null;
}

const plain = (text: string, longest: number): string => {
  const short = [...text.replaceAll('\uFFFD', '')].slice(0, longest).join('').trim();
  return hasHiddenCharacters(short) ? '' : short;
};

function readLanguage(setting: string): string {
  const { language } = readObject(setting);
  return typeof language === 'string' && /^(?:en|zh)\b/.test(language) ? language.slice(0, 2) : '';
}

/** A code belongs to the first that has it. */
function readAffiliateCode(row: SourceRow, taken: Set<string>): string | null {
  const code = readText(row, 'aff_code').trim();
  if (!/^[A-Za-z0-9]{1,32}$/.test(code) || taken.has(code)) return null;
  taken.add(code);
  return code;
}

const readTime = (row: SourceRow, column: string): number => Math.max(0, readNumber(row, column) ?? 0);

/** Administrators whose rights new-api limits by rules for themselves. */
async function findLimitedAdmins({ source }: PlanContext): Promise<Set<string>> {
  const limited = new Set<string>();
  for (const row of await source.all('casbin_rule')) {
    const subject = readText(row, 'v0').split(':').at(-1) ?? '';
    const isBuiltIn = readText(row, 'ptype') === 'g' && /(?:^|:)(?:admin|root)$/.test(readText(row, 'v1'));
    if (/^\d+$/.test(subject) && !isBuiltIn) limited.add(subject);
  }
  return limited;
}

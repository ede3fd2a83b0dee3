import type { Clock, SecretBox } from '../../kernel/index.ts';
import { CLOCK_LEEWAY_SECONDS, pluralize } from '../../kernel/index.ts';
import { describeMissingAddress, type NodeAddress, readOptions, taskPublicAddress } from '../../settings/index.ts';
import { NODE_ALIVE_SECONDS, type Store, type WalletImbalance } from '../../store/ports/index.ts';
import { hasOnlyWorkers, ONLY_WORKERS } from '../nodes/announce-node.ts';
import { findUnreadable } from '../secrets/reseal-secrets.ts';
import { MAX_LISTED } from '../watches/check-ledger.ts';
import { compareClocks } from '../watches/watch-clock.ts';

/** If a poll is this late, no node polls, or they cannot keep up. */
export const LATE_MS = 60_000;

export type Finding = {
  check:
    | 'configuration'
    | 'address'
    | 'data_dir'
    | 'database'
    | 'ledger'
    | 'audit'
    | 'secrets'
    | 'sqlite'
    | 'tasks'
    | 'queue'
    | 'results'
    | 'sandbox'
    | 'backups'
    | 'clock'
    | 'network'
    | 'nodes';
  /** An error changes the exit code; a warning does not. */
  level: 'ok' | 'warning' | 'error';
  message: string;
  details?: unknown;
};

/** A difference of two clocks beyond this is not a network delay. */
const SKEW_SECONDS = 5;

export type DoctorDeps = { store: Store; secretBox: SecretBox; clock: Clock; node: NodeAddress };

/** Checks the database without writing to it: safe beside a running gateway. */
export async function runDoctorChecks({ store, secretBox, clock, node }: DoctorDeps): Promise<Finding[]> {
  await store.ping();
  const findings: Finding[] = [
    {
      check: 'database',
      level: 'ok',
      message: `${store.dialect === 'sqlite' ? 'SQLite' : 'PostgreSQL'} answers and is up to date`,
    },
  ];
  findings.push(await checkLedger(store));
  findings.push(await checkAudit(store));
  findings.push(await checkSecrets(store, secretBox));
  findings.push(await checkOptions(store, secretBox));
  findings.push(await checkAddress(store, secretBox, node));
  findings.push(await checkProviders(store, secretBox));
  findings.push(await checkTwoFactor(store, secretBox));
  findings.push(await checkWebhooks(store, secretBox));
  findings.push(await checkInner(store, secretBox));
  findings.push(await checkTasks(store));
  findings.push(await checkQueue(store, clock));
  findings.push(await checkClock(store, clock));
  findings.push(await checkNodes(store));
  return findings;
}

export async function checkLedger(store: Store): Promise<Finding> {
  const { wallets, tasks } = await store.ledger.imbalances(MAX_LISTED);
  const budgets = await store.ledger.budgetImbalances(MAX_LISTED);
  if (wallets.length + tasks.length + budgets.length === 0) {
    return { check: 'ledger', level: 'ok', message: 'every balance is the sum of its ledger lines' };
  }
  const more = [wallets, tasks, budgets].some(({ length }) => length === MAX_LISTED);
  const named = [
    ...wallets.map((row) => `${nameWallet(row)}: balance ${row.quota}, ledger ${row.ledger}`),
    ...tasks.map((row) => `task ${row.taskId}: quota ${row.quota}, ledger ${row.ledger}`),
    ...budgets.map((row) => `budget ${row.id}: spent ${row.spent}, ledger ${row.ledger}`),
  ];
  return {
    check: 'ledger',
    level: 'error',
    message: `${more ? 'at least ' : ''}${pluralize(named.length, 'balance does', 'balances do')} not match the ledger: ${named.join('; ')}`,
    details: { wallets, tasks, budgets },
  };
}

const nameWallet = ({ walletId, userId }: WalletImbalance): string =>
  userId === null ? `wallet ${walletId}` : `wallet ${walletId} of user ${userId}`;

async function checkAudit(store: Store): Promise<Finding> {
  const { faults, chained, unchained } = await store.logs.verifyAudit();
  if (faults.length > 0) {
    const named = faults.map(({ chain, id, fault }) =>
      fault === 'changed' ? `row ${id} was changed` : `rows next to row ${id} are gone (${chain})`,
    );
    return {
      check: 'audit',
      level: 'error',
      message: `the audit log was altered: ${named.join('; ')}`,
      details: { faults },
    };
  }
  if (unchained > 0) {
    return {
      check: 'audit',
      level: 'warning',
      message: `${pluralize(unchained, 'row of the audit log is', 'rows of the audit log are')} outside its chain, written by a node of an older version or another program`,
      details: { unchained },
    };
  }
  return {
    check: 'audit',
    level: 'ok',
    message: `the audit log is unaltered (${pluralize(chained, 'row')} in its chains)`,
  };
}

async function checkSecrets(store: Store, secretBox: SecretBox): Promise<Finding> {
  const channels = await store.channels.all();
  const unreadable = new Set(
    (await store.credentials.all())
      .filter(({ keySealed }) => secretBox.open(keySealed) === undefined)
      .map(({ channelId }) => channelId),
  );
  const lost = channels.filter(({ id }) => unreadable.has(id));
  if (lost.length === 0) {
    return { check: 'secrets', level: 'ok', message: `every channel's key can be read (${channels.length})` };
  }
  const named = lost.map((channel) => `${channel.id} (${channel.name})`).join(', ');
  return {
    check: 'secrets',
    level: 'error',
    message: `no CRYPTO_SECRET decrypts the keys of channels ${named}: enter them again, or name the former secret in CRYPTO_SECRET_PREVIOUS`,
    details: { channels: lost.map((channel) => channel.id) },
  };
}

async function checkOptions(store: Store, secretBox: SecretBox): Promise<Finding> {
  const options = [...readOptions(await store.options.all(), secretBox).unreadable];
  if (options.length === 0) return { check: 'secrets', level: 'ok', message: "every option's secret can be read" };
  return {
    check: 'secrets',
    level: 'error',
    message: `no CRYPTO_SECRET decrypts the options ${options.join(', ')}, which count as not set: enter them again, or name the former secret in CRYPTO_SECRET_PREVIOUS`,
    details: { options },
  };
}

async function checkAddress(store: Store, secretBox: SecretBox, node: NodeAddress): Promise<Finding> {
  const options = readOptions(await store.options.all(), secretBox);
  const missing = describeMissingAddress(options, node);
  return missing === undefined
    ? { check: 'address', level: 'ok', message: `links point to ${taskPublicAddress(options, node)}` }
    : { check: 'address', level: 'warning', message: missing.message };
}

async function checkProviders(store: Store, secretBox: SecretBox): Promise<Finding> {
  const lost = (await store.providers.all()).filter(
    ({ clientSecretSealed: sealed }) => sealed !== '' && secretBox.open(sealed) === undefined,
  );
  if (lost.length === 0) return { check: 'secrets', level: 'ok', message: "every added provider's secret can be read" };
  const slugs = lost.map(({ slug }) => slug);
  return {
    check: 'secrets',
    level: 'error',
    message: `no CRYPTO_SECRET decrypts the client secrets of the added providers ${slugs.join(', ')}, so that nobody can sign in there: enter them again, or name the former secret in CRYPTO_SECRET_PREVIOUS`,
    details: { providers: slugs },
  };
}

/** Rows per read. */
const FACTOR_PAGE = 500;
const WEBHOOK_PAGE = 500;

async function checkTwoFactor(store: Store, secretBox: SecretBox): Promise<Finding> {
  const lost: number[] = [];
  for (let last = 0; ; ) {
    const page = await store.twoFactor.enabledAfter(last, FACTOR_PAGE);
    lost.push(
      ...page.filter(({ secretSealed }) => secretBox.open(secretSealed) === undefined).map((row) => row.userId),
    );
    last = page.at(-1)?.userId ?? last;
    if (page.length < FACTOR_PAGE) break;
  }
  if (lost.length === 0)
    return { check: 'secrets', level: 'ok', message: "every user's authenticator secret can be read" };
  const users = await Promise.all(lost.slice(0, MAX_LISTED).map((id) => store.users.byId(id)));
  const named = users.map((user, i) => `${lost[i]} (${user?.username ?? 'deleted'})`).join(', ');
  const more = lost.length > MAX_LISTED ? ` and ${lost.length - MAX_LISTED} more` : '';
  return {
    check: 'secrets',
    level: 'error',
    message: `no CRYPTO_SECRET decrypts the authenticator secrets of ${pluralize(lost.length, 'user')}: ${named}${more}. Name the former secret in CRYPTO_SECRET_PREVIOUS; without it they sign in with a passkey, or an administrator resets their second factor`,
    details: { users: lost },
  };
}

async function checkWebhooks(store: Store, secretBox: SecretBox): Promise<Finding> {
  const lost: { id: number; name: string }[] = [];
  for (let last = 0; ; ) {
    const page = await store.apiKeys.withWebhookSecret(last, WEBHOOK_PAGE);
    lost.push(...page.filter(({ sealed }) => secretBox.open(sealed) === undefined));
    last = page.at(-1)?.id ?? last;
    if (page.length < WEBHOOK_PAGE) break;
  }
  if (lost.length === 0)
    return { check: 'secrets', level: 'ok', message: "every API key's webhook secret can be read" };
  const named = lost.slice(0, MAX_LISTED).map(({ id, name }) => `${id} (${name})`);
  const more = lost.length > MAX_LISTED ? ` and ${lost.length - MAX_LISTED} more` : '';
  return {
    check: 'secrets',
    level: 'error',
    message: `no CRYPTO_SECRET decrypts the webhook secrets of API keys ${named.join(', ')}${more}, whose webhooks cannot be signed: their owners create new ones, or name the former secret in CRYPTO_SECRET_PREVIOUS`,
    details: { api_keys: lost.map(({ id }) => id) },
  };
}

/** Sealed values inside others: settings of channels, and webhook secrets that still sign along. */
async function checkInner(store: Store, secretBox: SecretBox): Promise<Finding> {
  const channels = await findUnreadable({ store, secretBox }, 'channels.settings');
  const keys = await findUnreadable({ store, secretBox }, 'api_keys.webhook_formers');
  if (channels.length + keys.length === 0) {
    return { check: 'secrets', level: 'ok', message: 'every secret inside settings can be read' };
  }
  const named = [
    ...(channels.length > 0 ? [`the settings of channels ${channels.slice(0, MAX_LISTED).join(', ')}`] : []),
    ...(keys.length > 0 ? [`former webhook secrets of API keys ${keys.slice(0, MAX_LISTED).join(', ')}`] : []),
  ];
  return {
    check: 'secrets',
    level: 'error',
    message: `no CRYPTO_SECRET decrypts ${named.join(' and ')}: name the former secret in CRYPTO_SECRET_PREVIOUS, or enter them again`,
    details: { channels, api_keys: keys },
  };
}

async function checkTasks(store: Store): Promise<Finding> {
  const depth = await store.tasks.queueDepth();
  const late = depth.latestLatenessMs > LATE_MS;
  const lateness = late
    ? `; the latest poll is ${Math.round(depth.latestLatenessMs / 1000)} s late: is a gateway running?`
    : '';
  return {
    check: 'tasks',
    level: late ? 'warning' : 'ok',
    message: `${depth.unfinished} unfinished tasks, ${depth.due} due${lateness}`,
    details: depth,
  };
}

/** Checks the queue: a waiting task ends at its deadline at the latest, if a node is there. */
async function checkQueue(store: Store, clock: Clock): Promise<Finding> {
  const { total, items } = await store.queueView.list({}, { page: 1, pageSize: 1 });
  const [oldest] = items;
  if (!oldest) return { check: 'queue', level: 'ok', message: 'no task waits for a slot at its vendor' };
  const seconds = Math.max(0, clock.unix() - oldest.since);
  const isStuck = oldest.deadline + LATE_MS / 1000 < clock.unix();
  return {
    check: 'queue',
    level: isStuck ? 'warning' : 'ok',
    message: `${pluralize(total, 'task waits', 'tasks wait')} for a slot, the oldest for ${seconds} s${isStuck ? ', longer than it may: is a gateway running?' : ''}`,
    details: { waiting: total, oldest_task: oldest.taskId, oldest_seconds: seconds },
  };
}

async function checkClock(store: Store, clock: Clock): Promise<Finding> {
  const skew = Math.round((await compareClocks({ store, clock })) / 1000);
  const ahead = (await store.clock.latestWriteAt()) - clock.unix();
  const nodes = await store.nodes.alive(NODE_ALIVE_SECONDS);
  const names = nodes.map((node) => `${node.id} (${node.role}, ${node.version})`).join(', ');
  const running = nodes.length === 0 ? 'no node is running' : `running: ${names}`;
  const warn = (what: string): Finding => ({ check: 'clock', level: 'warning', message: `${what}; ${running}` });
  if (Math.abs(skew) > SKEW_SECONDS) {
    const way = skew < 0 ? 'behind' : 'ahead of';
    return warn(`this machine's clock is ${Math.abs(skew)} s ${way} the database's: set both by NTP`);
  }
  if (ahead > CLOCK_LEEWAY_SECONDS) {
    return warn(
      `the newest rows are of ${ahead} s in the future: this clock is wrong, or was set back after they were written`,
    );
  }
  return { check: 'clock', level: 'ok', message: `the clock agrees with the database's; ${running}` };
}

async function checkNodes(store: Store): Promise<Finding> {
  const nodes = await store.nodes.alive(NODE_ALIVE_SECONDS);
  if (hasOnlyWorkers(nodes)) return { check: 'nodes', level: 'warning', message: ONLY_WORKERS };
  return {
    check: 'nodes',
    level: 'ok',
    message: nodes.length === 0 ? 'no node is running' : 'a running master cleans up',
  };
}

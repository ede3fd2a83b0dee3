import type { Clock, SecretBox } from '../../kernel/index.ts';
import { describeMissingAddress, type NodeAddress, readOptions, taskPublicAddress } from '../../settings/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { NODE_ALIVE_SECONDS, ONLY_WORKERS, onlyWorkers } from './announce-node.ts';
import { LISTED } from './check-ledger.ts';
import { LATE_MS } from './list-attention.ts';

export type Finding = {
  check:
    | 'configuration'
    | 'address'
    | 'data_dir'
    | 'database'
    | 'ledger'
    | 'audit'
    | 'secrets'
    | 'tasks'
    | 'clock'
    | 'nodes';
  /** A warning deserves a look and changes no exit code; an error does. */
  level: 'ok' | 'warning' | 'error';
  message: string;
  details?: unknown;
};

/** Heartbeats ahead of our clock by more than this are no network delay. */
const SKEW_SECONDS = 5;

export type ExamineDeps = { store: Store; secretBox: SecretBox; clock: Clock; node: NodeAddress };

/** What `doctor` checks in the database, without writing to it: safe beside a running gateway. */
export async function runDoctorChecks({ store, secretBox, clock, node }: ExamineDeps): Promise<Finding[]> {
  await store.ping();
  const findings: Finding[] = [
    {
      check: 'database',
      level: 'ok',
      message: `${store.dialect === 'sqlite' ? 'SQLite' : 'PostgreSQL'} answers and is up to date`,
    },
  ];
  findings.push(await examineLedger(store));
  findings.push(await examineAudit(store));
  findings.push(await examineSecrets(store, secretBox));
  findings.push(await examineOptions(store, secretBox));
  findings.push(await examineAddress(store, secretBox, node));
  findings.push(await examineProviders(store, secretBox));
  findings.push(await examineTwoFactor(store, secretBox));
  findings.push(await examineWebhooks(store, secretBox));
  findings.push(await examineTasks(store));
  findings.push(await examineClock(store, clock));
  findings.push(await examineNodes(store, clock));
  return findings;
}

async function examineLedger(store: Store): Promise<Finding> {
  const { users, tasks } = await store.ledger.imbalances(LISTED);
  if (users.length + tasks.length === 0) {
    return { check: 'ledger', level: 'ok', message: 'every balance is the sum of its ledger lines' };
  }
  const more = users.length === LISTED || tasks.length === LISTED;
  const named = [
    ...users.map((row) => `user ${row.userId}: balance ${row.quota}, ledger ${row.ledger}`),
    ...tasks.map((row) => `task ${row.taskId}: quota ${row.quota}, ledger ${row.ledger}`),
  ];
  return {
    check: 'ledger',
    level: 'error',
    message: `${more ? 'at least ' : ''}${named.length} balances do not agree with the ledger: ${named.join('; ')}`,
    details: { users, tasks },
  };
}

async function examineAudit(store: Store): Promise<Finding> {
  const { faults, chained, unchained } = await store.logs.verifyAudit();
  if (faults.length > 0) {
    const named = faults.map(({ chain, id, fault }) =>
      fault === 'changed' ? `row ${id} was changed` : `rows next to row ${id} are gone (${chain})`,
    );
    return {
      check: 'audit',
      level: 'error',
      message: `the audit log is not as it was written: ${named.join('; ')}`,
      details: { faults },
    };
  }
  if (unchained > 0) {
    return {
      check: 'audit',
      level: 'warning',
      message: `${unchained} rows of the audit log are in no chain: a node of an older version wrote them, or somebody did from outside`,
      details: { unchained },
    };
  }
  return { check: 'audit', level: 'ok', message: `the audit log is as it was written (${chained} rows in its chains)` };
}

async function examineSecrets(store: Store, secretBox: SecretBox): Promise<Finding> {
  const channels = await store.channels.all();
  const lost = channels.filter((channel) => secretBox.open(channel.keySealed) === undefined);
  if (lost.length === 0) {
    return { check: 'secrets', level: 'ok', message: `every channel's key can be read (${channels.length})` };
  }
  const named = lost.map((channel) => `${channel.id} (${channel.name})`).join(', ');
  return {
    check: 'secrets',
    level: 'warning',
    message: `no CRYPTO_SECRET decrypts the keys of channels ${named}: enter them again, or name the former secret in CRYPTO_SECRET_PREVIOUS`,
    details: { channels: lost.map((channel) => channel.id) },
  };
}

async function examineOptions(store: Store, secretBox: SecretBox): Promise<Finding> {
  const options = [...readOptions(await store.options.all(), secretBox).unreadable];
  if (options.length === 0) return { check: 'secrets', level: 'ok', message: "every option's secret can be read" };
  return {
    check: 'secrets',
    level: 'warning',
    message: `no CRYPTO_SECRET decrypts the options ${options.join(', ')}, which count as not set: enter them again, or name the former secret in CRYPTO_SECRET_PREVIOUS`,
    details: { options },
  };
}

async function examineAddress(store: Store, secretBox: SecretBox, node: NodeAddress): Promise<Finding> {
  const options = readOptions(await store.options.all(), secretBox);
  const missing = describeMissingAddress(options, node);
  return missing === undefined
    ? { check: 'address', level: 'ok', message: `links lead to ${taskPublicAddress(options, node)}` }
    : { check: 'address', level: 'warning', message: missing };
}

async function examineProviders(store: Store, secretBox: SecretBox): Promise<Finding> {
  const lost = (await store.providers.all()).filter(
    ({ clientSecretSealed: sealed }) => sealed !== '' && secretBox.open(sealed) === undefined,
  );
  if (lost.length === 0) return { check: 'secrets', level: 'ok', message: "every added provider's secret can be read" };
  const slugs = lost.map(({ slug }) => slug);
  return {
    check: 'secrets',
    level: 'warning',
    message: `no CRYPTO_SECRET decrypts the client secrets of the added providers ${slugs.join(', ')}, through which nobody signs in: enter them again, or name the former secret in CRYPTO_SECRET_PREVIOUS`,
    details: { providers: slugs },
  };
}

/** Read at a time. */
const FACTORS = 500;
const WEBHOOK_SECRETS = 500;

async function examineTwoFactor(store: Store, secretBox: SecretBox): Promise<Finding> {
  const lost: number[] = [];
  for (let last = 0; ; ) {
    const page = await store.twoFactor.enabledAfter(last, FACTORS);
    lost.push(
      ...page.filter(({ secretSealed }) => secretBox.open(secretSealed) === undefined).map((row) => row.userId),
    );
    last = page.at(-1)?.userId ?? last;
    if (page.length < FACTORS) break;
  }
  if (lost.length === 0)
    return { check: 'secrets', level: 'ok', message: "every user's authenticator secret can be read" };
  const users = await Promise.all(lost.slice(0, LISTED).map((id) => store.users.byId(id)));
  const named = users.map((user, i) => `${lost[i]} (${user?.username ?? 'deleted'})`).join(', ');
  const more = lost.length > LISTED ? ` and ${lost.length - LISTED} more` : '';
  return {
    check: 'secrets',
    level: 'warning',
    message: `no CRYPTO_SECRET decrypts the authenticator secrets of ${lost.length} ${lost.length === 1 ? 'user' : 'users'}: ${named}${more}. Name the former secret in CRYPTO_SECRET_PREVIOUS; without it they sign in with a passkey, or an administrator takes their second factor off`,
    details: { users: lost },
  };
}

async function examineWebhooks(store: Store, secretBox: SecretBox): Promise<Finding> {
  const lost: { id: number; name: string }[] = [];
  for (let last = 0; ; ) {
    const page = await store.apiKeys.withWebhookSecret(last, WEBHOOK_SECRETS);
    lost.push(...page.filter(({ sealed }) => secretBox.open(sealed) === undefined));
    last = page.at(-1)?.id ?? last;
    if (page.length < WEBHOOK_SECRETS) break;
  }
  if (lost.length === 0)
    return { check: 'secrets', level: 'ok', message: "every API key's webhook secret can be read" };
  const named = lost.slice(0, LISTED).map(({ id, name }) => `${id} (${name})`);
  const more = lost.length > LISTED ? ` and ${lost.length - LISTED} more` : '';
  return {
    check: 'secrets',
    level: 'warning',
    message: `no CRYPTO_SECRET decrypts the webhook secrets of API keys ${named.join(', ')}${more}, whose notices cannot be signed: their owners make new ones, or name the former secret in CRYPTO_SECRET_PREVIOUS`,
    details: { api_keys: lost.map(({ id }) => id) },
  };
}

async function examineTasks(store: Store): Promise<Finding> {
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

async function examineClock(store: Store, clock: Clock): Promise<Finding> {
  const now = clock.unix();
  const nodes = await store.nodes.alive(now - NODE_ALIVE_SECONDS);
  const ahead = Math.max(0, ...nodes.map((node) => node.heartbeatAt - now));
  const names = nodes.map((node) => `${node.id} (${node.role}, ${node.version})`).join(', ');
  const running = nodes.length === 0 ? 'no node is running' : `running: ${names}`;
  if (ahead <= SKEW_SECONDS) return { check: 'clock', level: 'ok', message: `clock agrees with the nodes; ${running}` };
  return { check: 'clock', level: 'warning', message: `a node's clock is ${ahead} s ahead of this one; ${running}` };
}

async function examineNodes(store: Store, clock: Clock): Promise<Finding> {
  const nodes = await store.nodes.alive(clock.unix() - NODE_ALIVE_SECONDS);
  if (onlyWorkers(nodes)) return { check: 'nodes', level: 'warning', message: ONLY_WORKERS };
  return {
    check: 'nodes',
    level: 'ok',
    message: nodes.length === 0 ? 'no node is running' : 'a running master cleans up',
  };
}

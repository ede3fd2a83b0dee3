/** Notices of the gateway survive a SIGKILL, and two nodes send each once. */
import { afterAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { type Backdoor, openBackdoor } from '../support/backdoor.ts';
import { freePort } from '../support/free-port.ts';
import { type Administrator, type Gateway, setUp, signIn, startGateway } from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { startBadServer, startMailServer } from '../support/smtp.ts';
import { until } from '../support/until.ts';
import { startReceiver, verified } from '../support/webhook-receiver.ts';

const USD = 500_000;
const SECRET = `whsec_${randomBytes(32).toString('base64')}`;
const env = { WEBHOOK_ALLOWED_HOSTS: '127.0.0.0/8', LOG_LEVEL: 'warn' };

const gateways: Gateway[] = [];
afterAll(async () => {
  for (const gateway of gateways) await gateway.kill();
});

async function start(options: Parameters<typeof startGateway>[0]): Promise<Gateway> {
  const gateway = await startGateway({ env, ...options });
  gateways.push(gateway);
  return gateway;
}

const setOn = (root: Administrator, options: Record<string, string>) =>
  root.call('PUT', '/api/option', { options: Object.entries(options).map(([key, value]) => ({ key, value })) });

async function within(gateway: Gateway, work: (db: Backdoor) => Promise<unknown>): Promise<void> {
  const db = openBackdoor(gateway);
  await work(db).finally(() => db.close());
}

test('killed between the claim and the email: the next start sends it, once', async () => {
  const held = { connections: 0 };
  const silent = await startBadServer(() => {
    held.connections += 1;
  });
  const port = await freePort();
  const gateway = await start({ port });
  const root = await setUp(gateway);
  await within(gateway, (db) => db.run("update users set email = 'root@example.org'"));
  await setOn(root, { SMTPServer: '127.0.0.1', SMTPPort: String(silent.port), SMTPFrom: 'gate@example.org' });
  const { balance } = await root.call<{ balance: number }>('GET', '/api/user/self/balance-alert');
  await root.call('PUT', '/api/user/self/balance-alert', { threshold: balance + USD });
  await until('the mail is under way', () => held.connections > 0);
  await gateway.kill();
  await silent.stop();

  const mail = await startMailServer();
  const again = await start({ port, dataDir: gateway.dataDir });
  const rootAgain = await signIn(again.url);
  await setOn(rootAgain, { SMTPPort: String(mail.port) });
  const isLow = ({ subject }: { subject: string }) => subject.includes('balance');
  expect((await mail.next(isLow)).recipients).toEqual(['root@example.org']);
  // Another look, and another start, send none.
  await rootAgain.call('PUT', '/api/user/self/balance-alert', { mail: true });
  await again.kill();
  // The next warning comes an hour after the last one at the earliest.
  await within(again, (db) => db.run('update balance_alerts set told_at = told_at - 3600'));
  const third = await start({ port, dataDir: gateway.dataDir });
  const receiver = await startReceiver();
  const rootThird = await signIn(third.url);
  await rootThird.call('PUT', '/api/user/self/balance-alert', {
    threshold: balance + 2 * USD,
    webhook_url: receiver.url,
  });
  await until('the next crossing is sent', () => receiver.received.length > 0);
  await until('and mailed', () => mail.mails.filter(isLow).length > 1);
  expect(mail.mails.filter(isLow)).toHaveLength(2);
  expect((await rootThird.call<{ balance: number }>('GET', '/api/user/self/balance-alert')).balance).toBe(balance);
  await receiver.stop();
  await mail.stop();
});

test('one of two nodes reports a failing channel and a low balance, and the operator learns of the recovery', async () => {
  const databaseUrl = await migratedDatabaseUrl();
  const [mail, operator] = [await startMailServer(), await startReceiver()];
  const first = await start({ databaseUrl });
  const root = await setUp(first);
  await start({ databaseUrl, dataDir: first.dataDir });
  await within(first, (db) => db.run("update users set email = 'root@example.org'"));
  await setOn(root, {
    ...{ SMTPServer: '127.0.0.1', SMTPPort: String(mail.port), SMTPFrom: 'gate@example.org' },
    ...{ 'alerts.webhook_url': operator.url, 'alerts.webhook_secret': SECRET, 'alerts.webhook_balances': 'true' },
    'alerts.low_balance_default': String(1_000_000 * USD),
  });
  // Nothing listens there: a failed test counts at once.
  const id = await root.createChannel(`http://127.0.0.1:${await freePort()}`);
  await root.call('POST', `/api/channel/${id}/test`, {}).catch(() => {});
  const heard = (type: string) => operator.received.filter(({ payload }) => payload.type === type);
  await until('both are told', () => heard('channel.failing').length > 0 && heard('balance.low').length > 0);
  await root.call('DELETE', `/api/channel/${id}`);
  await until('the recovery is told', () => heard('channel.recovered').length > 0);
  expect(operator.received.map(({ payload }) => payload.type).sort()).toEqual([
    'balance.low',
    'channel.failing',
    'channel.recovered',
  ]);
  expect(heard('channel.recovered')[0]?.payload.data).toEqual({ channel_id: id, channel: '', reason: 'deleted' });
  for (const received of operator.received) expect(verified(received, SECRET)).toBe(1);
  const subjects = () => mail.mails.map(({ subject }) => subject).filter((subject) => !subject.includes('sign-in'));
  await until('both are mailed', () => subjects().length > 1);
  expect(subjects()).toHaveLength(2);
  await mail.stop();
  await operator.stop();
});

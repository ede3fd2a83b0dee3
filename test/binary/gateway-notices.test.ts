/** Notices of the executable to its operator and its users, by real mail servers and receivers. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { openBackdoor } from '../support/backdoor.ts';
import { type Administrator, type Gateway, setUp, signIn, startGateway } from '../support/gateway.ts';
import { startMailServer, type TestMailServer } from '../support/smtp.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver, verified } from '../support/webhook-receiver.ts';

const USD = 500_000;
const SECRET = `whsec_${randomBytes(32).toString('base64')}`;

let gateway: Gateway;
let root: Administrator;
let mail: TestMailServer;
let operator: Receiver;
let receiver: Receiver;
beforeAll(async () => {
  [mail, operator, receiver] = [await startMailServer(), await startReceiver(), await startReceiver()];
  gateway = await startGateway({ env: { WEBHOOK_ALLOWED_HOSTS: '127.0.0.0/8', LOG_LEVEL: 'warn' } });
  root = await setUp(gateway);
  await set({
    ...{ SMTPServer: '127.0.0.1', SMTPPort: String(mail.port), SMTPFrom: 'gate@example.org' },
    ...{ ServerAddress: 'https://gate.example.org', 'branding.balance_hint': 'Ask Ada, room 4.' },
  });
});
afterAll(async () => {
  await gateway?.stop();
  for (const each of [mail, operator, receiver]) await each?.stop();
});

const set = (options: Record<string, string>) =>
  root.call('PUT', '/api/option', { options: Object.entries(options).map(([key, value]) => ({ key, value })) });

test("a test of the operator's webhook is signed, and says what is missing or what the receiver answered", async () => {
  const run = () => root.call('POST', '/api/option/test', { what: 'webhook' });
  expect(await run()).toMatchObject({ ok: false, steps: [{ name: 'settings' }] });
  await set({ 'alerts.webhook_url': operator.url, 'alerts.webhook_secret': SECRET });
  expect(await run()).toMatchObject({ ok: true, steps: [{ name: 'address' }, { name: 'send' }] });
  const [received] = operator.received as [Receiver['received'][number]];
  expect(received.payload).toEqual({ type: 'test', timestamp: expect.any(String), data: {} });
  expect(verified(received, SECRET)).toBe(1);
  operator.answer((_, response) => void response.writeHead(500).end());
  expect(await run()).toMatchObject({ ok: false, steps: [{ ok: true }, { ok: false }] });
  // SSRF: a receiver inside the network is refused as those of users are.
  await set({ 'alerts.webhook_url': 'http://169.254.169.254/latest' });
  expect(await run()).toMatchObject({ ok: false, steps: [{ name: 'address', ok: false }] });
  operator.answer((_, response) => void response.writeHead(204).end());
  operator.received.length = 0;
  await set({ 'alerts.webhook_url': operator.url, 'alerts.webhook_balances': 'true' });
});

test('a low balance is mailed and sent once, in the language of its user, and again only after a top-up', async () => {
  const id = await root.createUser({ username: 'grace', quota: 4 * USD });
  const db = openBackdoor(gateway);
  await db.run(`update users set email = 'grace@example.org', language = 'de' where id = ${id}`);
  await db.close();
  const grace = await signIn(gateway.url, { username: 'grace' });
  const alert = '/api/user/self/balance-alert';
  expect(await grace.call('GET', alert)).toMatchObject({
    ...{ threshold: null, balance: 4 * USD, is_low: false, can_mail: true, webhook_secret: 'none', warned_at: 0 },
  });
  const saved = await grace.call<{ new_secret: string }>('PUT', alert, {
    ...{ threshold: 5 * USD, webhook_url: receiver.url },
  });
  const isOfGrace = ({ recipients, subject }: { recipients: string[]; subject: string }) =>
    recipients.includes('grace@example.org') && subject.includes('Guthaben');
  const received = await mail.next(isOfGrace);
  expect(received.text).toMatch(/4,00\s\$/);
  expect(received.text).toMatch(/5,00\s\$/);
  expect(received.text).toContain('Ask Ada, room 4.');
  expect(received.text).toContain('https://gate.example.org/notifications');
  await until('both receivers have it', () => receiver.received.length > 0 && operator.received.length > 0);
  for (const [one, secret] of [[receiver, saved.new_secret] as const, [operator, SECRET] as const]) {
    const [first] = one.received as [Receiver['received'][number]];
    expect(verified(first, secret)).toBe(1);
    const data = { user_id: id, balance: 4 * USD, threshold: 5 * USD };
    expect(first.payload).toEqual({ type: 'balance.low', timestamp: expect.any(String), data });
  }
  await until('the delivery is shown', async () => {
    const view = await grace.call<{ last_delivery: { http_status: number } | null }>('GET', alert);
    return view.last_delivery?.http_status === 204;
  });
  expect(await grace.call('GET', alert)).toMatchObject({
    is_low: true,
    warned_at: expect.any(Number),
    webhook_secret: 'ready',
  });

  // Each change lets the gateway look again; nothing is to be told until the top-up.
  await grace.call('PUT', alert, { webhook_url: null });
  const manage = (mode: string, value: number) =>
    root.call('POST', '/api/user/manage', { id, action: 'add_quota', mode, value });
  await manage('add', 2 * USD);
  await manage('subtract', 3 * USD);
  await grace.call('PUT', alert, { mail: true });
  expect((await mail.next(isOfGrace)).text).toMatch(/3,00\s\$/);
  await until('the operator has it', () => operator.received.length === 2);
  expect(mail.mails.filter(isOfGrace)).toHaveLength(2);
  expect(receiver.received).toHaveLength(1);
  const ids = mail.mails.filter(isOfGrace).map(({ headers }) => headers['message-id']?.[0]);
  expect(new Set(ids).size).toBe(2);
  expect(await grace.call('GET', alert)).toMatchObject({ balance: 3 * USD });

  // The operator ends it for everybody.
  await set({ 'alerts.low_balance': 'false' });
  expect(await grace.call('PUT', alert, { threshold: 9 * USD })).toMatchObject({ is_offered: false, is_low: false });
  await set({ 'alerts.low_balance': 'true' });
});

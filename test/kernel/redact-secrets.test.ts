import { describe, expect, test } from 'bun:test';
import { redactSecrets, sanitizeMessage } from '../../src/kernel/redact.ts';

const KEY = 'key-0123456789';
const ACCOUNT = JSON.stringify(
  { type: 'service_account', private_key: `-----BEGIN-----\n${'MIIEvQ'.repeat(200)}\n-----END-----\n` },
  null,
  2,
);

describe("a vendor's key in a message is gone", () => {
  const rows: [name: string, key: string, text: string][] = [
    ['as it is', KEY, `Bad key ${KEY}, twice ${KEY}`],
    ['as JSON inside a message', 'a"b\\c-secret', `Bad ${JSON.stringify({ apiKey: 'a"b\\c-secret' })}`],
    ['a service account as JSON inside a message', ACCOUNT, `Bad ${JSON.stringify({ apiKey: ACCOUNT })}`],
    ['a service account on one line', ACCOUNT, sanitizeMessage(`Bad ${ACCOUNT}`, 10_000)],
    ['a service account cut off by the end', ACCOUNT, `Bad ${ACCOUNT}`.slice(0, 512)],
    ['a service account on one line and cut off', ACCOUNT, sanitizeMessage(`Bad ${ACCOUNT}`, 512)],
    ['a service account as JSON and cut off', ACCOUNT, `Bad ${JSON.stringify({ apiKey: ACCOUNT })}`.slice(0, 512)],
  ];
  test.each(rows)('%s', (_name, key, text) => {
    const clean = redactSecrets(text, [key]);
    expect(clean).toStartWith('Bad ');
    expect(clean).toContain('[redacted]');
    for (const piece of ['0123456789', 'c-secret', 'service_account', 'MIIEvQ']) expect(clean).not.toContain(piece);
  });
});

test('other text stays, and so do words that a short secret is', () => {
  expect(redactSecrets('The job has failed.', [KEY, 'job', '', undefined])).toBe('The job has failed.');
  expect(redactSecrets('see key-0123', [KEY])).toBe('see [redacted]');
  expect(redactSecrets('see key-012', [KEY])).toBe('see key-012');
});

test('slow redaction: a key and a text that repeat themselves cost no more than a moment', () => {
  const before = process.cpuUsage();
  redactSecrets('a'.repeat(16_384), [`${'a'.repeat(16_000)}b`]);
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(500);
});

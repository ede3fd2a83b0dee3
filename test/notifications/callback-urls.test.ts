import { describe, expect, test } from 'bun:test';
import { readConfig } from '../../src/app/config/config.ts';
import { webhookReceivers } from '../../src/app/config/webhook-receivers.ts';
import { createCallbackUrls, shownUrl } from '../../src/notifications/callback-urls.ts';

const allowing = (list: string) => {
  const read = webhookReceivers.parse(list);
  if (!read.ok) throw new Error(read.error);
  return createCallbackUrls(read.value);
};
const nobody = createCallbackUrls({ names: [], ranges: [] });

describe('callback URLs without the operator’s permission', () => {
  test.each([
    'https://hooks.example/taskgate?token=1',
    'https://hooks.example:8443/a@b',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    `https://hooks.example/${'a'.repeat(2000)}`,
  ])('%s', (url) => {
    expect(nobody.check(url)).toMatchObject({ ok: true });
  });

  test.each([
    ['no URL', 'hooks.example/taskgate', 'absolute https URL'],
    ['an empty text', '', 'absolute https URL'],
    ['no host', 'https:///hook', 'absolute https URL'],
    ['slashes left out', 'https:hooks.example', 'absolute https URL'],
    ['another scheme', 'ftp://hooks.example/', 'absolute https URL'],
    ['a file', 'file:///etc/passwd', 'absolute https URL'],
    ['plain http', 'http://hooks.example/', 'must begin with https'],
    ['a user', 'https://user@hooks.example/', 'username'],
    ['a password', 'https://user:pass@hooks.example/', 'username'],
    ['an empty user', 'https://@hooks.example/', 'username'],
    ['a host that looks like another (user info)', 'https://hooks.example@169.254.169.254/', 'username'],
    ['a host behind a backslash', 'https://hooks.example\\@10.0.0.1/', undefined],
    ['a line break', 'https://hooks.example/\r\nX-Evil: 1', 'control characters'],
    ['a blank', 'https://hooks.example/a b', 'spaces or control'],
    ['a fragment', 'https://hooks.example/#x', 'fragment'],
    ['2049 characters', `https://hooks.example/${'a'.repeat(2027)}`, '2048'],
    ['2050 characters, percent-encoded', `https://hooks.example/${'é'.repeat(338)}`, '2048'],
    ['loopback', 'https://127.0.0.1/', 'private or loopback'],
    ['loopback in short', 'https://127.1/', 'private or loopback'],
    ['loopback in decimal', 'https://2130706433/', 'private or loopback'],
    ['loopback in octal', 'https://0177.0.0.1/', 'private or loopback'],
    ['loopback with a dot', 'https://127.0.0.1./', 'private or loopback'],
    ['loopback in full-width digits', 'https://１２７.0.0.1/', 'private or loopback'],
    ['IPv6 loopback', 'https://[::1]/', 'private or loopback'],
    ['IPv4 in IPv6 (mapped)', 'https://[::ffff:127.0.0.1]/', 'private or loopback'],
    ['IPv4 in IPv6 (NAT64)', 'https://[64:ff9b::10.0.0.1]/', 'private or loopback'],
    ['IPv4 in IPv6 (6to4)', 'https://[2002:a00:1::]/', 'private or loopback'],
    ['localhost', 'https://localhost/', 'private or loopback'],
    ['a name below localhost', 'https://hooks.localhost./', 'private or loopback'],
    ['a private network', 'https://192.168.1.7:8443/', 'private or loopback'],
    ['carrier-grade NAT', 'https://100.64.0.1/', 'private or loopback'],
    ['unique local IPv6', 'https://[fd00::1]/', 'private or loopback'],
    ['the metadata service', 'https://169.254.169.254/latest/meta-data/', 'never called'],
    ['the metadata service mapped', 'https://[::ffff:169.254.169.254]/', 'never called'],
    ['the metadata service of AWS over IPv6', 'https://[fd00:ec2::254]/', 'never called'],
    ['the metadata service of Alibaba Cloud', 'https://100.100.100.200/', 'never called'],
    ['link-local IPv6', 'https://[fe80::1]/', 'never called'],
    ['this network', 'https://0.0.0.0/', 'never called'],
    ['broadcast', 'https://255.255.255.255/', 'never called'],
    ['multicast', 'https://224.0.0.1/', 'never called'],
  ])('%s is refused', (_name, url, why) => {
    const checked = nobody.check(url);
    // What the parser reads as a path is one: the host stays the public one in the text.
    if (why === undefined) return expect(checked.ok && checked.value.hostname).toBe('hooks.example');
    const reason = expect.stringMatching(/^webhooks\./);
    expect(checked).toMatchObject({ ok: false, error: { message: expect.stringContaining(why), reason } });
    if (!checked.ok) expect(JSON.stringify(checked.error)).not.toContain('hooks.example');
  });
});

test('what is taken is taken again as it is stored: a notice could never be sent otherwise', () => {
  const longest = `https://für.example/{"${'é'.repeat(330)}`;
  const taken = nobody.check(longest);
  expect(taken.ok && nobody.check(taken.value.href).ok).toBe(true);
  expect(nobody.check(`${longest}${'{'.repeat(20)}`).ok).toBe(false);
});

describe('callback URLs that the operator allows', () => {
  const urls = allowing('hooks.lan, 10.0.0.0/8, 127.0.0.1, FÜR.example, ::1');
  test.each([
    'http://hooks.lan/',
    'http://HOOKS.lan:8080/x',
    'https://hooks.lan/',
    'http://10.1.2.3/',
    'https://10.1.2.3:8443/',
    'http://127.0.0.1:9/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::1]/',
    'http://für.example/',
  ])('%s', (url) => {
    expect(urls.check(url)).toMatchObject({ ok: true });
  });
  test.each([
    'http://other.lan/',
    'http://a.hooks.lan/',
    'https://127.0.0.2/',
    'https://192.168.1.1/',
    'https://[64:ff9b::10.0.0.1]/',
    'http://localhost/',
    'https://169.254.169.254/',
    'http://user@hooks.lan/',
  ])('%s is refused', (url) => {
    expect(urls.check(url).ok).toBe(false);
  });

  test('a host allowed by name may be private at its port, others may not', () => {
    expect(urls.privateHosts(new URL('http://hooks.lan:8080/'))).toEqual(['hooks.lan:8080']);
    expect(urls.privateHosts(new URL('https://10.1.2.3/'))).toEqual([]);
    expect(urls.privateHosts(new URL('https://hooks.example/'))).toEqual([]);
  });
});

describe('WEBHOOK_ALLOWED_HOSTS', () => {
  test('is parsed into names and canonical ranges', () => {
    expect(webhookReceivers.parse('Hooks.LAN,10.1.2.3/8, ::ffff:192.168.0.0/112,10.1.2.3/8')).toEqual({
      ok: true,
      value: { names: ['hooks.lan'], ranges: ['10.1.2.3/8', '192.168.0.0/16'] },
    });
  });
  test('a bad value stops the start, and the error names it', () => {
    const read = readConfig({ WEBHOOK_ALLOWED_HOSTS: 'hooks.lan, 169.254.169.254' });
    expect(read).toEqual({
      ok: false,
      faults: [expect.stringMatching(/^WEBHOOK_ALLOWED_HOSTS: read .*169\.254\.169\.254.*never called/)],
    });
  });

  test.each([
    ['an empty entry', 'hooks.lan,,10.0.0.0/8', 'an entry is empty'],
    ['a scheme', 'https://hooks.lan', 'is not a host name'],
    ['a port', 'hooks.lan:8080', 'is not a host name'],
    ['a wildcard', '*.lan', 'is not a host name'],
    ['a path', 'hooks.lan/x', 'is not a host name'],
    ['a short address', '127.1', 'is not a host name'],
    ['a number', '2130706433', 'is not a host name'],
    ['a bad prefix', '10.0.0.0/33', 'is not a host name'],
    ['the metadata service', '169.254.169.254', 'never called'],
    ['the link-local range', 'fe80::/10', 'never called'],
    ['everything', '0.0.0.0/0', 'never called'],
    ['everything over IPv6', '::/0', 'never called'],
  ])('refuses %s', (_name, list, why) => {
    expect(webhookReceivers.parse(list)).toEqual({ ok: false, error: expect.stringContaining(why) });
  });
});

test('the query of a callback URL is hidden from everyone but its owner', () => {
  expect(shownUrl('https://hooks.example/a?token=1&x=?')).toBe('https://hooks.example/a?…');
  expect(shownUrl('https://hooks.example/a')).toBe('https://hooks.example/a');
});

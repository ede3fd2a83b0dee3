import { describe, expect, test } from 'bun:test';
import { relyingPartyId, requireRelyingParty } from '../../src/auth/credentials/relying-party.ts';
import type { AuthSettings } from '../../src/auth/index.ts';
import { AppError } from '../../src/kernel/index.ts';
import { testSettings } from './harness.ts';

type Passkeys = Partial<AuthSettings['passkeys']>;
const settingsAt = (serverAddress: string, passkeys: Passkeys = {}): AuthSettings => ({
  ...testSettings(passkeys),
  serverAddress,
});

describe('the relying party that the settings give', () => {
  const usable: [string, string, Passkeys, id: string, origins: string[]][] = [
    ['this machine', 'http://localhost:3000', {}, 'localhost', ['http://localhost:3000']],
    ['a name below localhost', 'http://panel.localhost:3000', {}, 'panel.localhost', ['http://panel.localhost:3000']],
    ['https', 'https://panel.example.org', {}, 'panel.example.org', ['https://panel.example.org']],
    ['https with port and path', 'https://a.example:8443/panel', {}, 'a.example', ['https://a.example:8443']],
    [
      'a domain above',
      'https://panel.example.org',
      { rpId: 'example.org' },
      'example.org',
      ['https://panel.example.org'],
    ],
    [
      'several origins, those of other domains left out',
      'http://10.0.0.1:3000',
      { rpId: 'example.org', origins: ['https://a.example.org', 'https://evil.example', 'https://example.org:8443'] },
      'example.org',
      ['https://a.example.org', 'https://example.org:8443'],
    ],
    [
      'insecure ones left out',
      'https://a.example',
      { origins: ['http://a.example', 'https://a.example'] },
      'a.example',
      ['https://a.example'],
    ],
    [
      'plain http where it is allowed',
      'http://gateway.lan:3000',
      { allowInsecureOrigin: true },
      'gateway.lan',
      ['http://gateway.lan:3000'],
    ],
  ];
  test.each(usable)('%s', (_name, address, passkeys, id, origins) => {
    const settings = settingsAt(address, passkeys);
    expect(requireRelyingParty(settings)).toEqual({
      id,
      origins,
      name: 'Taskgate',
      userVerification: 'preferred',
      attachment: '',
    });
    expect(relyingPartyId(settings)).toBe(id);
  });

  const unusable: [string, string, Passkeys, message: RegExp][] = [
    ['plain http', 'http://gateway.lan:3000', {}, /HTTPS\. Set ServerAddress/],
    ['an IPv4 address', 'https://192.168.1.5', {}, /IP address\. Set ServerAddress/],
    ['loopback by number', 'http://127.0.0.1:3000', {}, /IP address/],
    ['an IPv6 address', 'https://[::1]:3000', {}, /IP address/],
    ['no address', '', {}, /Set ServerAddress/],
    ["another domain than the panel's", 'https://panel.example.org', { rpId: 'example.com' }, /are for example\.com/],
    ['a domain that only ends alike', 'https://notexample.org', { rpId: 'example.org' }, /are for example\.org/],
    ['a domain below', 'https://example.org', { rpId: 'panel.example.org' }, /passkey\.rp_id/],
    ['a whole top-level domain', 'https://example.org', { rpId: 'org' }, /are for org/],
    ['only origins of other domains', 'https://a.example', { origins: ['https://b.example'] }, /passkey\.origins/],
    ['switched off', 'https://a.example', { enabled: false }, /not enabled/],
  ];
  test.each(unusable)('%s: refused with a message that says what to set', (_name, address, passkeys, message) => {
    try {
      requireRelyingParty(settingsAt(address, passkeys));
      throw new Error('it was accepted');
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      expect([error.code, error.kind]).toEqual(['auth.method_disabled', 'forbidden']);
      expect(error.message).toMatch(message);
    }
  });

  test('its name is the option, else the system name', () => {
    expect(requireRelyingParty(settingsAt('https://a.example', { rpDisplayName: 'Ours' })).name).toBe('Ours');
  });
});

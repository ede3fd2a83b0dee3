/** The gateway's address in links: its sources, their order, and the warning if there is none. */

import { describe, expect, test } from 'bun:test';
import { createSecretBox } from '../../src/kernel/index.ts';
import { authSettings } from '../../src/settings/auth-settings.ts';
import {
  configuredAddress,
  describeMissingAddress,
  type NodeAddress,
  serverAddress,
  taskPublicAddress,
} from '../../src/settings/public-address.ts';
import { readOptions } from '../../src/settings/read-options.ts';
import { startGateway } from '../support/gateway.ts';

const TRUSTED = 'https://gate.example.org';
const LISTENING = 'http://localhost:3000';

const optionsFor = (stored: Record<string, string>) =>
  readOptions(
    Object.entries(stored).map(([key, value]) => ({ key, value })),
    createSecretBox(['a secret']),
  );
const node = (change: Partial<NodeAddress> = {}): NodeAddress => ({
  trustedOrigin: '',
  listening: LISTENING,
  isLoopback: true,
  ...change,
});

describe('addresses', () => {
  test.each<[string, Record<string, string>, Partial<NodeAddress>, panel: string, artifacts: string | undefined]>([
    [
      'the options override everything else',
      { ServerAddress: 'https://panel.example/', TaskPublicAddress: 'https://files.example/a/' },
      { trustedOrigin: TRUSTED },
      'https://panel.example',
      'https://files.example/a',
    ],
    [
      'links to artifacts use the address of the panel',
      { ServerAddress: 'https://panel.example' },
      {},
      'https://panel.example',
      'https://panel.example',
    ],
    ['the first trusted origin is the default', {}, { trustedOrigin: TRUSTED }, TRUSTED, TRUSTED],
    ['a listener on loopback is the last resort', {}, {}, LISTENING, LISTENING],
    [
      'without a configured address a listener on other interfaces makes no artifact links',
      {},
      { isLoopback: false },
      LISTENING,
      undefined,
    ],
  ])('%s', (_name, stored, change, panel, artifacts) => {
    const options = optionsFor(stored);
    expect(serverAddress(options, node(change))).toBe(panel);
    expect(taskPublicAddress(options, node(change))).toBe(artifacts);
  });

  test('a missing address is reported with its remedy until one is set', () => {
    const missing = (stored: Record<string, string>, change: Partial<NodeAddress> = {}) =>
      describeMissingAddress(optionsFor(stored), node(change))?.message ?? '';
    expect(missing({})).toBe(
      `Links in results and emails point to ${LISTENING}, so they only work on this machine. Set ServerAddress.`,
    );
    expect(missing({}, { isLoopback: false })).toStartWith('Results have no links');
    expect(missing({ TaskPublicAddress: 'https://files.example' })).toStartWith('Links in emails');
    for (const text of [missing({}), missing({}, { isLoopback: false })]) expect(text).toContain('Set ServerAddress');
    expect(missing({ ServerAddress: 'https://panel.example' }, { isLoopback: false })).toBe('');
    expect(missing({}, { trustedOrigin: TRUSTED, isLoopback: false })).toBe('');
    expect(configuredAddress(optionsFor({}), node())).toBe('');
  });
});

test('behind a proxy the set-up link and the status name the first trusted origin', async () => {
  const gateway = await startGateway({
    env: {
      SESSION_COOKIE_SECURE: 'true',
      SESSION_COOKIE_TRUSTED_URL: `${TRUSTED},https://other.example.org`,
    },
  });
  try {
    expect(gateway.setupUrl).toStartWith(`${TRUSTED}/setup#token=`);
    expect(gateway.announcement.address).toStartWith('http://localhost:');
    const status = await fetch(`${gateway.url}/api/status`);
    const { data } = (await status.json()) as { data: { server_address: string } };
    expect(data.server_address).toBe(TRUSTED);
  } finally {
    await gateway.stop();
  }
});

describe('what the gateway calls itself to mail servers', () => {
  test.each([
    ['https://gate.example.org:8443/', '', 'gate.example.org'],
    ['http://192.168.1.5:3000', 'Gate <gate@example.org>', '[192.168.1.5]'],
    ['http://[fd00::5]:3000', '', '[IPv6:fd00::5]'],
    ['http://localhost:3000', 'Gate <gate@mail.example.org>', 'mail.example.org'],
    ['', 'gate@mail.example.org', 'mail.example.org'],
    ['http://gateway:3000', 'gate@localhost', undefined],
  ])('%s and %s', (address, from, name) => {
    const options = optionsFor({ ServerAddress: address, SMTPServer: 'mail', SMTPFrom: from || 'x@localhost' });
    expect(authSettings(options, node()).mail?.ownName).toBe(name as string);
  });

  test.each([
    ['mx', 'mx'],
    ['10.0.0.7', '[10.0.0.7]'],
    ['fd00::5', '[IPv6:fd00::5]'],
  ])('%s, which root has chosen', (chosen, name) => {
    const address = { ServerAddress: 'https://gate.example.org', SMTPServer: 'mail', SMTPFrom: 'x@localhost' };
    expect(authSettings(optionsFor({ ...address, SMTPHelloName: chosen }), node()).mail?.ownName).toBe(name);
  });
});

/**
 * Cookie mode, trusted origins and trusted proxies: unsafe or unclear values stop the start, and
 * the message says why and what to write.
 */
import { describe, expect, test } from 'bun:test';
import { readConfig } from '../../src/app/config/config.ts';
import { readSecretList, writeSecretList } from '../../src/kernel/index.ts';
import { runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const findFaults = (environment: Record<string, string>): string[] => {
  const reading = readConfig({ TRUSTED_PROXIES: 'none', ...environment });
  return reading.ok ? [] : reading.faults;
};
const configFor = (environment: Record<string, string>) => {
  const reading = readConfig(environment);
  if (!reading.ok) throw new Error(reading.faults.join('\n'));
  return { ...reading, warnings: reading.warnings.map(({ message }) => message) };
};

describe('SESSION_COOKIE_SECURE', () => {
  test.each(['1', '0', 'yes', 'no', 'on', 'off', 'secure', 'tru', 'true;', 'true false', 'null', '"true"'])(
    '%s stops the start',
    (value) => {
      expect(findFaults({ SESSION_COOKIE_SECURE: value })).toEqual([
        `SESSION_COOKIE_SECURE: read ${JSON.stringify(value)}; allowed: true or false`,
      ]);
    },
  );
  test.each([
    ['true', true],
    ['TRUE', true],
    [' True ', true],
    ['false', false],
    ['False', false],
    ['', false],
    ['  ', false],
  ])('"%s" is %p', (value, secure) => {
    expect(configFor({ SESSION_COOKIE_SECURE: value }).config.cookieSecure).toBe(secure);
  });
});

describe('former secrets', () => {
  test.each(['SESSION_SECRET_PREVIOUS', 'CRYPTO_SECRET_PREVIOUS'])(
    '%s: one that could be guessed stops the start, since tokens are verified with it',
    (name) => {
      const former = 'a former secret of good length';
      for (const value of ['guess me', `${former},guess me`]) {
        const [fault = '', ...others] = findFaults({ [name]: value });
        expect([fault, others]).toEqual([expect.stringContaining('an entry is too short'), []]);
        expect(fault).not.toContain(value);
      }
      expect(findFaults({ [name]: `${former}, another ${former}` })).toEqual([]);
    },
  );
});

test('former secrets: %2C is a comma within one, or itself, and lists are read as they are written', () => {
  const comma = 'first half, second half';
  const lists: [text: string, secrets: string[]][] = [
    ['first half%2C second half', [comma, 'first half%2C second half']],
    [`${'a'.repeat(20)}, x%2cy${'b'.repeat(20)}`, ['a'.repeat(20), `x,y${'b'.repeat(20)}`, `x%2cy${'b'.repeat(20)}`]],
  ];
  for (const [text, secrets] of lists) {
    const { config } = configFor({ CRYPTO_SECRET_PREVIOUS: text, SESSION_SECRET_PREVIOUS: text });
    expect([config.cryptoSecretPrevious, config.sessionSecretPrevious]).toEqual([secrets, secrets]);
    const written = writeSecretList(secrets);
    expect(readSecretList(written)).toEqual(expect.arrayContaining(secrets));
    expect(writeSecretList(readSecretList(written))).toBe(written);
  }
  expect(writeSecretList([comma])).toBe('first half%2C second half');
});

describe('SESSION_COOKIE_TRUSTED_URL', () => {
  const refused: [value: string, rule: string][] = [
    ['https://a.example,', 'an entry is empty'],
    [',https://a.example', 'an entry is empty'],
    ['https://a.example, ,https://b.example', 'an entry is empty'],
    [',', 'an entry is empty'],
    ['http://a.example', '"http://a.example" is not https'],
    ['wss://a.example', '"wss://a.example" is not https'],
    ['null', '"null" is not an origin'],
    ['https://', '"https://" is not an origin'],
    ['a.example', '"a.example" is not an origin'],
    ['//a.example', '"//a.example" is not an origin'],
    ['https://a.example/', 'write "https://a.example" without the slash at the end'],
    ['https://a.example:8443/', 'write "https://a.example:8443" without the slash at the end'],
    ['https://a.example/panel', '"https://a.example/panel" has more than scheme, host and port'],
    ['https://a.example//', 'more than scheme, host and port'],
    ['https://a.example/..', 'more than scheme, host and port'],
    ['https://a.example\\', 'more than scheme, host and port'],
    ['https://a.example?x=1', 'more than scheme, host and port'],
    ['https://a.example?', 'more than scheme, host and port'],
    ['https://a.example#x', 'more than scheme, host and port'],
    ['https://a.example#', 'more than scheme, host and port'],
    ['https:///a.example', 'more than scheme, host and port'],
    ['https://u@a.example', 'user info is not accepted'],
    ['https://u:p@a.example', 'user info is not accepted'],
    ['https://@a.example', 'user info is not accepted'],
    ['https://*.a.example', 'wildcards are not accepted: "https://*.a.example"'],
    ['https://a.*', 'wildcards are not accepted'],
    ['*', 'wildcards are not accepted'],
    ['https://.a.example', '"https://.a.example" is a domain suffix: write out each host'],
    ['https://a.example:', 'write "https://a.example"'],
    ['https:a.example', 'write "https://a.example"'],
    ['https://a%2eexample', 'write "https://a.example"'],
    ['https://a.exa\tmple', 'write "https://a.example"'],
    ['https://a.example:65536', 'is not an origin'],
    ['https://a.example:port', 'is not an origin'],
    ['https://::1', 'is not an origin'],
    ['https://[::1', 'is not an origin'],
    ['https://[::1]/', 'write "https://[::1]" without the slash at the end'],
    ['https://[fe80::1%25eth0]', 'is not an origin'],
    ['https://a.example https://b.example', 'is not an origin'],
    ['https://a.example;https://b.example', 'more than scheme, host and port'],
  ];
  test.each(refused)('%s stops the start', (value, rule) => {
    const [fault, ...others] = findFaults({ SESSION_COOKIE_SECURE: 'true', SESSION_COOKIE_TRUSTED_URL: value });
    expect(others).toEqual([]);
    // User info may hold a password.
    const shown = JSON.stringify(value.replace(/:\/\/.*@/, '://…@'));
    expect(fault).toStartWith(`SESSION_COOKIE_TRUSTED_URL: read ${shown}; allowed: exact HTTPS origins`);
    expect(fault).toContain(rule);
  });

  test.each([
    ['https://a.example', ['https://a.example']],
    ['HTTPS://A.Example', ['https://a.example']],
    ['https://a.example:443', ['https://a.example']],
    ['https://a.example:443,https://A.EXAMPLE', ['https://a.example']],
    [' https://a.example:8443 , https://b.example ', ['https://a.example:8443', 'https://b.example']],
    ['https://[::1]:443', ['https://[::1]']],
    ['https://[2001:DB8:0:0::7]:8443', ['https://[2001:db8::7]:8443']],
    ['https://203.0.113.7', ['https://203.0.113.7']],
    ['https://bücher.example', ['https://xn--bcher-kva.example']],
  ])('%s is read as %j', (value, origins) => {
    const { config } = configFor({ SESSION_COOKIE_SECURE: 'true', SESSION_COOKIE_TRUSTED_URL: value });
    expect(config.cookieTrustedUrls).toEqual(origins);
  });

  test.each(['', 'false', ' '])('stops the start with SESSION_COOKIE_SECURE="%s"', (secure) => {
    expect(findFaults({ SESSION_COOKIE_SECURE: secure, SESSION_COOKIE_TRUSTED_URL: 'https://a.example' })).toEqual([
      'SESSION_COOKIE_TRUSTED_URL: set without SESSION_COOKIE_SECURE=true; allowed: only together with it, since the origin check is off otherwise',
    ]);
  });

  test('may be left out: a warning says which origins count then', () => {
    const { warnings } = configFor({ SESSION_COOKIE_SECURE: 'true', TRUSTED_PROXIES: 'none' });
    expect(warnings).toEqual([expect.stringContaining('list the public origin')]);
  });
});

describe('TRUSTED_PROXIES', () => {
  const refused: [value: string, rule: string][] = [
    [',', 'the list is empty'],
    [' , ,', 'the list is empty'],
    ['none,10.0.0.1', '"none" cannot be mixed with addresses'],
    ['10.0.0.1,NONE', '"none" cannot be mixed with addresses'],
    ['none none', '"none none" is neither an address nor a CIDR'],
    ['10.0.0.0/33', '"10.0.0.0/33" is neither an address nor a CIDR'],
    ['2001:db8::/129', '"2001:db8::/129" is neither an address nor a CIDR'],
    ['10.0.0.0/', 'is neither an address nor a CIDR'],
    ['10.0.0.0/-1', 'is neither an address nor a CIDR'],
    ['10.0.0.0/255.0.0.0', 'is neither an address nor a CIDR'],
    ['10.0.0/24', 'is neither an address nor a CIDR'],
    ['10.0.0.1:80', 'is neither an address nor a CIDR'],
    ['[::1]', 'is neither an address nor a CIDR'],
    ['fe80::1%eth0', 'is neither an address nor a CIDR'],
    ['0x0a.0.0.1', 'is neither an address nor a CIDR'],
    ['167772161', 'is neither an address nor a CIDR'],
    ['localhost', 'is neither an address nor a CIDR'],
    ['*', 'is neither an address nor a CIDR'],
    ['10.0.0.1;10.0.0.2', 'is neither an address nor a CIDR'],
    ['10.0.0.1 10.0.0.2', 'is neither an address nor a CIDR'],
    ['10.0.0.1,oops', '"oops" is neither an address nor a CIDR'],
  ];
  test.each(refused)('%s stops the start', (value, rule) => {
    const [fault, ...others] = findFaults({ TRUSTED_PROXIES: value });
    expect(others).toEqual([]);
    expect(fault).toStartWith(`TRUSTED_PROXIES: read ${JSON.stringify(value.trim())}; allowed: "none" alone, or`);
    expect(fault).toContain(rule);
  });

  test.each(['none', 'NONE', ' None '])('%s alone trusts no proxy', (value) => {
    const { config, warnings } = configFor({ TRUSTED_PROXIES: value });
    expect([config.trustedProxies, warnings]).toEqual([[], []]);
  });

  test.each(['', ' ', '\t \n'])('blank %j is the default, with a warning', (value) => {
    const { config, warnings } = configFor({ TRUSTED_PROXIES: value });
    expect(config.trustedProxies).toHaveLength(6);
    expect(warnings).toEqual([expect.stringMatching(/^TRUSTED_PROXIES is not set, .*forge.*List your proxies/)]);
  });

  test('each range has one spelling; IPv4-mapped IPv6 becomes IPv4', () => {
    const { config } = configFor({
      TRUSTED_PROXIES: '::ffff:10.0.0.2, ::FFFF:10.0.0.0/104,2001:DB8:0::/32,10.0.0.0/08',
    });
    expect(config.trustedProxies).toEqual(['10.0.0.2/32', '10.0.0.0/8', '2001:db8::/32', '10.0.0.0/8']);
  });

  test.each(['0.0.0.0/0', '10.0.0.1,::/0', '1.2.3.4/00', '::ffff:0.0.0.0/96'])('%s warns', (value) => {
    expect(configFor({ TRUSTED_PROXIES: value }).warnings).toEqual([expect.stringContaining('trusts every address')]);
  });
});

test('serve exits 1 before it opens anything, and names all faults', async () => {
  const { code, out, err } = await runCommand(['serve', '--port', '0', '--data-dir', temporaryFolder()], {
    env: {
      SESSION_COOKIE_SECURE: 'yes',
      SESSION_COOKIE_TRUSTED_URL: 'https://a.example/',
      TRUSTED_PROXIES: 'none,10.0.0.1',
    },
  });
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain('SESSION_COOKIE_SECURE: read "yes"');
  expect(err).toContain('write "https://a.example" without the slash at the end');
  expect(err).toContain('"none" cannot be mixed with addresses');
  expect(err).not.toMatch(/^\s+at /m);
});

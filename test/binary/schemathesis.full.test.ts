import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { type Gateway, setUp, startGateway, startVendor } from '../support/gateway.ts';
import { providePythonPackage } from '../support/python-package.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// It makes tens of thousands of requests, one after the other.
setDefaultTimeout(1_800_000);

const python = await providePythonPackage('schemathesis==4.32.5');
if (typeof python !== 'function') console.warn(`SKIPPED, the requests of schemathesis: ${python.missing}`);

/** Requests for each operation, good and bad. */
const EXAMPLES = '20';

/**
 * schemathesis makes requests of the OpenAPI document, good and bad ones, and holds the answers to
 * it. It exits with 1 where an answer breaks a check.
 */
describe.skipIf(typeof python !== 'function')('requests made of the OpenAPI document', () => {
  let gateway: Gateway;
  let vendor: Awaited<ReturnType<typeof startVendor>>;
  let token: string;
  let key: string;

  beforeAll(async () => {
    [vendor, gateway] = await Promise.all([startVendor(), startGateway({ env: WITHOUT_LIMITS })]);
    const admin = await setUp(gateway);
    await admin.createChannel(vendor.url);
    await admin.call('PUT', '/api/price', {
      ...{ plugin_key: 'demo', model: 'demo-video', expression: '0.02 * u("seconds")' },
    });
    token = admin.token;
    key = await admin.createKey();
  });
  afterAll(() => Promise.all([gateway?.stop(), vendor?.stop()]));

  async function sendRequests(paths: string, secret: string, checks: string): Promise<void> {
    if (typeof python !== 'function') return;
    const options = ['--url', gateway.url, '--header', `Authorization: Bearer ${secret}`, '--checks', checks];
    const limits = [
      '--max-examples',
      EXAMPLES,
      '--request-timeout',
      '30',
      '--seed',
      '1',
      '--phases',
      'examples,fuzzing',
      // How fast it makes requests depends on the machine.
      '--suppress-health-check',
      'too_slow',
    ];
    const scope = ['--include-path-regex', paths, ...KEPT.flatMap((path) => ['--exclude-path-regex', path])];
    const program = join(temporaryFolder(), 'run.py');
    await Bun.write(program, 'from schemathesis.cli import schemathesis; schemathesis()');
    await python([program, 'run', `${gateway.url}/api/openapi.json`, ...options, ...limits, ...scope, '--no-color']);
  }

  test('of the API for clients are answered as it says', async () => {
    const checks = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance';
    await sendRequests('^/v1/', key, checks);
    expect(gateway.log()).not.toContain('"level":50');
  });

  test('of the panel are answered as it says', async () => {
    await sendRequests('^/api/', token, 'not_a_server_error,response_schema_conformance');
    expect(gateway.log()).not.toContain('"level":50');
  });
});

const WITHOUT_LIMITS = { GLOBAL_API_RATE_LIMIT: '1000000', CRITICAL_RATE_LIMIT: '1000000' };

/**
 * They end the session or the account that sends the requests. A provider's answer may have more
 * characters than the listener's 32 KiB of headers hold when each is escaped.
 */
const KEPT = ['logout', 'revoke', '^/api/user/self$', '^/api/user/manage$', '^/api/setup', '^/api/oauth/.provider.$'];

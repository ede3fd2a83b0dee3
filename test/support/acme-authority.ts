import { writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from './find-program.ts';
import { freePort } from './free-port.ts';
import { makeCertificate } from './make-certificate.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

/** A real ACME authority of one test alone, which refuses nonces now and then. */
export type AcmeAuthority = {
  directoryUrl: string;
  /** The certificate to trust when it is called. */
  caFile: string;
  start(): Promise<void>;
  kill(): Promise<void>;
};

/** Not started yet. Throws, saying what to install, when no authority is there. */
export async function createAcmeAuthority(options: {
  /** Where it verifies HTTP-01. */
  httpPort: number;
  validSeconds: number;
}): Promise<AcmeAuthority> {
  const binary = findProgram(['pebble'], [join(homedir(), 'go', 'bin')]);
  if (!binary) {
    throw new Error('this test needs pebble: go install github.com/letsencrypt/pebble/v2/cmd/pebble@latest');
  }
  const folder = temporaryFolder();
  const own = makeCertificate(folder, 'authority');
  const [port, managementPort] = [await freePort(), await freePort()];
  const config = join(folder, 'config.json');
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: own.cert,
    privateKey: own.key,
    httpPort: options.httpPort,
    keyAlgorithm: 'ecdsa',
    retryAfter: { authz: 1, order: 1 },
    profiles: { default: { description: 'default', validityPeriod: options.validSeconds } },
  };
  writeFileSync(config, JSON.stringify({ pebble }));
  let child: Bun.Subprocess | undefined;
  const directoryUrl = `https://localhost:${port}/dir`;
  return {
    directoryUrl,
    caFile: own.cert,
    async start() {
      child = Bun.spawn([binary, '-config', config, '-strict'], {
        env: { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '20' },
        stdout: 'ignore',
        stderr: 'ignore',
      });
      await until('the authority answers', () =>
        fetch(directoryUrl, { tls: { rejectUnauthorized: false } }).then(
          () => true,
          () => false,
        ),
      );
    },
    async kill() {
      child?.kill('SIGKILL');
      await child?.exited;
    },
  };
}

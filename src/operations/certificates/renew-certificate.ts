/** Keeps a certificate of an ACME authority: the first one, and a new one before each ends. */
import { createPrivateKey, KeyObject, X509Certificate } from 'node:crypto';
import { type Clock, jitter, type Logger, type Sentence, sentence } from '../../kernel/index.ts';
import type { CertificateFiles } from './certificate-files.ts';
import type { Certificate } from './watch-certificate.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A certificate of 90 days has a month left then; a shorter one a third of its time. */
const RENEW_BEFORE_MS = 30 * DAY_MS;
/** Let's Encrypt allows five failed verifications an hour for a name. */
const FIRST_RETRY_MS = 300_000;
const MAX_RETRY_MS = 6 * HOUR_MS;
const SELF_SIGNED_DAYS = 7;
/** Machines' clocks differ. */
const BACKDATE_MS = DAY_MS;

type RenewalConfig = {
  names: readonly string[];
  files: CertificateFiles;
  /** Orders a certificate. Rejects in words that people can be shown. */
  order(signal: AbortSignal): Promise<Certificate>;
  clock: Clock;
  logger: Logger;
  /** Serves new connections with this certificate. */
  serve(certificate: Certificate): void;
};

export function renewCertificates({ names, files, order, clock, logger, serve }: RenewalConfig) {
  const stopping = new AbortController();
  let dueMs = 0;
  let failures = 0;
  let fault: Sentence | undefined;
  /** What is served and could not be stored: after a restart it would be ordered again. */
  let unsaved: Certificate | undefined;
  let loop: Promise<void> = Promise.resolve();
  let turn: Promise<void> = Promise.resolve();

  async function renew(): Promise<void> {
    try {
      const certificate = await order(stopping.signal);
      const { validFrom, validTo } = check(certificate, names, clock.nowMs());
      serve(certificate);
      dueMs = renewalDueAt(validFrom, validTo);
      failures = 0;
      fault = undefined;
      logger.info({ names, valid_until: validTo }, 'serving the new TLS certificate');
      unsaved = certificate;
    } catch (error) {
      if (stopping.signal.aborted) return;
      failures += 1;
      fault = sentence('certificate.not_renewed', {
        names: names.join(', '),
        fault: error instanceof Error ? error.message : 'unknown reason',
      });
      logger.error({ names, failures, err: error }, 'the TLS certificate could not be renewed');
    }
  }

  async function save(): Promise<void> {
    if (!unsaved) return;
    try {
      await files.write(unsaved);
      unsaved = undefined;
      failures = 0;
      fault = undefined;
    } catch (error) {
      failures += 1;
      fault = sentence('certificate.not_stored', {
        names: names.join(', '),
        code: error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason',
      });
      logger.error({ names, failures, err: error }, 'the new TLS certificate could not be stored');
    }
  }

  const renewIfDue = (): Promise<void> => {
    turn = turn.then(async () => {
      if (clock.nowMs() >= dueMs) await renew();
      await save();
    });
    return turn;
  };

  return {
    /** The certificate to begin with: the latest, or one that signs itself until there is one. */
    async first(): Promise<Certificate> {
      try {
        const found = await files.read();
        if (found) {
          const { validFrom, validTo } = check(found, names, clock.nowMs());
          dueMs = renewalDueAt(validFrom, validTo);
          return found;
        }
      } catch (error) {
        logger.warn({ names, err: error }, 'the stored TLS certificate cannot be served; a new one is ordered');
      }
      return createSelfSigned(names, { nowMs: clock.nowMs(), days: SELF_SIGNED_DAYS });
    },
    start() {
      loop = (async () => {
        while (!stopping.signal.aborted) {
          await renewIfDue();
          const retryMs = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS);
          await clock.sleep(failures === 0 ? HOUR_MS : jitter(retryMs, 0.2), stopping.signal);
        }
      })();
    },
    /** Tries at once where a new one is due. Never rejects. */
    reload: renewIfDue,
    /** Why there is no new certificate. */
    fault: () => fault,
    async stop() {
      stopping.abort();
      await Promise.all([loop, turn]);
    },
  };
}

function renewalDueAt(validFrom: string, validTo: string): number {
  const endMs = Date.parse(validTo);
  return endMs - Math.min(RENEW_BEFORE_MS, (endMs - Date.parse(validFrom)) / 3);
}

/** @throws when the two cannot be served: in words that show nothing of the key */
function check({ cert, key }: Certificate, names: readonly string[], nowMs: number): X509Certificate {
  const certificate = new X509Certificate(cert);
  if (!certificate.checkPrivateKey(createPrivateKey(key))) throw new Error('the certificate has another key');
  const missing = names.find((name) => certificate.checkHost(name) === undefined);
  if (missing !== undefined) throw new Error(`the certificate is not for ${missing}`);
  if (Date.parse(certificate.validTo) <= nowMs) throw new Error(`the certificate ended on ${certificate.validTo}`);
  return certificate;
}

/** This certificate is served before the first ordered one comes. */
export async function createSelfSigned(
  names: readonly string[],
  { nowMs, days }: { nowMs: number; days: number },
): Promise<Certificate> {
  const { SubjectAlternativeNameExtension, X509CertificateGenerator } = await import('@peculiar/x509');
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=Taskgate\\, self-signed',
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(nowMs - BACKDATE_MS),
    notAfter: new Date(nowMs + days * DAY_MS),
    extensions: [new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value })))],
  });
  const key = KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' });
  return { cert: certificate.toString('pem'), key: key.toString() };
}

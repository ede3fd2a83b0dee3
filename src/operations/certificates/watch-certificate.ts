import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type Clock, type Logger, OperatorError, type Sentence, sentence, sha256Hex } from '../../kernel/index.ts';

/** PEM texts. */
export type Certificate = { cert: string; key: string };

/** A tool that renews a certificate need not tell us. */
const CHECK_EVERY_MS = 30_000;

type WatchConfig = {
  certFile: string;
  keyFile: string;
  clock: Clock;
  logger: Logger;
  /** Serves new connections with this certificate. Throws when the listener cannot. */
  serve(certificate: Certificate): void;
};

/**
 * Reads the certificate again when its files change. A pair that cannot be served leaves the former
 * one in service, and is told.
 */
export function createCertificateWatch({ certFile, keyFile, clock, logger, serve }: WatchConfig) {
  const stopping = new AbortController();
  let served = '';
  /** What the latest look found, so that it is told once. */
  let refused = '';
  let fault: Sentence | undefined;
  let loop: Promise<void> = Promise.resolve();
  let turn: Promise<void> = Promise.resolve();

  const read = async (): Promise<Certificate> => ({
    cert: await readFile(certFile, 'utf8'),
    key: await readFile(keyFile, 'utf8'),
  });

  /** `isRequested`: somebody waits for an answer, so a fault and "nothing new" are told at once. */
  async function check(isRequested: boolean): Promise<void> {
    let digest = 'unreadable';
    try {
      const found = await read();
      digest = digestCertificate(found);
      if (digest === served) {
        fault = undefined;
        refused = '';
        if (isRequested) logger.info({ file: certFile }, 'the TLS certificate has not changed');
        return;
      }
      const certificate = readPair(found, clock.nowMs());
      serve(found);
      served = digest;
      fault = undefined;
      refused = '';
      logger.info({ file: certFile, valid_until: certificate.validTo }, 'serving the new TLS certificate');
    } catch (error) {
      const isNew = refused !== digest;
      refused = digest;
      // The two files are written one after the other: a pair that does not fit may be half new.
      if (isNew && !isRequested) return;
      if (!isNew && !isRequested && fault !== undefined) return;
      fault = sentence('certificate.files_refused', {
        fault: error instanceof Error ? error.message : 'unknown reason',
      });
      logger.error({ file: certFile, err: error }, 'the new TLS certificate cannot be used; the former one is served');
    }
  }

  return {
    /** The certificate to begin with. @throws `OperatorError` when the pair cannot be served */
    async first(): Promise<Certificate> {
      const found = await read();
      try {
        // One that has ended is served: the panel can be opened, and says so.
        readPair(found, 0);
      } catch (error) {
        throw new OperatorError(`TLS_CERT_FILE and TLS_KEY_FILE cannot be served: ${(error as Error).message}`);
      }
      served = digestCertificate(found);
      return found;
    },
    start() {
      loop = (async () => {
        for (;;) {
          await clock.sleep(CHECK_EVERY_MS, stopping.signal);
          if (stopping.signal.aborted) return;
          turn = turn.then(() => check(false));
          await turn;
        }
      })();
    },
    /** Checks now. Never rejects. */
    reload(): Promise<void> {
      turn = turn.then(() => check(true));
      return turn;
    },
    /** Why the files that are there are not served. */
    fault: () => fault,
    async stop() {
      stopping.abort();
      await loop;
    },
  };
}

const digestCertificate = ({ cert, key }: Certificate): string => sha256Hex(`${cert}\0${key}`);

/** @throws when the two cannot be served: in words that show nothing of the key */
function readPair({ cert, key }: Certificate, nowMs: number): X509Certificate {
  const certificate = parse(() => new X509Certificate(cert), 'TLS_CERT_FILE is not a certificate');
  const privateKey = parse(() => createPrivateKey(key), 'TLS_KEY_FILE is not a private key');
  if (!certificate.checkPrivateKey(privateKey)) throw new Error('the key does not belong to the certificate');
  if (Date.parse(certificate.validTo) <= nowMs) throw new Error(`it ended on ${certificate.validTo}`);
  return certificate;
}

function parse<T>(read: () => T, fault: string): T {
  try {
    return read();
  } catch {
    throw new Error(fault);
  }
}

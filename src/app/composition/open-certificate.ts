import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Listening } from '../../http/index.ts';
import { type Sentence, sentence } from '../../kernel/index.ts';
import { type HttpChallenges, listenForHttpChallenges } from '../../operations/certificates/answer-http-challenges.ts';
import { openCertificateFiles } from '../../operations/certificates/certificate-files.ts';
import { orderCertificate } from '../../operations/certificates/order-certificate.ts';
import { renewCertificates } from '../../operations/certificates/renew-certificate.ts';
import { type Certificate, createCertificateWatch } from '../../operations/certificates/watch-certificate.ts';
import { configuredNetwork, createUpstream } from '../../upstream/index.ts';
import type { DomainServices, Foundation } from './types.ts';

/** Where the listeners' certificate comes from. */
export type CertificateSource = WatchedCertificate & {
  /** When the served one ends, in Unix seconds; undefined before the first. */
  end(): number | undefined;
};

type WatchedCertificate = {
  /** The certificate to begin with. @throws when there is none */
  first(): Promise<Certificate>;
  /** From now on a newer one is served when there is one. Call it when the listeners are open. */
  start(): void;
  /** Looks for a newer one now. Never rejects. */
  reload(): Promise<void>;
  /** Why the served certificate is not the one that should be served. */
  fault(): Sentence | undefined;
  stop(): Promise<void>;
};

/** The source that the settings name. Call it only where the gateway serves HTTPS itself. */
export function openCertificate(
  foundation: Foundation,
  services: Pick<DomainServices, 'upstream'>,
  listeners: readonly Listening[],
): CertificateSource {
  const { config, clock, logger } = foundation;
  let end: number | undefined;
  const note = ({ cert }: Certificate): void => {
    end = Math.floor(Date.parse(new X509Certificate(cert).validTo) / 1000);
  };
  const serve = (renewed: Certificate): void => {
    for (const each of listeners) each.renew(renewed);
    note(renewed);
  };
  const source =
    config.acmeDomains.length > 0
      ? openAcme(foundation, services, serve)
      : createCertificateWatch({ certFile: config.tlsCert, keyFile: config.tlsKey, clock, logger, serve });
  return {
    ...source,
    async first() {
      const first = await source.first();
      note(first);
      return first;
    },
    end: () => end,
  };
}

const UNSUPPORTED_CHALLENGE = sentence('certificate.challenge_unsupported');

function openAcme(
  { config, clock, logger, shutdown }: Foundation,
  services: Pick<DomainServices, 'upstream'>,
  serve: (renewed: Certificate) => void,
): WatchedCertificate {
  const { acmeDomains: names, acmeDirectory: directoryUrl, acmeEmail: email } = config;
  const files = openCertificateFiles({ folder: join(config.dataDir, 'acme'), directoryUrl, names });
  const own =
    config.acmeCa === ''
      ? undefined
      : createUpstream({
          ...{ allowPrivate: false, clock, logger, network: configuredNetwork(config) },
          trustedCertificates: [readFileSync(config.acmeCa, 'utf8')],
        });
  if (own) shutdown.add('ACME', () => own.close());
  let http: HttpChallenges | undefined;
  const kept = renewCertificates({
    ...{ names, files, clock, logger, serve },
    async order(signal) {
      if (!http) throw new Error('the listener for challenges is not open yet');
      const deps = { upstream: own ?? services.upstream, clock, answer: http.answer, signal };
      return orderCertificate(deps, { directoryUrl, accountKey: await files.accountKey(), names, email });
    },
  });
  if (config.acmeChallenge === 'tls-alpn-01') {
    logger.warn({ names }, UNSUPPORTED_CHALLENGE.message);
    // Port 80 is not asked for: such a set-up may not have it, and must start.
    return { ...kept, start: () => undefined, reload: async () => undefined, fault: () => UNSUPPORTED_CHALLENGE };
  }
  return {
    ...kept,
    async first() {
      const opened = listenForHttpChallenges({ host: config.host, port: config.acmeHttpPort, names });
      http = opened;
      shutdown.add('listener of ACME', () => opened.stop());
      return kept.first();
    },
  };
}

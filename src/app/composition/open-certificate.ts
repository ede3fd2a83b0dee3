import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Listening } from '../../http/index.ts';
import { createAcmeRequests } from '../../operations/certificates/acme-requests.ts';
import { listenForHttpChallenges } from '../../operations/certificates/answer-http-challenges.ts';
import { createTlsChallenges, type LendPort } from '../../operations/certificates/answer-tls-challenges.ts';
import { openCertificateFiles } from '../../operations/certificates/certificate-files.ts';
import { keepCertificate } from '../../operations/certificates/keep-certificate.ts';
import { orderCertificate } from '../../operations/certificates/order-certificate.ts';
import type { AnswerChallenge } from '../../operations/certificates/types.ts';
import { type Certificate, createCertificateWatch } from '../../operations/certificates/watch-certificate.ts';
import { createUpstream } from '../../upstream/index.ts';
import type { DomainServices, Foundation } from './types.ts';

/** Where the listeners' certificate comes from. */
export type CertificateSource = {
  /** The certificate to begin with. @throws when there is none */
  first(): Promise<Certificate>;
  /** From now on a newer one is served when there is one. Call it when the listeners are open. */
  start(): void;
  /** Looks for a newer one now. Never rejects. */
  reload(): Promise<void>;
  /** In a sentence, why the served one is not what it should be. */
  fault(): string | undefined;
  stop(): Promise<void>;
};

/** The source that the settings name; undefined where the gateway does not serve HTTPS itself. */
export function openCertificate(
  foundation: Foundation,
  services: Pick<DomainServices, 'upstream'>,
  listeners: readonly Listening[],
): CertificateSource | undefined {
  const { config, clock, logger } = foundation;
  const serve = (renewed: Certificate): void => {
    for (const each of listeners) each.renew(renewed);
  };
  if (config.acmeDomains.length > 0) return openAcme(foundation, services, { serve, listeners });
  if (config.tlsCert === '') return undefined;
  return createCertificateWatch({ certFile: config.tlsCert, keyFile: config.tlsKey, clock, logger, serve });
}

function openAcme(
  { config, clock, logger, shutdown }: Foundation,
  services: Pick<DomainServices, 'upstream'>,
  { serve, listeners }: { serve: (renewed: Certificate) => void; listeners: readonly Listening[] },
): CertificateSource {
  const { acmeDomains: names, acmeDirectory: directoryUrl, acmeEmail: email, acmeChallenge: challengeType } = config;
  const files = openCertificateFiles({ folder: join(config.dataDir, 'acme'), directoryUrl, names });
  const own =
    config.acmeCa === ''
      ? undefined
      : createUpstream({
          ...{ allowPrivate: false, clock, logger },
          trustedCertificates: [readFileSync(config.acmeCa, 'utf8')],
        });
  if (own) shutdown.add('ACME', () => own.close());
  let answerHttp: AnswerChallenge | undefined;
  const lend: LendPort = async () => {
    const [listener] = listeners;
    if (!listener) throw new Error('the gateway does not listen yet');
    return listener.lend();
  };
  const answerTls = createTlsChallenges({ lend, clock, logger });
  const kept = keepCertificate({
    ...{ names, files, clock, logger, serve },
    async order(signal) {
      const accountKey = await files.accountKey();
      const requests = createAcmeRequests({ upstream: own ?? services.upstream, directoryUrl, accountKey, signal });
      const answer = answerHttp ?? answerTls;
      return orderCertificate({ requests, challengeType, answer, clock, signal }, { directoryUrl, names, email });
    },
  });
  return {
    ...kept,
    async first() {
      if (challengeType === 'http-01') {
        const http = listenForHttpChallenges({ host: config.host, port: config.acmeHttpPort, names });
        answerHttp = http.answer;
        shutdown.add('listener of ACME', () => http.stop());
      }
      return kept.first();
    },
  };
}

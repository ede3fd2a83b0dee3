import { err, ok } from '../../kernel/index.ts';
import { hostList, integer, oneOf, pemFile, text, urlWithScheme, type ValueKind } from './config-kinds.ts';
import { variable } from './define-variable.ts';

/** Names that an authority can verify: neither addresses nor wildcards. */
const domainList: ValueKind<readonly string[]> = {
  type: 'host list',
  allowed: 'public host names, comma-separated (gate.example.com)',
  parse(value) {
    const names = hostList.parse(value);
    if (!names.ok) return names;
    return names.value.every((name) => /[a-z]/.test(name) && !name.includes(':')) ? names : err('');
  },
};

const mailAddress: ValueKind<string> = {
  ...text('a mail address'),
  parse: (value) => (/^[^\s@,:]+@[^\s@,:]+$/.test(value) ? ok(value) : err('')),
};

/** A certificate from an authority that speaks ACME. */
export const ACME_VARIABLES = {
  acmeDomains: variable({
    env: 'ACME_DOMAIN',
    group: 'server',
    doc: 'Host names for which the gateway orders and renews a TLS certificate by ACME; it then serves HTTPS. Setting it accepts the terms of the authority.',
    kind: domainList,
    default: [],
    defaultText: 'unset: off',
  }),
  acmeEmail: variable({
    env: 'ACME_EMAIL',
    group: 'server',
    doc: 'Mail address of the account at the ACME authority.',
    kind: mailAddress,
    default: '',
    defaultText: 'unset',
  }),
  acmeDirectory: variable({
    env: 'ACME_DIRECTORY_URL',
    group: 'server',
    doc: 'Directory of the ACME authority.',
    kind: urlWithScheme(['https:'], 'an https URL'),
    default: 'https://acme-v02.api.letsencrypt.org/directory',
    defaultText: "Let's Encrypt",
  }),
  acmeCa: variable({
    env: 'ACME_CA_FILE',
    group: 'server',
    doc: 'Certificates (PEM) that are trusted when the ACME authority itself is called, instead of the public ones: for an authority of your own.',
    kind: pemFile,
    default: '',
    defaultText: 'unset',
  }),
  acmeChallenge: variable({
    env: 'ACME_CHALLENGE',
    group: 'server',
    doc: 'How the authority verifies the names: over port 80 (http-01). tls-alpn-01 is no longer supported: the gateway starts with a warning and serves the certificate that it has, which is not renewed.',
    kind: oneOf('http-01', 'tls-alpn-01'),
    default: 'http-01',
  }),
  acmeHttpPort: variable({
    env: 'ACME_HTTP_PORT',
    group: 'server',
    doc: 'Port that answers http-01 and sends browsers to HTTPS. The authority comes to port 80: forward that here, or listen there.',
    kind: integer(1, 65_535),
    default: 80,
  }),
};

import { readFileSync } from 'node:fs';
import { err, ok } from '../../kernel/index.ts';
import { type Network, type ProxyServer, parseDirectHosts, parseProxy } from '../../upstream/index.ts';
import { boolean, pemFile, type ValueKind } from './config-kinds.ts';
import { variable } from './define-variable.ts';

const proxy: ValueKind<ProxyServer | undefined> = {
  type: 'proxy',
  allowed:
    'scheme://host:port with http, https, socks5 or socks5h, and user:password@ before the host, percent-encoded, where the proxy asks for them (http://proxy.corp.lan:3128)',
  parse(value) {
    const parsed = parseProxy(value);
    return parsed.ok ? parsed : err('');
  },
};

const directHosts: ValueKind<Network['isDirect']> = {
  type: 'host list',
  allowed:
    'comma-separated names (each with all names below it), IP addresses and CIDRs, or * for all (corp.lan, 10.0.0.0/8)',
  parse(value) {
    const parsed = parseDirectHosts(value);
    return parsed.ok ? parsed : err(`"${parsed.error}" is none of them`);
  },
};

const authorities: ValueKind<readonly string[]> = {
  ...pemFile,
  parse(path) {
    const checked = pemFile.parse(path);
    return checked.ok ? ok([readFileSync(path, 'utf8')]) : checked;
  },
};

const onlyThisMachine = parseDirectHosts('');

/** How requests leave the machine. */
export const NETWORK_VARIABLES = {
  outboundProxy: variable({
    env: 'OUTBOUND_PROXY',
    group: 'network',
    doc: 'The proxy through which every request leaves: to vendors, webhook receivers, marketplaces, sign-in providers, buckets, collectors of traces, certificate authorities and places of releases. A channel may name another, or none. socks5 gets addresses that are resolved here, socks5h and the others get names. HTTP_PROXY and its like are not read.',
    kind: proxy,
    default: undefined,
    defaultText: 'unset: directly',
    secret: true,
  }),
  outboundNoProxy: variable({
    env: 'OUTBOUND_NO_PROXY',
    group: 'network',
    doc: 'Hosts that are reached without OUTBOUND_PROXY, as they stand in addresses. This machine (localhost, 127.0.0.0/8, ::1) is always among them.',
    kind: directHosts,
    default: onlyThisMachine.ok ? onlyThisMachine.value : () => false,
    defaultText: 'unset: this machine alone',
  }),
  outboundProxyResolves: variable({
    env: 'OUTBOUND_PROXY_RESOLVES',
    group: 'network',
    doc: 'true: a proxy is also asked for names that users and vendors write (webhook receivers, results) and that do not resolve here. Set it only where the proxy itself refuses private addresses. Names that look local stay refused.',
    kind: boolean,
    default: false,
  }),
  outboundAuthorities: variable({
    env: 'OUTBOUND_CA_FILE',
    group: 'network',
    doc: 'Certificates (PEM) of authorities that are trusted besides the well-known ones, by requests and emails: those of a proxy that inspects TLS, or of a private network.',
    kind: authorities,
    default: [],
    defaultText: 'unset',
  }),
  smtpProxy: variable({
    env: 'SMTP_PROXY',
    group: 'network',
    doc: 'The proxy through which emails leave. It must allow the port of the mail server.',
    kind: proxy,
    default: undefined,
    defaultText: 'unset: directly',
    secret: true,
  }),
};

import { readFileSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import ipaddr from 'ipaddr.js';
import { err, ok, type Result, readSecretList, type Sentence, sentence } from '../../kernel/index.ts';
import { readRange } from '../../upstream/check-address.ts';

/** How the text of one variable becomes a value. `parse` fails with a hint, or an empty string. */
export type ValueKind<T> = {
  /** Short name for the tables: `integer`, `boolean`, … */
  type: string;
  /** The allowed values, as the end of the sentence "allowed: …". */
  allowed: string;
  /** The reason in other languages, for a refused value that the panel shows. */
  allowedSentence?: Sentence;
  parse(text: string): Result<T, string>;
};

const refuse = (hint = '') => err(hint);

export function text(allowed = 'any text'): ValueKind<string> {
  return { type: 'text', allowed, parse: (value) => ok(value) };
}

export const boolean: ValueKind<boolean> = {
  type: 'boolean',
  allowed: 'true or false',
  allowedSentence: sentence('wanted.boolean'),
  parse(value) {
    const word = value.toLowerCase();
    return word === 'true' ? ok(true) : word === 'false' ? ok(false) : refuse();
  },
};

export function integer(min: number, max: number): ValueKind<number> {
  const allowedSentence = sentence('config.allowed_whole', { min, max });
  return {
    type: 'integer',
    ...{ allowed: allowedSentence.message, allowedSentence },
    parse(value) {
      if (!/^-?\d{1,15}$/.test(value)) return refuse();
      const number = Number(value);
      return number >= min && number <= max ? ok(number) : refuse();
    },
  };
}

/** `integer`, or 0 to switch off. */
export function integerOrOff(min: number, max: number): ValueKind<number> {
  const on = integer(min, max);
  const allowedSentence = sentence('config.allowed_whole_or_off', { min, max });
  return {
    ...on,
    ...{ allowed: allowedSentence.message, allowedSentence },
    parse: (value) => (value === '0' ? ok(0) : on.parse(value)),
  };
}

export function oneOf<const T extends string>(...values: readonly T[]): ValueKind<T> {
  return {
    type: 'choice',
    allowed: values.join(', '),
    parse(value) {
      const found = values.find((candidate) => candidate.toLowerCase() === value.toLowerCase());
      return found === undefined ? refuse() : ok(found);
    },
  };
}

/** An address to listen on: a name or an IP address, without scheme and port. */
export const host: ValueKind<string> = {
  type: 'host',
  allowed: 'a host name or an IP address, without scheme and port (127.0.0.1, 0.0.0.0, ::)',
  parse(value) {
    const bare = value.replace(/^\[(.*)\]$/, '$1');
    if (ipaddr.isValid(bare)) return ok(bare);
    return /^(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(bare) ? ok(bare) : refuse();
  },
};

/** Names without scheme and port, in lower case. */
export const hostList: ValueKind<readonly string[]> = {
  type: 'host list',
  allowed: 'host names, comma-separated, without scheme and port (gate.example.com, gate.lan)',
  parse(value) {
    const names = value.split(',').map((item) => host.parse(item.trim()));
    return names.every((name) => name.ok) ? ok(names.map((name) => name.value.toLowerCase())) : refuse();
  },
};

/** A URL of one of `schemes`. */
export function urlWithScheme(schemes: readonly string[], what: string): ValueKind<string> {
  return {
    type: 'URL',
    allowed: what,
    parse(value) {
      if (!URL.canParse(value)) return refuse();
      const url = new URL(value);
      return schemes.includes(url.protocol) && url.hostname !== '' ? ok(value) : refuse();
    },
  };
}

/** The address of a PostgreSQL database; `completeAddress` reads the rest of it. */
export const postgresUrl = (what: string): ValueKind<string> => ({
  type: 'URL',
  allowed: what,
  parse: (value) => (URL.canParse(value) && /^postgres(?:ql)?:\/\//.test(value) ? ok(value) : refuse()),
});

/**
 * The address of a Redis server. Its path is the number of a database: the client would read
 * anything else as 0.
 */
export const redisUrl: ValueKind<string> = {
  type: 'URL',
  allowed: 'redis://host:6379 or rediss://user:password@host:6379, and /NUMBER for another database than 0',
  parse(value) {
    if (!URL.canParse(value)) return refuse();
    const { protocol, hostname, pathname, searchParams } = new URL(value);
    if (!['redis:', 'rediss:'].includes(protocol) || hostname === '') return refuse();
    return [pathname.replace('/', ''), searchParams.get('db') ?? ''].every((number) => /^\d{0,9}$/.test(number))
      ? ok(value)
      : refuse('its path is not a number of a database');
  },
};

/** An exact HTTP or HTTPS origin, without path and slash. */
export const origin: ValueKind<string> = {
  type: 'origin',
  allowed: 'an exact origin without path and slash (https://results.example.com, http://localhost:3001)',
  parse: (value) =>
    URL.canParse(value) && /^https?:/.test(value) && new URL(value).origin === value ? ok(value) : refuse(),
};

/** 16 characters rule out a guessable word; generated secrets have 64. */
const SECRET_MIN_LENGTH = 16;

export const secret: ValueKind<string> = {
  type: 'secret',
  allowed: `at least ${SECRET_MIN_LENGTH} characters, better 64 random ones (openssl rand -hex 32)`,
  parse: (value) => (value.length >= SECRET_MIN_LENGTH ? ok(value) : refuse()),
};

const PASSPHRASE_MIN_LENGTH = 12;

/** What people can write down. It is stretched, so it may be shorter than a secret. */
export const passphrase: ValueKind<string> = {
  type: 'secret',
  allowed: `at least ${PASSPHRASE_MIN_LENGTH} characters`,
  parse: (value) => (value.length >= PASSPHRASE_MIN_LENGTH ? ok(value) : refuse()),
};

/** Former secrets: a comma-separated list, the newest first. */
export const secretList: ValueKind<readonly string[]> = {
  type: 'secret list',
  allowed: `a comma-separated list of former secrets of at least ${SECRET_MIN_LENGTH} characters each, a comma within one as %2C`,
  parse(value) {
    const items = readSecretList(value);
    if (items.some((item) => item === '')) return refuse('an entry is empty');
    // What verifies a token must be as hard to guess as what signs one.
    return items.every((item) => item.length >= SECRET_MIN_LENGTH) ? ok(items) : refuse('an entry is too short');
  },
};

/** The path of a PEM file. */
export const pemFile: ValueKind<string> = {
  type: 'file',
  allowed: 'the path of a readable PEM file',
  parse(path) {
    try {
      return readFileSync(path, 'utf8').includes('-----BEGIN ') ? ok(path) : refuse('the file is not a PEM file');
    } catch (cause) {
      return refuse(`the file cannot be read: ${(cause as NodeJS.ErrnoException).code ?? 'unknown reason'}`);
    }
  },
};

/** The path of a file that need not exist. */
export const absolutePath: ValueKind<string> = {
  type: 'path',
  allowed: 'an absolute path',
  parse: (path) => (isAbsolute(path) ? ok(path) : refuse()),
};

/** A folder that need not exist. What a shell would change, files of variables hand on as it is. */
export const dataFolder: ValueKind<string> = {
  type: 'path',
  allowed: 'the path of a folder',
  parse(path) {
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) return refuse('it is an address');
    if (!/^(?:["']|~(?:\/|$))/.test(path)) return ok(path);
    return refuse('write it in full and without quotes; a folder whose name begins so has "./" before it');
  },
};

/** The absolute path of a folder. */
export const folder: ValueKind<string> = {
  type: 'folder',
  allowed: 'the absolute path of a folder',
  parse(path) {
    if (!isAbsolute(path)) return refuse();
    try {
      return statSync(path).isDirectory() ? ok(path) : refuse('it is not a folder');
    } catch (cause) {
      return refuse(`the folder cannot be read: ${(cause as NodeJS.ErrnoException).code ?? 'unknown reason'}`);
    }
  },
};

/** Scheme, host and port, without what a URL parser tolerates: escapes, blanks, an empty port. */
const PLAIN_ORIGIN = /^https:\/\/(?:\[[0-9a-f:.]+\]|[^\s/?#\\@%:[\]]+)(?::\d+)?$/i;

/** Exact HTTPS origins: wildcards, domain suffixes, paths, queries and user info are refused. */
export const httpsOrigins: ValueKind<readonly string[]> = {
  type: 'origin list',
  allowed: 'exact HTTPS origins, comma-separated (https://panel.example.com, https://panel.example.com:8443)',
  parse(value) {
    const origins: string[] = [];
    for (const item of value.split(',').map((part) => part.trim())) {
      if (item === '') return refuse('an entry is empty');
      if (item.includes('*')) return refuse(`wildcards are not accepted: "${item}"`);
      if (!URL.canParse(item)) return refuse(`"${item}" is not an origin`);
      const url = new URL(item);
      if (url.protocol !== 'https:') return refuse(`"${item}" is not https`);
      if (/^https:\/\/[^/?#]*@/i.test(item)) return refuse('user info is not accepted');
      if (url.hostname.startsWith('.')) return refuse(`"${item}" is a domain suffix: write out each host`);
      if (item === `${url.origin}/`) return refuse(`write "${url.origin}" without the slash at the end`);
      if (url.pathname !== '/' || /[/?#\\]/.test(item.slice('https://'.length)))
        return refuse(`"${item}" has more than scheme, host and port`);
      if (!PLAIN_ORIGIN.test(item)) return refuse(`write "${url.origin}"`);
      origins.push(url.origin);
    }
    return ok([...new Set(origins)]);
  },
};

/** Loopback and the common private ranges. A public proxy is trusted only if it is listed. */
export const DEFAULT_TRUSTED_PROXIES: readonly string[] = [
  '127.0.0.0/8',
  '::1/128',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  'fc00::/7',
];

const LOOPBACK: readonly string[] = ['127.0.0.0/8', '::1/128'];

/**
 * The proxies to believe for rate limits and allow-lists: the listed ones, or loopback alone while
 * the variable is unset. Identity with the default array is what tells that it is unset.
 */
export const decidingProxies = (trusted: readonly string[]): readonly string[] =>
  trusted === DEFAULT_TRUSTED_PROXIES ? LOOPBACK : trusted;

/** Canonical CIDRs; the empty list (`none`) trusts no proxy. */
export const proxyList: ValueKind<readonly string[]> = {
  type: 'address list',
  allowed: '"none" alone, or comma-separated IP addresses and CIDRs (10.0.0.0/8, 192.168.1.7)',
  parse(value) {
    const items = value
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
    if (items.length === 0) return refuse('the list is empty');
    const none = items.some((item) => item.toLowerCase() === 'none');
    if (none) return items.length === 1 ? ok([]) : refuse('"none" cannot be mixed with addresses');
    const cidrs: string[] = [];
    for (const item of items) {
      const cidr = readRange(item);
      if (cidr === undefined) return refuse(`"${item}" is neither an address nor a CIDR`);
      cidrs.push(cidr);
    }
    return ok(cidrs);
  },
};

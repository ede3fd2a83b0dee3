import { accessSync, constants } from 'node:fs';
import { err, ok, type Result } from '../../kernel/index.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A parameter of an address, and libpq's variable for it. What PostgreSQL's own programs read from
 * the address is here, and what they would read from the environment instead.
 */
const PARAMETERS = {
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  channel_binding: 'PGCHANNELBINDING',
  options: 'PGOPTIONS',
  application_name: 'PGAPPNAME',
  connect_timeout: 'PGCONNECT_TIMEOUT',
} as const;
type Parameter = keyof typeof PARAMETERS;

const NAMES = Object.keys(PARAMETERS) as Parameter[];
const MOST_SECONDS = 3600;
const FILES: readonly Parameter[] = ['sslrootcert', 'sslcert', 'sslkey'];
const ALLOWED: Partial<Record<Parameter, readonly string[]>> = {
  sslmode: ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'],
  channel_binding: ['disable', 'prefer', 'require'],
};

type Target = { host: string; port: string; user: string; password: string; database: string };

/**
 * The target that an address names; what it leaves out is empty. libpq takes each as a parameter,
 * too.
 */
function readTarget(url: URL): Target {
  const { searchParams: query } = url;
  return {
    host: query.get('host') || decodeURIComponent(url.hostname.replace(/^\[|\]$/g, '')),
    port: query.get('port') || url.port,
    user: query.get('user') || decodeURIComponent(url.username),
    password: query.get('password') || decodeURIComponent(url.password),
    database: query.get('dbname') || decodeURIComponent(url.pathname.slice(1)),
  };
}

/**
 * The address with what it leaves out, from libpq's variables and then from libpq's defaults. Every
 * connection and every program of PostgreSQL gets this whole address, so that the environment never
 * wins over the address, and all reach the same database. The error says what is wrong, without
 * values.
 */
export function completeAddress(address: string, environment: Environment): Result<string, string> {
  const url = new URL(address);
  let given: Target;
  try {
    given = readTarget(url);
  } catch {
    return err('a % in it begins no escape: write it as %25');
  }
  const filled = (value: string, name: string, otherwise: string) => value || environment[name]?.trim() || otherwise;
  const host = filled(given.host, 'PGHOST', '');
  const port = filled(given.port, 'PGPORT', '5432');
  const user = filled(given.user, 'PGUSER', environment.USER || 'postgres');
  const password = given.password || environment.PGPASSWORD || '';
  const database = filled(given.database, 'PGDATABASE', user);
  if (host === '') return err('it names no host, and PGHOST is not set');
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) return err('its port is not 1 to 65535');
  if (host.includes(',')) return err('it lists several hosts: name one, such as an address that follows the primary');

  // A socket is not a host of a URL.
  const isSocket = host.startsWith('/');
  const inUrl = isSocket ? 'localhost' : host.includes(':') ? `[${host}]` : encodeURIComponent(host);
  const login = `${encodeURIComponent(user)}${password === '' ? '' : `:${encodeURIComponent(password)}`}`;
  const whole = new URL(`postgres://${login}@${inUrl}:${port}/${encodeURIComponent(database)}`);
  for (const [name, value] of url.searchParams) {
    if (!['host', 'port', 'user', 'password', 'dbname'].includes(name)) whole.searchParams.set(name, value);
  }
  if (isSocket) whole.searchParams.set('host', host);
  for (const name of NAMES) {
    const value = whole.searchParams.get(name) || environment[PARAMETERS[name]]?.trim() || '';
    const fault = value === '' ? undefined : findFault(name, value);
    if (fault !== undefined) return err(fault);
    if (value !== '') whole.searchParams.set(name, value);
  }
  return ok(whole.href);
}

function findFault(name: Parameter, value: string): string | undefined {
  const allowed = ALLOWED[name];
  if (name === 'sslmode' && value === 'no-verify') {
    return 'sslmode=no-verify is not known to PostgreSQL: require encrypts without checking the certificate, verify-full checks it';
  }
  if (allowed && !allowed.includes(value)) return `its ${name} is none of ${allowed.join(', ')}`;
  if (name === 'connect_timeout' && !(/^\d{1,4}$/.test(value) && Number(value) <= MOST_SECONDS))
    return `its connect_timeout is not 0 to ${MOST_SECONDS} seconds`;
  if (!FILES.includes(name) || (name === 'sslrootcert' && value === 'system')) return undefined;
  try {
    accessSync(value, constants.R_OK);
    return undefined;
  } catch (cause) {
    return `the file of its ${name} cannot be read: ${(cause as NodeJS.ErrnoException).code ?? 'unknown reason'}`;
  }
}

/**
 * The database, for Bun's client beside the address: there PGDATABASE wins over an address alone.
 * Undefined where the address names none.
 */
export const readDatabaseName = (address: string): string | undefined =>
  readTarget(new URL(address)).database || undefined;

/** Seconds that the server may take to let a connection in; undefined: the address names none. */
export function readConnectTimeout(address: string): number | undefined {
  const value = new URL(address).searchParams.get('connect_timeout');
  // For libpq 0 is no limit.
  return value === null ? undefined : Number(value) || MOST_SECONDS;
}

/** The name that connections of a whole address bear. */
export const applicationName = (address: string): string =>
  new URL(address).searchParams.get('application_name') || 'taskgate';

/**
 * The variables of libpq for a whole address: the environment of a program of PostgreSQL, which
 * keeps its own name at the server.
 */
export function libpqVariables(address: string): Record<string, string> {
  const url = new URL(address);
  const { host, port, user, password, database } = readTarget(url);
  const given: Record<string, string> = {
    ...{ PGHOST: host, PGPORT: port, PGUSER: user, PGPASSWORD: password, PGDATABASE: database },
    ...Object.fromEntries(NAMES.map((name) => [PARAMETERS[name], url.searchParams.get(name) ?? ''])),
    PGAPPNAME: '',
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
}

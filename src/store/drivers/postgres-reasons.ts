/**
 * What PostgreSQL, a pooler before it or TLS says about a connection, as a sentence that says what
 * to do.
 */

/** The fields of an error of the driver; absent ones are empty. */
export type PostgresFault = {
  /** The code that the driver or TLS gives. */
  code: string;
  sqlState: string;
  message: string;
  /** The function of the server that refused: unlike the message, in no language. */
  routine: string;
};

/**
 * Why the handshake of TLS failed; other errors of the process have these codes too, so only those
 * of a connection come here.
 */
const TLS: readonly (readonly [code: RegExp, sentence: string])[] = [
  [
    /^ERR_POSTGRES_TLS_NOT_AVAILABLE$/,
    'PostgreSQL does not speak TLS, which sslmode in DATABASE_URL asks for. Switch ssl on at the server, or write sslmode=prefer or disable.',
  ],
  [
    /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(?:_LOCALLY)?))$/,
    'The certificate of PostgreSQL is from no authority that is known here, or signs itself. Name the file of its authority as sslrootcert in DATABASE_URL.',
  ],
  [
    /^CERT_HAS_EXPIRED$/,
    'The certificate of PostgreSQL has expired. Renew it at the server, and check the clock of this machine.',
  ],
  [/^CERT_NOT_YET_VALID$/, 'The certificate of PostgreSQL is not valid yet. Check the clock of this machine.'],
  [
    /^(?:ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/,
    'The certificate of PostgreSQL is for another host name than DATABASE_URL has. Write a name of the certificate there, or sslmode=verify-ca.',
  ],
  [
    /^(?:ERR_POSTGRES_TLS_|ERR_SSL_|ERR_TLS_|CERT_|UNABLE_TO_(?:GET|DECRYPT|DECODE)_|INVALID_CA$|PATH_LENGTH_EXCEEDED$)/,
    'The TLS handshake with PostgreSQL failed. Check sslmode, sslrootcert, sslcert and sslkey in DATABASE_URL.',
  ],
];

export const isTlsFault = (code: string): boolean => TLS.some(([pattern]) => pattern.test(code));

/**
 * What the server says of a connection, by SQLSTATE; undefined: nothing better than the general
 * sentence.
 */
export function describePostgres(fault: PostgresFault): string | undefined {
  const { code, sqlState, message, routine } = fault;
  const tls = TLS.find(([pattern]) => pattern.test(code))?.[1];
  if (tls !== undefined) return tls;
  if (sqlState === '') {
    return 'PostgreSQL cannot be reached. Check that it is running and that DATABASE_URL names its host and port.';
  }
  switch (sqlState) {
    case '08P01':
      return describePooler(message);
    // A statement that was prepared in another session, or twice in one.
    case '26000':
    case '42P05':
      return POOLED_ADDRESS;
    case '28P01':
      return 'PostgreSQL rejected the sign-in. Check the user and the password in DATABASE_URL.';
    case '28000':
      return describeRefusal(fault);
    case '3D000':
      return 'PostgreSQL has no database with the name in DATABASE_URL. Create it first.';
    case '3F000':
      return 'The search_path of the user in DATABASE_URL contains no schema. Create the schema, or correct search_path.';
    case '25006':
      return 'PostgreSQL is read-only. DATABASE_URL must name the primary server.';
    case '42501':
      return `PostgreSQL denies the user in DATABASE_URL a right${quoted(/^permission denied (?:for|to) .*$|^must be owner of .*$/, message)}. Grant it: the user must connect to the database, and own the gateway's tables and create more in their schema.`;
    case '42704':
      return `DATABASE_URL has a parameter that PostgreSQL does not know${quoted(/"[^"]+"$/, message)}. Remove it; a schema is named by options=-csearch_path=NAME.`;
    case '53100':
      return "PostgreSQL's disk is full. Free some space; the gateway resumes automatically.";
    case '53300':
      return routine === 'InitProcess' || routine === ''
        ? 'PostgreSQL has no connections left. Raise max_connections or run fewer nodes.'
        : 'PostgreSQL has no connections left for this user or database. Raise their connection limits, or max_connections.';
    case '53200':
      return "PostgreSQL's memory is used up. Give the server more, or lower its settings of memory.";
    case '55000':
      return routine === 'CheckMyDatabase'
        ? 'The database in DATABASE_URL accepts no connections. Allow them: alter database NAME allow_connections true.'
        : undefined;
    case '57P01':
    case '57P02':
    case '57P03':
      return 'PostgreSQL is starting, stopping or recovering. Try again once it accepts connections.';
    case '57014':
      return 'PostgreSQL took too long over a statement and gave it up. Look for long locks and load at the server.';
    default:
      return /^(?:28|53|54|55|57|58|XX|F0)/.test(sqlState)
        ? `PostgreSQL has a fault of its own (SQLSTATE ${sqlState}). Its log says more.`
        : undefined;
  }
}

/** Whether a statement was refused for what it says: a fault of this program, or of its data. */
export function isStatementFault({ sqlState, message }: PostgresFault): boolean {
  if (sqlState === '42501' || sqlState === '42P05') return false;
  if (sqlState === '42704') return !message.includes('configuration parameter');
  return /^(22|23|25P02|42)/.test(sqlState);
}

/** The server says these before it knows the language of the client, so it says them in its own. */
function describeRefusal({ message, routine }: PostgresFault): string {
  if (routine.startsWith('InitializeSessionUserId')) {
    return 'PostgreSQL rejected the sign-in: it has no user with the name in DATABASE_URL who may sign in. Create it: create role NAME login password …';
  }
  const isPlain = /no encryption|SSL off/.test(message);
  if (isPlain) {
    return 'PostgreSQL rejected the sign-in: its pg_hba.conf does not let this user in from this address without TLS. Write sslmode=require in DATABASE_URL, or add a line to pg_hba.conf.';
  }
  if (/client certificate/.test(message)) {
    return 'PostgreSQL rejected the sign-in: it wants a certificate of the client. Name its files as sslcert and sslkey in DATABASE_URL.';
  }
  return routine === 'ClientAuthentication'
    ? 'PostgreSQL rejected the sign-in: its pg_hba.conf does not let this user into this database from this address. Add a line there, or sslmode=require to DATABASE_URL if it asks for TLS.'
    : 'PostgreSQL rejected the sign-in. Check the user and the password in DATABASE_URL.';
}

/** PgBouncer has one code for all. */
function describePooler(message: string): string {
  if (/startup parameter/.test(message)) return POOLED_ADDRESS;
  if (/no more connections|max_client_conn|max_db_client|max_user_client/.test(message)) {
    return 'The pooler before PostgreSQL has no connections left. Raise its max_client_conn or run fewer nodes.';
  }
  if (/query_wait_timeout|server_login_retry|server login|connect failed|no working server/.test(message)) {
    return 'The pooler before PostgreSQL gets no connection to the server. Check that the server runs, and the size of the pool.';
  }
  return `PostgreSQL or a pooler before it refused the connection${quoted(/^.+$/, message)}.`;
}

export const POOLED_ADDRESS =
  'DATABASE_URL points to a pooler (PgBouncer), where notifications and locks of a session get lost. Name the PostgreSQL server itself there, and the pooler in DATABASE_POOL_URL.';

/**
 * The server's own words in brackets, where they are short and harmless; names of tables are not
 * data.
 */
function quoted(pattern: RegExp, message: string): string {
  const found = message.length <= 200 ? pattern.exec(message)?.[0] : undefined;
  return found !== undefined && /^[\w .,:;()"/-]+$/.test(found) ? ` (${found})` : '';
}

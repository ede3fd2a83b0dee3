/** Reads `RESULTS_URL` and `BACKUP_TO`: a folder, or a bucket and its parameters. */
import { isAbsolute } from 'node:path';
import { err, ok, type Result } from '../../kernel/index.ts';
import type { StorageLocation } from '../../operations/storage/result-files.ts';
import { folder, type ValueKind } from './config-kinds.ts';

const FORM = 's3://BUCKET[/PREFIX]?endpoint=https://…&region=…&path_style=true|false&sse=AES256|aws:kms';
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*$/;
const MAX_PREFIX = 512;
const REGION = /^[A-Za-z0-9-]{1,64}$/;
const PARAMETERS = ['endpoint', 'region', 'path_style', 'sse'];
/** The region that servers of one's own use, and the oldest of AWS. */
const DEFAULT_REGION = 'us-east-1';

/** A folder, or a bucket. Hints name the faulty part and never its value. */
export const resultsLocation: ValueKind<StorageLocation> = {
  type: 'location',
  allowed: `the absolute path of a folder, or ${FORM}`,
  parse(value) {
    if (/^s3:/i.test(value)) return readBucket(value, 'RESULTS');
    if (!isAbsolute(value)) return err('it is neither');
    const found = folder.parse(value);
    return found.ok ? ok({ kind: 'folder', path: found.value }) : found;
  },
};

/**
 * Does the same for backups. A folder may be absent: a disk that is not there must stop no start.
 */
export const backupLocation: ValueKind<StorageLocation> = {
  ...resultsLocation,
  parse(value) {
    if (/^s3:/i.test(value)) return readBucket(value, 'BACKUP');
    return isAbsolute(value) ? ok({ kind: 'folder', path: value }) : err('it is neither');
  },
};

/** `variables`: how the names of the variables for its credentials begin. */
function readBucket(value: string, variables: 'RESULTS' | 'BACKUP'): Result<StorageLocation, string> {
  const [location = '', search = ''] = splitAt(value.slice('s3:'.length), '?');
  const [bucket = '', path = ''] = splitAt(location.startsWith('//') ? location.slice(2) : '', '/');
  if (bucket.includes('@')) {
    return err(`credentials belong into ${variables}_S3_ACCESS_KEY_ID and ${variables}_S3_SECRET_ACCESS_KEY`);
  }
  if (!BUCKET.test(bucket) || bucket.includes('..')) {
    return err('BUCKET has 3 to 63 lower-case letters, digits, dots and hyphens');
  }
  const prefix = path.endsWith('/') ? path.slice(0, -1) : path;
  if (prefix !== '' && (!PREFIX.test(prefix) || prefix.length > MAX_PREFIX || prefix.split('/').some(isDots))) {
    return err('PREFIX has letters, digits and ._- between single slashes, 512 at most');
  }
  const query = new URLSearchParams(search);
  const names = [...query.keys()];
  if (names.some((name) => !PARAMETERS.includes(name))) return err(`parameters are ${PARAMETERS.join(', ')}`);
  if (new Set(names).size < names.length) return err('a parameter is there twice');
  return readParameters({ bucket, prefix }, query);
}

/** The text before and after the first `separator`. */
function splitAt(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

const isDots = (segment: string): boolean => segment === '.' || segment === '..';

function readParameters(
  { bucket, prefix }: { bucket: string; prefix: string },
  query: URLSearchParams,
): Result<StorageLocation, string> {
  const region = query.get('region') ?? DEFAULT_REGION;
  if (!REGION.test(region)) return err('region has letters, digits and hyphens');
  const own = query.get('endpoint');
  if (own !== null && !isOrigin(own)) {
    return err('endpoint is https://HOST[:PORT] or http://HOST[:PORT], nothing more');
  }
  const style = query.get('path_style') ?? String(own !== null || bucket.includes('.'));
  if (style !== 'true' && style !== 'false') return err('path_style is true or false');
  const sse = query.get('sse') ?? '';
  if (sse !== '' && sse !== 'AES256' && sse !== 'aws:kms') return err('sse is AES256 or aws:kms');
  const endpoint = new URL(own ?? `https://s3.${region}.amazonaws.com`).origin;
  const pathStyle = style === 'true';
  if (!pathStyle && /^https?:\/\/(?:\[|[\d.]+(?::\d+)?$)/.test(endpoint)) {
    return err('path_style is true where the endpoint is an IP address');
  }
  return ok({ kind: 's3', bucket, prefix, endpoint, region, pathStyle, sse });
}

function isOrigin(text: string): boolean {
  if (!/^https?:\/\/[^/?#@\\\s]+\/?$/i.test(text) || !URL.canParse(text)) return false;
  return new URL(text).hostname !== '';
}

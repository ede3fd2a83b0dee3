import {
  describeBytes,
  type JsonBound,
  type JsonBounds,
  MAX_JSON_DEPTH,
  MAX_JSON_NAME_BYTES,
  MAX_JSON_NUMBER_BYTES,
  sentence,
} from '../../kernel/index.ts';
import { httpErrors } from '../responses/errors.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Limits of one kind of body. `maxBytes` counts the JSON without its files. `maxWireBytes` is set
 * where the JSON may contain files as Base64, and counts the JSON as sent.
 */
export type BodyLimit = JsonBounds & { maxWireBytes?: number };

const json = (maxBytes: number): BodyLimit => ({ maxBytes, maxValues: 20_000, maxDepth: 64 });
const withFiles = <Limit extends JsonBounds>(limit: Limit): Limit & BodyLimit => ({ ...limit, maxWireBytes: 16 * MIB });

/** A route that needs more than `usual` declares `bodyLimit`. */
export const BODY_LIMITS = {
  usual: json(64 * KIB),
  /** A preview of 64 KiB in Base64. */
  preview: json(96 * KIB),
  /** Prices and lists of models, which administrators edit as a whole. */
  configuration: json(256 * KIB),
  /** Options: two legal texts of 100,000 characters each; Chinese takes three bytes a character. */
  options: json(MIB),
  /** Arguments of a hook. */
  arguments: json(MIB),
  /** A panel body that contains a request for a plugin. */
  request: withFiles(json(MIB)),
  /**
   * The source of a plugin, at most 1 MiB, and an icon of 512 KiB in Base64. JSON may escape every
   * second byte of the source and more.
   */
  source: json(4 * MIB),
  /** A client's request to a plugin: JSON or a form. */
  submission: withFiles(json(MIB)),
  /** The requests of a batch, each of which is one of `submission`. */
  batch: { maxBytes: 8 * MIB, maxValues: 400_000, maxDepth: 64 },
  /**
   * A client's request that the relay may forward; it forwards whole conversations. Parsing the
   * worst case takes about 35 ms, and so does reading all names.
   */
  relay: withFiles({ maxBytes: 4 * MIB, maxValues: 50_000, maxDepth: MAX_JSON_DEPTH, maxNames: 20_000 }),
} as const satisfies Record<string, BodyLimit>;

export type BodyLimitName = keyof typeof BODY_LIMITS;

export const readBodyLimit = (name: unknown): BodyLimitName | undefined =>
  typeof name === 'string' && Object.hasOwn(BODY_LIMITS, name) ? (name as BodyLimitName) : undefined;

/** A multipart body may be this many times as large as the largest allowed file. */
const MAX_FILES_TOTAL = 4;
/** Text fields and the framing around the parts may take this much. */
const MULTIPART_OVERHEAD = MIB;

export const multipartBytes = (maxFileBytes: number): number => MAX_FILES_TOTAL * maxFileBytes + MULTIPART_OVERHEAD;

/** Checks `Content-Length` before anything else is done for the request. @throws http.too_large */
export function assertDeclaredSize({ headers }: Request, name: BodyLimitName, maxFileBytes: number): void {
  const limit: BodyLimit = BODY_LIMITS[name];
  const takesForms = name === 'submission' || name === 'relay';
  const isMultipart = /^\s*multipart\//i.test(headers.get('content-type') ?? '');
  const cap = takesForms && isMultipart ? multipartBytes(maxFileBytes) : (limit.maxWireBytes ?? limit.maxBytes);
  if (Number(headers.get('content-length') ?? '0') > cap) throw tooLarge(cap);
}

export const tooLarge = (cap: number) =>
  httpErrors.too_large({
    message: sentence('http.body_size', { size: describeBytes(cap) }),
    details: { limit_bytes: cap },
  });

/** The error for JSON that exceeds `bound` of `limit`. */
export function beyondLimit(bound: JsonBound, limit: BodyLimit) {
  const { maxBytes, maxValues, maxDepth, maxNames = maxValues, maxWireBytes } = limit;
  switch (bound) {
    case 'maxValues':
      return httpErrors.too_large({
        message: sentence('http.body_values', { max: maxValues.toLocaleString('en') }),
        details: { limit_values: maxValues },
      });
    case 'maxNames':
      return httpErrors.too_large({
        message: sentence('http.body_members', { max: maxNames.toLocaleString('en') }),
        details: { limit_members: maxNames },
      });
    case 'maxNameBytes':
      return httpErrors.too_large({
        message: sentence('http.body_names', { max: describeBytes(MAX_JSON_NAME_BYTES) }),
        details: { limit_bytes: MAX_JSON_NAME_BYTES },
      });
    case 'maxNumberBytes':
      return httpErrors.bad_json({
        message: sentence('http.body_number', { max: MAX_JSON_NUMBER_BYTES.toLocaleString('en') }),
        details: { limit_digits: MAX_JSON_NUMBER_BYTES },
      });
    case 'maxDepth':
      return httpErrors.bad_json({
        message: sentence('http.body_depth', { max: maxDepth }),
        details: { limit_levels: maxDepth },
      });
    default:
      if (maxWireBytes === undefined) return tooLarge(maxBytes);
      return httpErrors.too_large({
        message: sentence('http.json_size', { size: describeBytes(maxBytes) }),
        details: { limit_bytes: maxBytes },
      });
  }
}

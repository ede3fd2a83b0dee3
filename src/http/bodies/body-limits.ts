import { type JsonBounds, MAX_JSON_DEPTH } from '../../kernel/index.ts';
import { httpErrors } from '../errors.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Bounds of one kind of body. `maxBytes` counts what is left after files have been taken out.
 * `maxWireBytes` is there where files may stand in the JSON as Base64, and counts the JSON as it is
 * sent.
 */
export type BodyLimit = JsonBounds & { maxWireBytes?: number };

const json = (maxBytes: number): BodyLimit => ({ maxBytes, maxValues: 20_000, maxDepth: 64 });
const withFiles = (limit: BodyLimit): BodyLimit => ({ ...limit, maxWireBytes: 16 * MIB });

/** A route that needs more than `usual` says so by `bodyLimit`. */
export const BODY_LIMITS = {
  usual: json(64 * KIB),
  /** What administrators edit as a whole: prices, lists of models. */
  configuration: json(256 * KIB),
  /** Options: two legal texts of 100,000 characters each, of three bytes each in Chinese. */
  options: json(MIB),
  /** Arguments of a hook. */
  arguments: json(MIB),
  /** A request for a plugin within a panel body. */
  request: withFiles(json(MIB)),
  /**
   * A module of 1 MiB, of which JSON may escape every second byte and more, and an icon of 512 KiB
   * in Base64.
   */
  source: json(4 * MIB),
  /** A client's request to a plugin: JSON or a form. */
  submission: withFiles(json(MIB)),
  /**
   * The same where the relay may take it, which passes on whole conversations. Parsing the
   * worst of them takes some 35 ms.
   */
  relay: withFiles({ maxBytes: 4 * MIB, maxValues: 50_000, maxDepth: MAX_JSON_DEPTH }),
} as const satisfies Record<string, BodyLimit>;

export type BodyLimitName = keyof typeof BODY_LIMITS;

export const readBodyLimit = (name: unknown): BodyLimitName | undefined =>
  typeof name === 'string' && Object.hasOwn(BODY_LIMITS, name) ? (name as BodyLimitName) : undefined;

/** A multipart body may be so many times as large as its largest file. */
const MAX_FILES_TOTAL = 4;
/** Room for the framing around the files, and as much again as the fields may have. */
const MULTIPART_OVERHEAD = MIB;

export const multipartBytes = (maxFileBytes: number): number => MAX_FILES_TOTAL * maxFileBytes + MULTIPART_OVERHEAD;

/**
 * Refuses by `Content-Length`, before anything else is done for the request. @throws http.too_large
 */
export function assertDeclaredSize({ headers }: Request, name: BodyLimitName, maxFileBytes: number): void {
  const limit: BodyLimit = BODY_LIMITS[name];
  const takesForms = name === 'submission' || name === 'relay';
  const isMultipart = /^\s*multipart\//i.test(headers.get('content-type') ?? '');
  const cap = takesForms && isMultipart ? multipartBytes(maxFileBytes) : (limit.maxWireBytes ?? limit.maxBytes);
  if (Number(headers.get('content-length') ?? '0') > cap) throw tooLarge(cap);
}

export const tooLarge = (cap: number) =>
  httpErrors.too_large({
    message: `The body is too large: at most ${formatBytes(cap)} are taken here.`,
    details: { limit_bytes: cap },
  });

/** The refusal of JSON that passes a bound of `limit`. */
export function beyondLimit(bound: keyof JsonBounds, { maxBytes, maxValues, maxDepth, maxWireBytes }: BodyLimit) {
  switch (bound) {
    case 'maxValues':
      return httpErrors.too_large({
        message: `The body has too many values: at most ${maxValues.toLocaleString('en')} are taken here.`,
        details: { limit_values: maxValues },
      });
    case 'maxDepth':
      return httpErrors.bad_json({
        message: `The body nests too deep: at most ${maxDepth} levels are taken here.`,
        details: { limit_levels: maxDepth },
      });
    default:
      if (maxWireBytes === undefined) return tooLarge(maxBytes);
      return httpErrors.too_large({
        message: `The body is too large: without the files in it, which are texts of at least 64 KiB of Base64, at most ${formatBytes(maxBytes)} of JSON are taken here.`,
        details: { limit_bytes: maxBytes },
      });
  }
}

export function formatBytes(bytes: number): string {
  const mib = bytes / MIB;
  return mib >= 1 ? `${Math.round(mib * 10) / 10} MiB` : `${Math.round(bytes / KIB)} KiB`;
}

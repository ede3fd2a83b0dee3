import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Clock,
  err,
  type Logger,
  ok,
  type Result,
  type Sentence,
  sentence,
  trimTrailing,
} from '../../kernel/index.ts';
import { canonicalHost, type Upstream, type UpstreamFailure } from '../../upstream/index.ts';
import { type Changelog, MAX_CHANGELOG_BYTES, readChangelog } from '../market-index/read-changelog.ts';
import type {
  MarketFile,
  MarketPlugin,
  MarketSource,
  MarketVersion,
  ReadFault,
  ReadMarketFile,
} from '../market-index/types.ts';
import { MAX_HAND_OVER_BYTES } from '../signing/rotate-signing-key.ts';
import { MAX_SIGNATURE_BYTES } from '../signing/signature.ts';

/** Limits in bytes: of an index as in new-api, of sources and icons as for uploads. */
export const MARKET_FILE_BYTES: Record<MarketFile, number> = {
  index: 8 * 1024 * 1024,
  signature: MAX_SIGNATURE_BYTES,
  'hand-over': MAX_HAND_OVER_BYTES,
  source: 1024 * 1024,
  icon: 512 * 1024,
  changelog: MAX_CHANGELOG_BYTES,
};

/** How long a person waits for a page. */
const FETCH_TIMEOUT_MS = 15_000;
const CONNECT_MS = 5000;

/**
 * Fetches files of marketplaces, by HTTP or from the folder `mirrorDir`. Redirects are not
 * followed. A private address is allowed if an administrator has entered it as the source's own,
 * but never for the sources that ship with the gateway.
 */
export function createMarketReader(deps: {
  upstream: Upstream;
  /** The sources that ship with the gateway. They are never at a private address. */
  shippedSources: readonly MarketSource[];
  mirrorDir: string;
  clock: Clock;
  logger: Logger;
  timeoutMs?: number;
}): ReadMarketFile {
  const { upstream, shippedSources, mirrorDir, clock, logger, timeoutMs = FETCH_TIMEOUT_MS } = deps;

  async function download(source: MarketSource, url: URL, maxBytes: number): Promise<Result<Uint8Array, ReadFault>> {
    const signal = AbortSignal.timeout(timeoutMs);
    const explain = (failure: UpstreamFailure) =>
      err({ ...describeFailure(failure.kind, maxBytes, timeoutMs), isAbsent: false });
    const answer = await upstream.request({
      url: url.href,
      method: 'GET',
      headers: {},
      body: { kind: 'none' },
      privateHosts: findPrivateHosts(source, shippedSources),
      isKnownHost: () => true,
      maxRedirects: 0,
      connectTimeoutMs: CONNECT_MS,
      headersTimeoutMs: timeoutMs,
      idleTimeoutMs: timeoutMs,
      maxResponseBytes: maxBytes,
      signal,
    });
    if (!answer.ok) return explain(answer.error);
    const { status } = answer.value;
    if (status !== 200) {
      answer.value.discard();
      const redirects = status >= 300 && status < 400;
      const isAbsent = status === 404 || status === 410;
      const said = isAbsent
        ? sentence('market.absent', { address: url.href, status })
        : sentence(redirects ? 'market.redirect' : 'market.status', { status });
      return err({ ...said, isAbsent });
    }
    const bytes = await answer.value.bytes();
    return bytes.ok ? bytes : explain(bytes.error);
  }

  return async (source, address, what) => {
    const url = new URL(address);
    const started = clock.monotonicMs();
    const maxBytes = MARKET_FILE_BYTES[what];
    const file =
      url.protocol === 'file:' ? await readMirror(mirrorDir, url, maxBytes) : await download(source, url, maxBytes);
    logger.debug(
      {
        task_plugin: 'marketplace_fetch',
        request_id: 'SYSTEM',
        source: source.name,
        file: what,
        ...(file.ok ? { bytes: file.value.byteLength } : { failure: file.error.message }),
        ms: Math.round(clock.monotonicMs() - started),
      },
      'marketplace fetch',
    );
    return file;
  };
}

function findPrivateHosts(source: MarketSource, shippedSources: readonly MarketSource[]): string[] {
  const isShipped = shippedSources.some(({ indexUrl }) => indexUrl === source.indexUrl);
  return isShipped ? [] : [canonicalHost(indexLocation(source))];
}

function describeFailure(kind: UpstreamFailure['kind'], maxBytes: number, timeoutMs: number): Sentence {
  switch (kind) {
    case 'refused':
      return sentence('market.address');
    case 'dns':
      return sentence('market.dns');
    case 'connect':
      return sentence('market.connect');
    case 'tls':
      return sentence('market.tls');
    case 'broken':
      return sentence('market.ended');
    case 'too_large':
      return sentence('market.size', { max: maxBytes });
    case 'timeout':
    case 'aborted':
      return sentence('market.late', { seconds: timeoutMs / 1000 });
  }
}

/** Decodes UTF-8. A byte order mark is kept, so that text and bytes have the same hash. */
export function decodeText(bytes: Uint8Array): Result<string, Sentence> {
  try {
    return ok(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return err(sentence('market.utf8'));
  }
}

const OUTSIDE = sentence('market.outside');

/**
 * Reads a regular file of at most `maxBytes` below `root`, the folder that the operator has opened
 * to the panel; empty: none. Neither `..` nor a symbolic link leads out of it. A path outside is
 * refused before any access to the disk.
 */
export async function readMirror(root: string, url: URL, maxBytes: number): Promise<Result<Uint8Array, ReadFault>> {
  if (root === '') return refused(sentence('market.no_folder'));
  const path = toPath(url);
  if (path === undefined || !isInside(resolve(root), path)) return refused(OUTSIDE);
  try {
    const [top, file] = await Promise.all([realpath(root), realpath(path)]);
    if (!isInside(top, file)) return refused(OUTSIDE);
    // Non-blocking, because opening a pipe would block.
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stat = await handle.stat();
      if (!stat.isFile()) return refused(sentence('market.not_file'));
      if (stat.size > maxBytes) return refused(sentence('market.file_size', { max: maxBytes }));
      const bytes = await handle.readFile();
      return bytes.length > maxBytes ? refused(sentence('market.file_size', { max: maxBytes })) : ok(bytes);
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const said = sentence('market.file_unread', { code: typeof code === 'string' ? code : 'unknown reason' });
    return err({ ...said, isAbsent: code === 'ENOENT' });
  }
}

const refused = (said: Sentence): Result<never, ReadFault> => err({ ...said, isAbsent: false });

function toPath(url: URL): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}

function isInside(folder: string, path: string): boolean {
  const steps = relative(folder, path);
  return steps !== '' && steps !== '..' && !steps.startsWith(`..${sep}`) && resolve(folder, steps) === path;
}

/** The URL of a source's index. For a folder that is its `index.json`. */
export function indexLocation({ indexUrl }: MarketSource): URL {
  const url = new URL(indexUrl);
  if (url.protocol === 'file:' && !url.pathname.endsWith('.json')) {
    url.pathname = `${trimTrailing(url.pathname, '/')}/index.json`;
  }
  return url;
}

type Offered = { source: MarketSource; plugin: MarketPlugin; isSigned: boolean };

/**
 * What changed in a version: `CHANGELOG.md` beside its source, and the translations that it names.
 * Null: there is none. No signature covers a changelog, since it covers files by their hashes: the
 * changelogs of a signed source are not shown. Never rejects.
 */
export async function fetchChangelog(
  readFile: ReadMarketFile,
  { source, plugin, isSigned }: Offered,
  { url, version }: MarketVersion,
): Promise<Changelog | null> {
  if (isSigned) return null;
  const read = async (name: string) => {
    const bytes = await readFile(source, new URL(name, url).href, 'changelog');
    const text = bytes.ok ? decodeText(bytes.value) : bytes;
    return text.ok ? readChangelog(text.value, { key: plugin.key, version }) : undefined;
  };
  const own = await read('CHANGELOG.md');
  if (!own || own.sections.length === 0) return null;
  const translated = await Promise.all(
    Object.entries(own.translations).map(async ([locale, name]) => ({
      locale,
      sections: (await read(name))?.sections,
    })),
  );
  return {
    [own.locale]: own.sections,
    ...Object.fromEntries(
      translated.flatMap(({ locale, sections }) => (sections && sections.length > 0 ? [[locale, sections]] : [])),
    ),
  };
}

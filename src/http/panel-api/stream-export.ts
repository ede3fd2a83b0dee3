import type { AccessWatch, Auth, PanelPrincipal } from '../../auth/index.ts';
import { createSemaphore, nextTurn, QUOTA_PER_USD } from '../../kernel/index.ts';
import { isAdmin } from '../pipeline/admit-request.ts';
import { httpErrors } from '../responses/errors.ts';
import { streamChunks } from '../responses/stream-chunks.ts';

/** Rows of one file at most; it ends with the cursor at which the next one goes on. */
export const MAX_EXPORTED = 100_000;

/** Rows after a cursor; without `next` they are the last ones. */
export type ExportBatch<Row> = { rows: Row[]; next: string | undefined };

/** `goesOnAt`: the file is full, and the next one begins with this cursor. */
export type ExportedRows<Row> = { rows: Row[]; goesOnAt?: string };

export type RowSource<Row> = {
  /** The name of the file, without its ending. */
  name: 'audit' | 'ledger' | 'statements' | 'tasks' | 'usage' | 'users';
  columns: readonly ExportColumn<Row>[];
  batches: AsyncIterator<ExportedRows<Row>, undefined>;
};

/**
 * Reads batch after batch from a cursor on, while the file has space, and leaves other work its
 * turns.
 */
export async function* readBatches<Row>(
  read: (after: string | undefined) => Promise<ExportBatch<Row>>,
  { from, most }: { from: string | undefined; most: number },
): AsyncGenerator<ExportedRows<Row>, undefined> {
  let after = from;
  let left = MAX_EXPORTED;
  do {
    await nextTurn();
    const { rows, next } = await read(after);
    left -= rows.length;
    after = next;
    yield after !== undefined && left < most ? { rows, goesOnAt: after } : { rows };
  } while (after !== undefined && left >= most);
  return undefined;
}

type StreamOptions = {
  format: ExportFormat;
  running: RunningExport;
  onEnd: () => void;
  onFailure: (error: unknown) => void;
};

/** Whether a file is cut is known at its end alone, and its last row says so. */
const MAX_ROWS_HEADER = 'x-export-max-rows';

const TYPES = { csv: 'text/csv; charset=utf-8', jsonl: 'application/jsonl; charset=utf-8' } as const;

/**
 * Sends rows as the client takes them: the next batch is read when its buffer has space. A client
 * that leaves, or whose access ends, ends the reading; a failure breaks the connection, so that no
 * one takes a part for the whole.
 */
export function streamExport<Row>(
  { name, columns, batches }: RowSource<Row>,
  { format, running, onEnd, onFailure }: StreamOptions,
): Response {
  const { signal } = running.access;
  const encoder = new TextEncoder();
  let isFirst = true;
  let hasEnded = false;
  function end(): boolean {
    if (hasEnded) return false;
    hasEnded = true;
    signal.removeEventListener('abort', leave);
    running.end();
    onEnd();
    return true;
  }
  let output: ReadableStreamDefaultController<Uint8Array> | undefined;
  function leave(): void {
    if (end()) output?.error(new Error('the export was ended'));
  }
  /** It is not empty: a stream asks again only after it has been given something. */
  async function nextText(): Promise<string | undefined> {
    for (;;) {
      const { done, value: { rows, goesOnAt } = { rows: [] } } = await batches.next();
      // Without a row, a CSV file has its heading.
      const text = `${done && !isFirst ? '' : writeRows(rows, { format, columns, isFirst })}${goesOnAt === undefined ? '' : writeCut(goesOnAt, format)}`;
      isFirst = false;
      if (text !== '') return text;
      if (done) return undefined;
    }
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        output = controller;
        if (signal.aborted) leave();
        else signal.addEventListener('abort', leave, { once: true });
      },
      async pull(controller) {
        try {
          const text = await nextText();
          if (hasEnded) return;
          if (text !== undefined) controller.enqueue(encoder.encode(text));
          else if (end()) controller.close();
        } catch (error) {
          onFailure(error);
          if (end()) controller.error(error);
        }
      },
      cancel: () => void end(),
    },
    { highWaterMark: 1 },
  );
  return new Response(body, {
    headers: {
      'content-type': TYPES[format],
      'content-disposition': `attachment; filename="${name}.${format}"`,
      'cache-control': 'no-store',
      [MAX_ROWS_HEADER]: String(MAX_EXPORTED),
    },
  });
}

/** One column of a CSV file; JSON lines have the whole row. */
export type ExportColumn<Row> = { name: string; value: (row: Row) => string | number | null | undefined };

export type ExportFormat = 'csv' | 'jsonl';

/**
 * Begins what a spreadsheet evaluates: a formula in a prompt or a name would run where the file is
 * opened. Where Chinese or Japanese is written, the wide signs begin one too.
 */
const FORMULA = /^[\s]*[=+\-@|\t\r＝＋－＠｜]/;
/**
 * Where the decimal sign is a comma, spreadsheets split lines at semicolons, and quotes within such
 * a part mean nothing: a cell may begin anywhere behind one of these.
 */
const LATER_FORMULA = /([;\t\r\n][ \u00a0\u3000"]*)(?=[=+\-@|＝＋－＠｜])/g;
const SPECIAL = /[",\r\n]/;

/** A cell as RFC 4180 defines it. What looks like a formula begins with an apostrophe. */
export function csvCell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = (FORMULA.test(value) ? `'${value}` : value).replaceAll(LATER_FORMULA, "$1'");
  return SPECIAL.test(text) || text !== value ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The last row of a file that reached its limit, so that nobody takes it for the complete list. */
function writeCut(cursor: string, format: ExportFormat): string {
  const message = `cut after ${MAX_EXPORTED} rows or a little before: export again with cursor=${cursor} for those that follow`;
  return format === 'jsonl' ? `${JSON.stringify({ cut: { message, cursor } })}\n` : `${csvCell(message)}\r\n`;
}

/** The text of some rows; the first ones of a CSV file come with the heading. */
function writeRows<Row>(
  rows: readonly Row[],
  { format, columns, isFirst }: { format: ExportFormat; columns: readonly ExportColumn<Row>[]; isFirst: boolean },
): string {
  if (format === 'jsonl') return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  // Spreadsheets take a file for UTF-8 by its mark.
  const heading = isFirst ? `\uFEFF${columns.map(({ name }) => name).join(',')}\r\n` : '';
  const lines = rows.map((row) => `${columns.map(({ value }) => csvCell(value(row))).join(',')}\r\n`);
  return heading + lines.join('');
}

/** Unix seconds as ISO 8601; empty for 0. */
export const isoTime = (seconds: number): string => (seconds > 0 ? new Date(seconds * 1000).toISOString() : '');

export const usd = (quota: number): number => quota / QUOTA_PER_USD;

/** As long as the listener's idle timeout. */
const STALL_MS = 120_000;

/**
 * Streams the pieces of one document. When the access ends, or a piece cannot be read, the
 * connection breaks, so that no one takes a part for the whole.
 */
export function streamDocument(
  pieces: AsyncIterable<string>,
  { access: { signal }, end }: RunningExport,
): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const source = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await iterator.next();
          if (signal.aborted) throw new Error('the export was ended');
          if (!done) return controller.enqueue(encoder.encode(value));
          end();
          controller.close();
        } catch (error) {
          end();
          controller.error(error);
        }
      },
      async cancel() {
        end();
        await iterator.return?.();
      },
    },
    { highWaterMark: 1 },
  );
  return streamChunks(source, STALL_MS);
}

/**
 * Exports at the same time on this node: for all users, for all administrators, and for one
 * account. Users who read slowly leave administrators theirs.
 */
const LIMITS = { users: 4, administrators: 4, account: 1 } as const;
const RETRY_AFTER_SECONDS = 10;
/** A client that reads a little now and then would otherwise keep its slot without end. */
const LONGEST_MS = 30 * 60_000;

export type RunningExport = {
  /** Its signal aborts when the client or its access is gone, or the export took too long. */
  access: AccessWatch;
  /** Releases the slot; may be called twice. */
  end(): void;
};

/** @throws http.exports_limited */
export type BeginExport = (panel: PanelPrincipal, request: Request) => RunningExport;

export function createExportLimit({ watchAccess }: Pick<Auth, 'watchAccess'>): BeginExport {
  const limit = createSemaphore();
  return (panel, request) => {
    const kind = isAdmin(panel) ? 'administrators' : 'users';
    const slots = limit.tryAcquire([
      { name: kind, max: LIMITS[kind] },
      { name: `account ${panel.user.id}`, max: LIMITS.account },
    ]);
    if (slots.full) throw httpErrors.exports_limited({ retryAfterSeconds: RETRY_AFTER_SECONDS });
    const access = watchAccess(panel, AbortSignal.any([request.signal, AbortSignal.timeout(LONGEST_MS)]));
    return {
      access,
      end() {
        slots.release();
        access.stop();
      },
    };
  };
}

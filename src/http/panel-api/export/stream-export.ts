import { nextTurn } from '../../../kernel/index.ts';
import type { RunningExport } from './limit-exports.ts';
import { type ExportColumn, type ExportFormat, writeRows } from './write-rows.ts';

/** Rows of one file. What is beyond them needs a narrower filter. */
export const MAX_EXPORTED = 100_000;

/** Rows after a cursor; without `next` they are the last ones. */
export type ExportBatch<Row, Cursor> = { rows: Row[]; next: Cursor | undefined };

export type RowSource<Row> = {
  /** The name of the file, without its ending. */
  name: 'audit' | 'ledger' | 'tasks' | 'usage' | 'users';
  columns: readonly ExportColumn<Row>[];
  batches: AsyncIterator<Row[], undefined>;
};

/** Reads batch after batch, up to `MAX_EXPORTED` rows, and leaves other work its turns. */
export async function* readBatches<Row, Cursor>(
  read: (after: Cursor | undefined) => Promise<ExportBatch<Row, Cursor>>,
): AsyncGenerator<Row[], undefined> {
  let after: Cursor | undefined;
  let left = MAX_EXPORTED;
  do {
    await nextTurn();
    const { rows, next } = await read(after);
    yield rows.slice(0, left);
    left -= rows.length;
    after = next;
  } while (after !== undefined && left > 0);
  return undefined;
}

/** At most `MAX_EXPORTED` rows of batches that are read in turn. */
export async function* limitBatches<Row>(batches: AsyncIterable<Row[]>): AsyncGenerator<Row[], undefined> {
  let left = MAX_EXPORTED;
  for await (const rows of batches) {
    yield rows.slice(0, left);
    left -= rows.length;
    if (left <= 0) break;
    await nextTurn();
  }
  return undefined;
}

type StreamOptions = {
  format: ExportFormat;
  running: RunningExport;
  onEnd: () => void;
  onFailure: (error: unknown) => void;
};

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
  /** Not empty: a stream asks again only after it was given something. */
  async function nextText(): Promise<string | undefined> {
    for (;;) {
      const { done, value = [] } = await batches.next();
      // Without a row, a CSV file has its heading.
      const text = done && !isFirst ? '' : writeRows(value, { format, columns, isFirst });
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
    },
  });
}

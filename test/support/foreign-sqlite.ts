/**
 * A preload of tests: the shared library that TASKGATE_SQLITE names takes the place of the SQLite
 * in the runtime, which loads another one by itself on macOS alone. As much of `bun:sqlite` as the
 * store and its tests use. The thread that copies the log would bring the runtime's own SQLite into
 * the process, and two of them undo each other's locks: its work is done in this thread.
 */
import { dlopen, FFIType, JSCallback, type Pointer, ptr, read, toArrayBuffer } from 'bun:ffi';
import { mock } from 'bun:test';

const { ptr: P, i32, i64, f64, u32, cstring } = FFIType;
const { symbols: lib } = dlopen(process.env.TASKGATE_SQLITE ?? '', {
  sqlite3_libversion: { args: [], returns: cstring },
  sqlite3_open_v2: { args: [P, P, i32, P], returns: i32 },
  sqlite3_close_v2: { args: [P], returns: i32 },
  sqlite3_extended_result_codes: { args: [P, i32], returns: i32 },
  sqlite3_extended_errcode: { args: [P], returns: i32 },
  sqlite3_errmsg: { args: [P], returns: cstring },
  sqlite3_prepare_v3: { args: [P, P, i32, u32, P, P], returns: i32 },
  sqlite3_step: { args: [P], returns: i32 },
  sqlite3_reset: { args: [P], returns: i32 },
  sqlite3_finalize: { args: [P], returns: i32 },
  sqlite3_clear_bindings: { args: [P], returns: i32 },
  sqlite3_bind_int64: { args: [P, i32, i64], returns: i32 },
  sqlite3_bind_double: { args: [P, i32, f64], returns: i32 },
  sqlite3_bind_text: { args: [P, i32, P, i32, i64], returns: i32 },
  sqlite3_bind_blob: { args: [P, i32, P, i32, i64], returns: i32 },
  sqlite3_bind_null: { args: [P, i32], returns: i32 },
  sqlite3_column_count: { args: [P], returns: i32 },
  sqlite3_column_name: { args: [P, i32], returns: cstring },
  sqlite3_column_type: { args: [P, i32], returns: i32 },
  sqlite3_column_int64: { args: [P, i32], returns: i64 },
  sqlite3_column_double: { args: [P, i32], returns: f64 },
  sqlite3_column_blob: { args: [P, i32], returns: P },
  sqlite3_column_bytes: { args: [P, i32], returns: i32 },
  sqlite3_get_autocommit: { args: [P], returns: i32 },
  sqlite3_changes: { args: [P], returns: i32 },
  sqlite3_last_insert_rowid: { args: [P], returns: i64 },
  sqlite3_create_function_v2: { args: [P, P, i32, i32, P, P, P, P, P], returns: i32 },
  sqlite3_value_text: { args: [P], returns: cstring },
  sqlite3_result_text: { args: [P, P, i32, i64], returns: FFIType.void },
  sqlite3_serialize: { args: [P, P, P, u32], returns: P },
});

process.stdout.write(`SQLite ${lib.sqlite3_libversion()}\n`);

const [ROW, DONE] = [100, 101];
/** SQLite copies what it is given. */
const TRANSIENT = -1n;
const CODES: Record<number, string> = {
  ...{ 1: 'ERROR', 3: 'PERM', 5: 'BUSY', 6: 'LOCKED', 8: 'READONLY', 10: 'IOERR', 11: 'CORRUPT', 13: 'FULL' },
  ...{ 14: 'CANTOPEN', 18: 'TOOBIG', 19: 'CONSTRAINT', 20: 'MISMATCH', 21: 'MISUSE', 25: 'RANGE', 26: 'NOTADB' },
  ...{ 275: 'CONSTRAINT_CHECK', 787: 'CONSTRAINT_FOREIGNKEY', 1299: 'CONSTRAINT_NOTNULL' },
  ...{ 1555: 'CONSTRAINT_PRIMARYKEY', 1811: 'CONSTRAINT_TRIGGER', 2067: 'CONSTRAINT_UNIQUE' },
};

type Value = string | number | bigint | boolean | null | undefined | Uint8Array;
type Options = { readonly?: boolean; readwrite?: boolean; create?: boolean };

const text = (value: string): Buffer => Buffer.from(`${value}\0`);
const cell = (): BigUint64Array => new BigUint64Array(1);
const pointerIn = (at: BigUint64Array): Pointer => Number(at[0]) as Pointer;

class SQLiteError extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly errno: number,
  ) {
    super(message);
  }
}

class Statement {
  #handle: Pointer;
  constructor(
    private readonly database: Database,
    handle: Pointer,
  ) {
    this.#handle = handle;
  }

  #bind(params: readonly Value[]): void {
    lib.sqlite3_reset(this.#handle);
    lib.sqlite3_clear_bindings(this.#handle);
    for (const [at, value] of params.flat().entries()) this.database.require(this.#bindOne(at + 1, value as Value));
  }

  #bindOne(at: number, value: Value): number {
    if (value === null || value === undefined) return lib.sqlite3_bind_null(this.#handle, at);
    if (typeof value === 'string') {
      const bytes = text(value);
      return lib.sqlite3_bind_text(this.#handle, at, ptr(bytes), bytes.length - 1, TRANSIENT);
    }
    if (value instanceof Uint8Array) {
      const bytes = Buffer.concat([value, Buffer.alloc(1)]);
      return lib.sqlite3_bind_blob(this.#handle, at, ptr(bytes), value.length, TRANSIENT);
    }
    if (typeof value === 'number' && !Number.isSafeInteger(value)) {
      return lib.sqlite3_bind_double(this.#handle, at, value);
    }
    return lib.sqlite3_bind_int64(this.#handle, at, BigInt(value));
  }

  #column(at: number): unknown {
    const type = lib.sqlite3_column_type(this.#handle, at);
    if (type === 1) return Number(lib.sqlite3_column_int64(this.#handle, at));
    if (type === 2) return lib.sqlite3_column_double(this.#handle, at);
    if (type === 5) return null;
    const start = lib.sqlite3_column_blob(this.#handle, at);
    const length = lib.sqlite3_column_bytes(this.#handle, at);
    const bytes =
      start === null || length === 0 ? new Uint8Array() : new Uint8Array(toArrayBuffer(start, 0, length)).slice();
    return type === 3 ? new TextDecoder().decode(bytes) : bytes;
  }

  values(...params: Value[]): unknown[][] {
    this.#bind(params);
    const rows: unknown[][] = [];
    for (;;) {
      const code = lib.sqlite3_step(this.#handle);
      if (code === DONE) break;
      if (code !== ROW) {
        const error = this.database.error();
        lib.sqlite3_reset(this.#handle);
        throw error;
      }
      rows.push(Array.from({ length: lib.sqlite3_column_count(this.#handle) }, (_, at) => this.#column(at)));
    }
    lib.sqlite3_reset(this.#handle);
    return rows;
  }

  all(...params: Value[]): Record<string, unknown>[] {
    const names = this.columnNames;
    return this.values(...params).map((row) => Object.fromEntries(row.map((value, at) => [names[at], value])));
  }

  get(...params: Value[]): Record<string, unknown> | null {
    return this.all(...params)[0] ?? null;
  }

  run(...params: Value[]) {
    this.values(...params);
    return this.database.result();
  }

  get columnNames(): string[] {
    const count = lib.sqlite3_column_count(this.#handle);
    return Array.from({ length: count }, (_, at) => String(lib.sqlite3_column_name(this.#handle, at)));
  }

  finalize(): void {
    lib.sqlite3_finalize(this.#handle);
  }
}

class Database {
  static MAX_QUERY_CACHE_SIZE = 20;
  readonly filename: string;
  #handle: Pointer;
  #cached = new Map<string, Statement>();
  #closed = false;

  constructor(filename = ':memory:', { readonly = false, readwrite = false, create }: Options = {}) {
    this.filename = filename;
    const flags = readonly ? 1 : 2 | ((create ?? !readwrite) ? 4 : 0);
    const out = cell();
    const code = lib.sqlite3_open_v2(ptr(text(filename)), ptr(out), flags, null);
    this.#handle = pointerIn(out);
    lib.sqlite3_extended_result_codes(this.#handle, 1);
    if (code !== 0) throw this.error();
  }

  error(): SQLiteError {
    const errno = lib.sqlite3_extended_errcode(this.#handle);
    const name = CODES[errno] ?? CODES[errno & 255] ?? 'ERROR';
    return new SQLiteError(String(lib.sqlite3_errmsg(this.#handle)), `SQLITE_${name}`, errno);
  }

  require(code: number): void {
    if (code !== 0) throw this.error();
  }

  result() {
    return {
      changes: lib.sqlite3_changes(this.#handle),
      lastInsertRowid: Number(lib.sqlite3_last_insert_rowid(this.#handle)),
    };
  }

  /** The first statement of a text, and the text after it. */
  #compile(sql: string): { statement: Statement | undefined; rest: string } {
    if (this.#closed) throw new Error('Cannot use a closed database');
    const bytes = text(sql);
    const [out, tail] = [cell(), cell()];
    this.require(lib.sqlite3_prepare_v3(this.#handle, ptr(bytes), bytes.length, 0, ptr(out), ptr(tail)));
    const used = Number((tail[0] ?? 0n) - BigInt(ptr(bytes)));
    const handle = pointerIn(out);
    return {
      statement: handle === 0 || handle === null ? undefined : new Statement(this, handle),
      rest: bytes.subarray(used, bytes.length - 1).toString('utf8'),
    };
  }

  prepare(sql: string): Statement {
    const { statement } = this.#compile(sql);
    if (!statement) throw new Error('the text has no statement');
    return statement;
  }

  query(sql: string): Statement {
    const statement = this.#cached.get(sql) ?? this.prepare(sql);
    this.#cached.set(sql, statement);
    return statement;
  }

  run(sql: string, ...params: Value[]) {
    for (let rest = sql; rest.trim() !== ''; ) {
      const compiled = this.#compile(rest);
      rest = compiled.rest;
      try {
        compiled.statement?.values(...params);
      } finally {
        compiled.statement?.finalize();
      }
    }
    return this.result();
  }

  exec(sql: string) {
    return this.run(sql);
  }

  get inTransaction(): boolean {
    return lib.sqlite3_get_autocommit(this.#handle) === 0;
  }

  transaction<T>(work: () => T): () => T {
    return () => {
      this.run('begin');
      try {
        const value = work();
        this.run('commit');
        return value;
      } catch (error) {
        if (this.inTransaction) this.run('rollback');
        throw error;
      }
    };
  }

  /** A function of one text that gives a text. */
  function(name: string, work: (value: unknown) => unknown): void {
    const call = new JSCallback(
      (context: Pointer, _count: number, values: Pointer) => {
        const bytes = text(String(work(String(lib.sqlite3_value_text(read.ptr(values, 0) as Pointer)))));
        lib.sqlite3_result_text(context, ptr(bytes), bytes.length - 1, TRANSIENT);
      },
      { args: [P, i32, P], returns: FFIType.void },
    );
    this.require(lib.sqlite3_create_function_v2(this.#handle, ptr(text(name)), 1, 1, null, call.ptr, null, null, null));
  }

  serialize(): Buffer {
    const size = new BigInt64Array(1);
    const start = lib.sqlite3_serialize(this.#handle, ptr(text('main')), ptr(size), 0);
    if (start === null) throw this.error();
    return Buffer.from(new Uint8Array(toArrayBuffer(start, 0, Number(size[0]))).slice());
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const statement of this.#cached.values()) statement.finalize();
    lib.sqlite3_close_v2(this.#handle);
  }
}

/** `src/store/sqlite/run-checkpoint.ts`, without a thread. */
class CheckpointWorker extends EventTarget {
  onmessage: ((event: { data: unknown }) => void) | undefined;
  #file: Database | undefined;

  postMessage(message: { filename: string } | 'close'): void {
    queueMicrotask(() => this.onmessage?.({ data: { copied: this.#work(message) } }));
  }

  #work(message: { filename: string } | 'close'): number {
    if (message === 'close') {
      this.#file?.close();
      return 0;
    }
    this.#file ??= new Database(message.filename, { readwrite: true });
    return Number(this.#file.query('pragma wal_checkpoint(passive)').values()[0]?.[2]);
  }

  ref(): void {}
  unref(): void {}
  terminate(): void {}
}

globalThis.Worker = CheckpointWorker as never;
mock.module('bun:sqlite', () => ({
  Database,
  default: Database,
  SQLiteError,
  constants: { SQLITE_PREPARE_PERSISTENT: 1 },
}));

import { Column, is, Param, Placeholder, type Query } from 'drizzle-orm';

/**
 * Runs one statement. Rows are arrays in the order of the selected columns; a plain write returns
 * none.
 */
export type RunStatement = (text: string, params: unknown[]) => Promise<unknown[][]>;

type Values = Record<string, unknown>;
type Row = readonly unknown[];

/** A column that a statement returns: where it stands in the record, and what decodes it. */
export type SelectedField = { path: string[]; field: unknown };

/**
 * One statement of the query builder: its placeholders and columns are looked at once, here. The
 * builder's own prepared queries look at them for every row, which takes longer than the database.
 */
export class PreparedQuery {
  /** The rows as the driver returned them. */
  readonly values: (values?: Values) => Promise<unknown[][]>;
  /** The rows as records; as the driver returned them where the statement selects no columns. */
  readonly execute: (values?: Values) => Promise<unknown[]>;

  constructor(run: RunStatement, { sql, params }: Query, fields: readonly SelectedField[] | undefined) {
    const bind = createBinder(params);
    const read = fields && createRowReader(fields);
    const values = (given: Values = {}) => run(sql, bind(given));
    this.values = values;
    this.execute = read ? async (given) => (await values(given)).map((row) => read(row)) : values;
  }

  /** What the builder calls when a statement is awaited without being prepared. */
  all = (): Promise<unknown[]> => this.execute();
  run = (): Promise<unknown[]> => this.execute();
  setToken = (): this => this;
}

/** Gives the parameters of a statement for the values of its placeholders. */
export function createBinder(params: readonly unknown[]): (values: Values) => unknown[] {
  const slots = params.map((param) => {
    if (is(param, Placeholder)) return { name: param.name, encoder: undefined, constant: undefined };
    if (is(param, Param) && is(param.value, Placeholder))
      return { name: param.value.name, encoder: param.encoder, constant: undefined };
    return { name: undefined, encoder: undefined, constant: storable(param) };
  });
  return (values) => {
    const bound: unknown[] = [];
    for (const { name, encoder, constant } of slots) {
      if (name === undefined) {
        bound.push(constant);
        continue;
      }
      const value = values[name];
      if (value === undefined && !(name in values)) throw new Error(`The placeholder "${name}" has no value.`);
      bound.push(storable(encoder ? encoder.mapToDriverValue(value) : value));
    }
    return bound;
  };
}

/**
 * Replaces NUL in text. Clients can send it; PostgreSQL refuses it and SQLite's functions truncate
 * at it. U+FFFD matches nothing by accident.
 */
export const storable = (param: unknown): unknown =>
  typeof param === 'string' && param.includes('\0') ? param.replaceAll('\0', '\uFFFD') : param;

type Decoder = { mapFromDriverValue(value: unknown): unknown };
type Reader = (row: Row) => Record<string, unknown>;

/** Converts rows of `fields`, in their order, to records. Null stays null. */
export function createRowReader(fields: readonly SelectedField[]): Reader {
  const ofIndex = fields.map(({ path, field }, index) => ({ path, index, decoder: decoderOf(field) }));
  return createReader(ofIndex, 0);
}

type IndexedField = { path: string[]; index: number; decoder: Decoder | undefined };

/** The reader of the objects at `depth` of the records. */
function createReader(fields: readonly IndexedField[], depth: number): Reader {
  const groups = Map.groupBy(fields, ({ path }) => path[depth] ?? '');
  const members = [...groups].map(([name, [first, ...others]]) => {
    const all = first ? [first, ...others] : [];
    const isObject = first !== undefined && first.path.length > depth + 1;
    return isObject
      ? { name, index: 0, decoder: undefined, read: createReader(all, depth + 1) }
      : { name, index: first?.index ?? 0, decoder: first?.decoder, read: undefined };
  });
  return (row) => {
    const record: Record<string, unknown> = {};
    for (const { name, index, decoder, read } of members) {
      const value = read ? read(row) : row[index];
      record[name] = value === null || decoder === undefined ? value : decoder.mapFromDriverValue(value);
    }
    return record;
  };
}

/** `undefined` where the driver's value is the record's value. */
function decoderOf(field: unknown): Decoder | undefined {
  const decoder = is(field, Column) ? field : (field as { decoder: Decoder }).decoder;
  return decoder.mapFromDriverValue === Column.prototype.mapFromDriverValue ? undefined : decoder;
}

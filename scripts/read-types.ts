import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  API,
  type Checker,
  type Project,
  SignatureKind,
  SymbolFlags,
  type Type,
  TypeFlags,
  type TypeReference,
} from 'typescript/unstable/async';

/** Numbers with a fraction; every other number of an answer is whole. */
const FRACTIONS = new Set(
  'usd ratio group_ratio success_rate p50_seconds p95_seconds usual_seconds slow_seconds ms minimum maximum multipleOf enum'.split(
    ' ',
  ),
);
/** Types that say no more than that something is JSON, or that others define. */
const ANY_JSON = new Map<string, object>([
  ['Json', {}],
  ['JsonObject', { type: 'object', additionalProperties: true }],
  ['AuthenticationExtensionsClientInputs', { type: 'object', additionalProperties: true }],
]);
export type TypeReader = ReturnType<typeof createReader>;

/** Opens the project with the compiler and lets `work` read types of it as JSON Schemas. */
export async function readTypes<T>(root: string, work: (reader: TypeReader) => Promise<T>): Promise<T> {
  const api = new API({ cwd: root });
  try {
    const snapshot = await api.updateSnapshot({ openProjects: [join(root, 'tsconfig.json')] });
    const [project] = snapshot.getProjects();
    if (!project) throw new Error('The compiler found no project.');
    return await work(createReader(root, project));
  } finally {
    await api.close();
  }
}

function createReader(root: string, { checker, program }: Project) {
  const converter = createConverter(checker);

  async function find(type: Type, name: string): Promise<Type | undefined> {
    const symbol = await checker.getPropertyOfType(type, name);
    return symbol && (await checker.getTypeOfSymbol(symbol));
  }
  return {
    find,
    /** An exported type. */
    async declared(path: string, name: string): Promise<Type> {
      const file = await program.getSourceFile(join(root, path));
      const module = file && (await checker.getSymbolAtLocation(file));
      const symbol = module && (await checker.getMemberInModuleExports(module, name));
      if (!symbol) throw new Error(`${path} has no ${name}`);
      return checker.getDeclaredTypeOfSymbol(symbol);
    },
    async members(type: Type): Promise<[string, Type][]> {
      const symbols = await checker.getPropertiesOfType(type);
      const types = await checker.getTypeOfSymbol(symbols);
      return symbols.flatMap(({ name }, i): [string, Type][] => (types[i] ? [[name, types[i]]] : []));
    },
    /** Undefined for a web `Response`: a file, a stream, a redirect. */
    async schemaFor(type: Type): Promise<object | undefined> {
      if ((await type.getSymbol())?.name === 'Response') return undefined;
      return converter.toSchema(type, '');
    },
    /** The schemas of the named types that others refer to. */
    schemas: (): Record<string, object> => Object.fromEntries(converter.named),
  };
}

/**
 * Types of TypeScript as JSON Schemas: what `JSON.stringify` makes of their values. Objects take no
 * further members. Comments become descriptions.
 */
function createConverter(checker: Checker) {
  const named = new Map<string, object>();
  const typeOfName = new Map<string, number>();

  /** `name`: the member whose value this is; empty for values by any name. */
  async function toSchema(type: Type, name: string): Promise<object> {
    const { flags } = type;
    if (flags & (TypeFlags.Any | TypeFlags.Unknown)) return {};
    if (flags & TypeFlags.Null) return { type: 'null' };
    if (type.isLiteralType()) return literal(type.value);
    if (flags & (TypeFlags.String | TypeFlags.TemplateLiteral)) return { type: 'string' };
    if (flags & TypeFlags.Number) return { type: name === '' || FRACTIONS.has(name) ? 'number' : 'integer' };
    if (flags & TypeFlags.Boolean) return { type: 'boolean' };
    return (await readName(type)) ?? toInlineSchema(type, name);
  }

  /** A reference to the schema of a type that has a name of its own. */
  async function readName(type: Type): Promise<object | undefined> {
    if ((await type.getAliasTypeArguments()).length > 0) return undefined;
    const symbol = (await type.getAliasSymbol()) ?? (type.isClassOrInterface() ? await type.getSymbol() : undefined);
    if (symbol === undefined || symbol.name.startsWith('__')) return undefined;
    const anyJson = ANY_JSON.get(symbol.name);
    if (anyJson) return anyJson;
    // A union has another identity wherever `undefined` was taken from it.
    if (type.isUnionType()) return undefined;
    const known = typeOfName.get(symbol.name);
    if (known !== undefined && known !== type.id) throw new Error(`two types are called ${symbol.name}`);
    if (known === undefined) {
      typeOfName.set(symbol.name, type.id);
      const comment = await symbol.getDocumentationComment(checker);
      named.set(symbol.name, describe(await toInlineSchema(type, symbol.name), comment));
    }
    return { $ref: `#/components/schemas/${symbol.name}` };
  }

  async function toInlineSchema(type: Type, name: string): Promise<object> {
    if (type.isUnionType()) return toUnion(await type.getTypes(), name);
    if (await checker.isArrayType(type)) {
      const [item] = await checker.getTypeArguments(type as TypeReference);
      return { type: 'array', items: item ? await toSchema(item, name) : {} };
    }
    if (!type.isObjectType() && !type.isIntersectionType())
      throw new Error(`${name}: JSON has no ${await checker.typeToString(type)}`);
    return toObject(type);
  }

  async function toUnion(types: readonly Type[], name: string): Promise<object> {
    const schemas = await inOrder(
      types.filter(({ flags }) => !(flags & (TypeFlags.Undefined | TypeFlags.Void))),
      (member) => toSchema(member, name),
    );
    return joinSchemas(schemas);
  }

  async function toObject(type: Type): Promise<object> {
    const symbols = await checker.getPropertiesOfType(type);
    const types = await checker.getTypeOfSymbol(symbols);
    const properties: Record<string, object> = {};
    const required: string[] = [];
    for (const [i, symbol] of symbols.entries()) {
      const member = types[i];
      if (!member || (await checker.getSignaturesOfType(member, SignatureKind.Call)).length > 0) {
        throw new Error(`${symbol.name} is a function`);
      }
      const isOptional = (symbol.flags & SymbolFlags.Optional) !== 0;
      if (!isOptional) required.push(symbol.name);
      const comment = await symbol.getDocumentationComment(checker);
      const schema = await toSchema(member, symbol.name);
      properties[symbol.name] = describe(isOptional ? widen(schema) : schema, comment);
    }
    const [index] = await checker.getIndexInfosOfType(type);
    const additionalProperties = index ? await toSchema(index.valueType, '') : false;
    return {
      type: 'object',
      ...(required.length > 0 ? { required } : {}),
      ...(symbols.length > 0 ? { properties } : {}),
      additionalProperties,
    };
  }

  return { toSchema, named };
}

/** `a | b` in the shortest form: literals as an `enum`, null as a second `type`. */
function joinSchemas(schemas: readonly object[]): object {
  // The members of `Json`, which loses its name in `Json | undefined`.
  if (schemas.some((schema) => 'items' in schema && isDeepStrictEqual(schema.items, {}))) return {};
  const literals = schemas.flatMap((schema) => ('const' in schema ? [schema.const] : []));
  const isBoolean = literals.includes(true) && literals.includes(false);
  const joined = [
    ...['string', 'number', ...(isBoolean ? [] : ['boolean'])].flatMap((kind) =>
      joinLiterals(literals.filter((value) => typeof value === kind)),
    ),
    ...(isBoolean ? [{ type: 'boolean' }] : []),
    ...schemas.filter((schema) => !('const' in schema)),
  ];
  const ordered = joined.toSorted((a, b) => Number(isNullSchema(a)) - Number(isNullSchema(b)));
  const [value, isNull] = ordered;
  if (value && ordered.length === 1) return value;
  if (
    ordered.length === 2 &&
    isNull &&
    isNullSchema(isNull) &&
    value &&
    'type' in value &&
    Object.keys(value).length === 1
  ) {
    return { type: [value.type, 'null'] };
  }
  return { anyOf: ordered };
}

const literal = (value: unknown): object => ({ type: readType(value), const: value });
const readType = (value: unknown): string => (typeof value === 'number' ? 'integer' : typeof value);

/** Values of one type. */
function joinLiterals(values: readonly unknown[]): object[] {
  return values.length > 1 ? [{ type: readType(values[0]), enum: values.toSorted() }] : values.map(literal);
}

/** A member that is `true` or absent, as a boolean: generators of clients stumble over it. */
const widen = (schema: object): object =>
  'const' in schema && typeof schema.const === 'boolean' ? { type: 'boolean' } : schema;

const isNullSchema = (schema: object): boolean => 'type' in schema && schema.type === 'null';

/** Comments with links are those of libraries. */
const describe = (schema: object, comment: string): object =>
  comment === '' || comment.includes('https://')
    ? schema
    : { ...schema, description: comment.replaceAll(/\s*\n\s*/g, ' ') };

async function inOrder<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (const item of items) done.push(await work(item));
  return done;
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ParamPattern, parseSync, type TSType, Visitor } from 'oxc-parser';
import { listFiles, root } from './hash-inputs.ts';

/** A reader holds about as many at once. A room that needs more is two rooms, or groups them. */
const MAX_MEMBERS = 12;
const NAME = /(?:Deps|Services|Dependencies|Context|Parts)$/;
const PARAMETER = /^(?:ctx|deps|services)$/;
/** What these take first are dependencies, whatever they are called. */
const FACTORY = /^(?:create|compose|assemble)[A-Z]/;
/** Data that a factory may take first: rows of the database, and what operators configure. */
const DATA = /(?:Record|Config|Limits)$/;

type Declared = { file: string; line: number; type: TSType };

/**
 * Types of dependencies below `src` of `base` with more than twelve members, named, written at a
 * parameter, or taken by a factory, as `file:line: what`.
 */
export function checkDependencies(base: string): string[] {
  const declared = new Map<string, Declared[]>();
  const parameters: [string, Declared][] = [];
  for (const file of listFiles('src', base).filter((each) => /\.tsx?$/.test(each))) {
    const source = readFileSync(join(base, file), 'utf8');
    const readLine = (start: number): number => source.slice(0, start).split('\n').length;
    const readParameters = (name: string, params: readonly ParamPattern[], start: number): void => {
      for (const [index, param] of params.entries()) {
        const type = readType(param);
        const isFirst = index === 0 && FACTORY.test(name);
        if (!type || !(isFirst || (param.type === 'Identifier' && PARAMETER.test(param.name)))) continue;
        const called = param.type === 'Identifier' ? param.name : 'parameter';
        parameters.push([`${called} of ${name}`, { file, line: readLine(start), type }]);
      }
    };
    new Visitor({
      TSTypeAliasDeclaration({ id, typeAnnotation, start }) {
        const own = { file, line: readLine(start), type: typeAnnotation };
        declared.set(id.name, [...(declared.get(id.name) ?? []), own]);
      },
      FunctionDeclaration: ({ id, params, start }) => readParameters(id?.name ?? 'a function', params, start),
      VariableDeclarator({ id, init, start }) {
        if (id.type === 'Identifier' && init?.type === 'ArrowFunctionExpression')
          readParameters(id.name, init.params, start);
      },
    }).visit(parseSync(file, source).program);
  }
  const named = [...declared].flatMap(([name, all]) =>
    NAME.test(name) ? all.map((each): [string, Declared] => [name, each]) : [],
  );
  // A parameter whose type has a name of dependencies is told with its type.
  const written = parameters.filter(([, { type }]) => {
    const name = readName(type);
    return name === undefined || !(NAME.test(name) || DATA.test(name));
  });
  return [...named, ...written].flatMap(([name, { file, line, type }]) => {
    const { size } = readMembers(type, { file, declared });
    return size > MAX_MEMBERS ? [`${file}:${line}: ${name} has ${size} members, ${MAX_MEMBERS} is the ceiling`] : [];
  });
}

const readType = (param: ParamPattern): TSType | undefined =>
  param.type === 'Identifier' || param.type === 'ObjectPattern' ? param.typeAnnotation?.typeAnnotation : undefined;

const readName = (type: TSType): string | undefined =>
  type.type === 'TSTypeReference' && type.typeName.type === 'Identifier' ? type.typeName.name : undefined;

type Scope = { file: string; declared: ReadonlyMap<string, readonly Declared[]> };

/** The names of an object type's members, as far as this program declares them. */
function readMembers(type: TSType, scope: Scope): Set<string> {
  if (type.type === 'TSParenthesizedType') return readMembers(type.typeAnnotation, scope);
  if (type.type === 'TSIntersectionType') return new Set(type.types.flatMap((each) => [...readMembers(each, scope)]));
  if (type.type === 'TSTypeLiteral') {
    const names = type.members.map((member) =>
      'key' in member && member.key.type === 'Identifier' ? member.key.name : `${member.start}`,
    );
    return new Set(names);
  }
  if (type.type !== 'TSTypeReference' || type.typeName.type !== 'Identifier') return new Set();
  const [whole, keys] = type.typeArguments?.params ?? [];
  const { name } = type.typeName;
  if (name === 'Pick') return keys ? readLiterals(keys) : new Set();
  if (['Omit', 'Partial', 'Readonly', 'Required'].includes(name) && whole) {
    const left = keys ? readLiterals(keys) : new Set<string>();
    return new Set([...readMembers(whole, scope)].filter((member) => !left.has(member)));
  }
  const found = scope.declared.get(name) ?? [];
  const near = found.find(({ file }) => file === scope.file) ?? (found.length === 1 ? found[0] : undefined);
  return near ? readMembers(near.type, { ...scope, file: near.file }) : new Set();
}

function readLiterals(type: TSType): Set<string> {
  if (type.type === 'TSUnionType') return new Set(type.types.flatMap((each) => [...readLiterals(each)]));
  return type.type === 'TSLiteralType' && type.literal.type === 'Literal'
    ? new Set([String(type.literal.value)])
    : new Set();
}

if (import.meta.main) {
  const findings = checkDependencies(root);
  for (const finding of findings) process.stderr.write(`${finding}\n`);
  process.exitCode = findings.length > 0 ? 1 : 0;
}

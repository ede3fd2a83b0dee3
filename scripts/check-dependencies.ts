import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, type TSType, Visitor } from 'oxc-parser';
import { listFiles, root } from './hash-inputs.ts';

/** A reader holds about as many at once. A room that needs more is two rooms, or groups them. */
const MAX_MEMBERS = 12;
const NAME = /(?:Deps|Services|Dependencies|Context|Parts)$/;
const PARAMETER = /^(?:ctx|deps|services)$/;

type Declared = { file: string; line: number; type: TSType };

/**
 * Types of dependencies below `src` of `base` with more than twelve members, named or written at a
 * parameter, as `file:line: what`.
 */
export function checkDependencies(base: string): string[] {
  const declared = new Map<string, Declared[]>();
  const parameters: [string, Declared][] = [];
  for (const file of listFiles('src', base).filter((each) => /\.tsx?$/.test(each))) {
    const source = readFileSync(join(base, file), 'utf8');
    const readLine = (start: number): number => source.slice(0, start).split('\n').length;
    new Visitor({
      TSTypeAliasDeclaration({ id, typeAnnotation, start }) {
        const own = { file, line: readLine(start), type: typeAnnotation };
        declared.set(id.name, [...(declared.get(id.name) ?? []), own]);
      },
      FunctionDeclaration({ id, params, start }) {
        for (const param of params) {
          if (param.type !== 'Identifier' || !PARAMETER.test(param.name) || !param.typeAnnotation) continue;
          const name = `${param.name} of ${id?.name ?? 'a function'}`;
          parameters.push([name, { file, line: readLine(start), type: param.typeAnnotation.typeAnnotation }]);
        }
      },
    }).visit(parseSync(file, source).program);
  }
  const named = [...declared].flatMap(([name, all]) =>
    NAME.test(name) ? all.map((each): [string, Declared] => [name, each]) : [],
  );
  // A parameter of a named type is told with its type.
  const written = parameters.filter(([, { type }]) => type.type !== 'TSTypeReference');
  return [...named, ...written].flatMap(([name, { file, line, type }]) => {
    const { size } = readMembers(type, { file, declared });
    return size > MAX_MEMBERS ? [`${file}:${line}: ${name} has ${size} members, ${MAX_MEMBERS} is the ceiling`] : [];
  });
}

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

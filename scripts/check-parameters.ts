import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Function as FunctionNode, parseSync, type TSMethodSignature, Visitor } from 'oxc-parser';
import { listFiles, root } from './hash-inputs.ts';

/** Further inputs go into one object, where the call names them. */
const MAX_PARAMETERS = 3;
const folders = ['src', 'scripts', 'bench', 'contracts', 'test'];

/**
 * Functions, methods and function types below `base` with more than three positional parameters,
 * as `file:line: what`. Functions that take the cells of a table's row (`test.each`) may have more.
 */
export function checkParameters(base: string): string[] {
  return folders
    .flatMap((folder) => listFiles(folder, base))
    .filter((file) => /\.(ts|tsx|mjs|js)$/.test(file) && !/\.gen\./.test(file))
    .flatMap((file) => checkFile(file, readFileSync(join(base, file), 'utf8')));
}

function checkFile(file: string, source: string): string[] {
  const findings: string[] = [];
  const rowFunctions = new Set<number>();
  const check = ({ params, start }: Pick<FunctionNode | TSMethodSignature, 'params' | 'start'>): void => {
    if (params.length <= MAX_PARAMETERS || rowFunctions.has(start)) return;
    const line = source.slice(0, start).split('\n').length;
    findings.push(`${file}:${line}: ${params.length} positional parameters, ${MAX_PARAMETERS} is the ceiling`);
  };
  new Visitor({
    CallExpression({ callee, arguments: given }) {
      if (callee.type !== 'CallExpression' || callee.callee.type !== 'MemberExpression') return;
      const { property } = callee.callee;
      if (property.type === 'Identifier' && property.name === 'each')
        for (const each of given) rowFunctions.add(each.start);
    },
    FunctionDeclaration: check,
    FunctionExpression: check,
    ArrowFunctionExpression: check,
    TSDeclareFunction: check,
    TSEmptyBodyFunctionExpression: check,
    TSFunctionType: check,
    TSMethodSignature: check,
    TSCallSignatureDeclaration: check,
  }).visit(parseSync(file, source).program);
  return findings;
}

if (import.meta.main) {
  const findings = checkParameters(root);
  for (const finding of findings) console.error(finding);
  process.exitCode = findings.length > 0 ? 1 : 0;
}

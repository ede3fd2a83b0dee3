import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type InterfaceDeclaration,
  type Node,
  type SourceFile,
  type Statement,
  SyntaxKind,
  type TypeAliasDeclaration,
  type TypeElement,
} from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/async';
import { createVirtualFileSystem } from 'typescript/unstable/fs';
import { root } from './hash-inputs.ts';

/**
 * Writes docs/plugin-reference.md from contracts/v1.d.ts, or with `--check` says whether it is up
 * to date (exit 1 when not): `bun scripts/print-plugin-reference.ts [--check]`.
 */
async function main(args: readonly string[]): Promise<number> {
  const path = join(root, 'docs/plugin-reference.md');
  const wanted = await pluginReference(readFileSync(join(root, 'contracts/v1.d.ts'), 'utf8'));
  if (!args.includes('--check')) {
    writeFileSync(path, wanted);
    return 0;
  }
  if (readFileSync(path, 'utf8') === wanted) return 0;
  console.error('docs/plugin-reference.md is out of date: run bun scripts/print-plugin-reference.ts');
  return 1;
}

/** The reference as Markdown. Throws when a hook says no word about when it runs. */
export async function pluginReference(contract: string): Promise<string> {
  const file = await parse(contract);
  const declared = new Map(file.statements.filter(isDeclaration).map((one) => [one.name.text, one]));
  const hooks = [
    ...['ProtoVideoHooks', 'ProtoResponsesHooks', 'ProtoImageHooks'].flatMap((name) => listHooks(file, declared, name)),
    ...['NativeDecoder', 'NativePresenter'].flatMap((name) => readFunctionType(file, declared, name)),
    ...listHooks(file, declared, 'NativeHooks'),
    ...listHooks(file, declared, 'PluginModule'),
    ...listHooks(file, declared, 'HookExtensions'),
  ];
  const modules = new Set(Object.keys(PREFIXES));
  const types = [...declared.values()].filter(({ name }) => !modules.has(name.text) && !/^Native[DP]/.test(name.text));
  return [
    '# Reference of the plugin contract',
    '',
    'Generated from [`contracts/v1.d.ts`](../contracts/v1.d.ts) by `scripts/print-plugin-reference.ts`; do not edit.',
    '[Writing a plugin](plugins.md) shows how the parts work together.',
    '',
    describe(readHead(contract)),
    '',
    '## Hooks',
    '',
    'A hook marked with `?` may be left out, unless its text says what needs it.',
    '',
    '| hook | when it runs |',
    '|---|---|',
    ...hooks.map(({ name, when }) => `| [\`${name}\`](#${anchor(name)}) | ${cell(when)} |`),
    '',
    ...hooks.flatMap(describeHook),
    '## Types',
    '',
    ...types.flatMap((one) => describeType(file, one)),
  ].join('\n');
}

type Declaration = InterfaceDeclaration | TypeAliasDeclaration;
type Hook = { name: string; signature: string; text: string; when: string; limits: string | undefined };
type Comment = { text: string; tags: Map<string, string> };

const isDeclaration = (node: Statement): node is Declaration =>
  node.kind === SyntaxKind.InterfaceDeclaration || node.kind === SyntaxKind.TypeAliasDeclaration;
const isInterface = (node: Node): node is InterfaceDeclaration => node.kind === SyntaxKind.InterfaceDeclaration;

async function parse(text: string): Promise<SourceFile> {
  const fs = createVirtualFileSystem({
    '/contract/tsconfig.json': '{"files":["v1.d.ts"],"compilerOptions":{"types":[],"noLib":true}}',
    '/contract/v1.d.ts': text,
  });
  const api = new API({ cwd: '/contract', fs });
  try {
    const snapshot = await api.updateSnapshot({ openProjects: ['/contract/tsconfig.json'] });
    const file = await snapshot.getProjects()[0]?.program.getSourceFile('/contract/v1.d.ts');
    if (!file) throw new Error('the contract could not be parsed');
    return file;
  } finally {
    await api.close();
  }
}

/** The comment that stands before everything else. */
const readHead = (text: string): string => readComment(text.slice(0, text.indexOf('*/') + 2)).text;

/** The documentation comment right before a node: its text, and its tags by their names. */
function commentFor(file: SourceFile, node: Node): Comment {
  const before = file.text.slice(node.pos, node.getStart(file));
  // After an empty line it is about something else, as the one at the head of the file.
  const isOwn = /\*\/[ \t]*\n?[ \t]*$/.test(before);
  return readComment(isOwn ? before.slice(before.lastIndexOf('/**')) : '');
}

function readComment(raw: string): Comment {
  const lines = /\/\*\*([\s\S]*?)\*\//.exec(raw)?.[1]?.split('\n') ?? [];
  const [text = '', ...tags] = lines
    .map((line) => line.replace(/^\s*\*? ?/, '').trimEnd())
    .join('\n')
    .split(/(?:^|\n)@/);
  const named = tags.map((tag): [string, string] => {
    const [, name = '', value = ''] = /^(\w+)\s*([\s\S]*)$/.exec(tag) ?? [];
    return [name, value.replace(/\s+/g, ' ').trim()];
  });
  return { text: text.trim(), tags: new Map(named) };
}

/** A comment as Markdown: links to declarations become their names. */
const describe = (text: string): string =>
  text.replace(/\{@link (\w+)\}/g, '[`$1`](#$1)').replace(/\]\(#(\w+)\)/g, (_, name) => `](#${anchor(name)})`);

/** One line of a table. */
const cell = (text: string): string => describe(text).replace(/\s+/g, ' ').replaceAll('|', '\\|').trim();

/** As GitHub makes them of headings. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');

const PREFIXES: Readonly<Record<string, string>> = {
  ProtoVideoHooks: 'protocols.proto_video.',
  ProtoResponsesHooks: 'protocols.proto_responses.',
  ProtoImageHooks: 'protocols.proto_image.',
  NativeHooks: 'native.',
  PluginModule: '',
  HookExtensions: '',
};

function listHooks(file: SourceFile, declared: ReadonlyMap<string, Declaration>, from: string): Hook[] {
  const declaration = declared.get(from);
  if (!declaration || !isInterface(declaration)) throw new Error(`the contract declares no interface ${from}`);
  return declaration.members
    .filter(({ kind }) => kind === SyntaxKind.MethodSignature)
    .map((member) =>
      makeHook(file, member, { name: `${PREFIXES[from]}${readName(file, member)}`, signature: readText(file, member) }),
    );
}

function readFunctionType(file: SourceFile, declared: ReadonlyMap<string, Declaration>, name: string): Hook[] {
  const declaration = declared.get(name);
  if (!declaration || isInterface(declaration)) throw new Error(`the contract declares no type ${name}`);
  const hook = name === 'NativeDecoder' ? 'native.<decode>' : 'native.<render>';
  return [makeHook(file, declaration, { name: hook, signature: declaration.type.getText(file) })];
}

function makeHook(file: SourceFile, node: Node, { name, signature }: Pick<Hook, 'name' | 'signature'>): Hook {
  const { text, tags } = commentFor(file, node);
  const when = tags.get('when');
  if (when === undefined) throw new Error(`${name} has no @when`);
  return { name, signature, text, when, limits: tags.get('limits') };
}

const describeHook = ({ name, signature, text, when, limits }: Hook): string[] => [
  `### \`${name}\``,
  '',
  '```ts',
  signature,
  '```',
  '',
  describe(text),
  '',
  `- **When**: ${describe(when)}.`,
  ...(limits === undefined ? [] : [`- **At most**: ${describe(limits)}.`]),
  '',
];

/** The name of a member; an index signature has none. */
const readName = (file: SourceFile, member: TypeElement & { name?: Node }): string => member.name?.getText(file) ?? '';

/** The source of a node without what separates it from the next one. */
const readText = (file: SourceFile, node: Node): string => node.getText(file).replace(/[;,]$/, '');

function describeType(file: SourceFile, node: Declaration): string[] {
  const head = [`### \`${node.name.text}\``, '', ...paragraph(commentFor(file, node).text)];
  if (!isInterface(node)) return [...head, '```ts', readText(file, node).replace(/^export /, ''), '```', ''];
  const bases = node.heritageClauses?.flatMap(({ types }) => types.map((type) => type.getText(file))) ?? [];
  return [
    ...head,
    ...(bases.length > 0
      ? [`All of ${bases.map((name) => `[\`${name}\`](#${anchor(name)})`).join(' and ')}, and:`, '']
      : []),
    '| member | type | |',
    '|---|---|---|',
    ...node.members.map((member) => describeMember(file, member)),
    '',
  ];
}

const paragraph = (text: string): string[] => (text === '' ? [] : [describe(text), '']);

function describeMember(file: SourceFile, member: TypeElement): string {
  const source = readText(file, member);
  const name = readName(file, member);
  const optional = source.slice(name.length).startsWith('?');
  const type = source.slice(name.length + (optional ? 1 : 0)).replace(/^:\s*/, '');
  const oneLine = type.replace(/\/\*\*[\s\S]*?\*\//g, '').replace(/\s+/g, ' ');
  return `| \`${name}${optional ? '?' : ''}\` | \`${oneLine.replaceAll('|', '\\|')}\` | ${cell(commentFor(file, member).text)} |`;
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));

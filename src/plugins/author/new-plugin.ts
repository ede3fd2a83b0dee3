import { err, hasHiddenCharacters, ok, type Result, trimTrailing } from '../../kernel/index.ts';
import { embedText } from '../embed-text.ts' with { type: 'macro' };
import { CONTRACT } from '../lint/contract-fields.ts';

/** The files of new plugins, before names are filled in. */
const TEMPLATE = {
  plugin: embedText('author/template/plugin.js'),
  fixture: embedText('author/template/fixture.json'),
  jsconfig: embedText('author/template/jsconfig.json'),
  typescriptPlugin: embedText('author/template/plugin.ts.txt'),
  tsconfig: embedText('author/template/tsconfig.json'),
  package: embedText('author/template/package.json'),
};

/** The npm package of the contract, which templates import and editors find by their settings. */
const CONTRACT_PACKAGE = {
  'package.json': embedText('../../contracts/package.json'),
  'index.d.ts': embedText('../../contracts/index.d.ts'),
  'globals.d.ts': embedText('../../contracts/globals.d.ts'),
  'v1.schema.json': embedText('../../contracts/v1.schema.json'),
  'v1.d.ts': CONTRACT,
};

export type NewPlugin = {
  key: string;
  name: string;
  /** Text by path in the plugin's folder. `shared`: all plugins in it have this file. */
  files: { name: string; text: string; shared: boolean }[];
};

/** The contract's rule of `meta.key`. */
const KEY = /^[a-z0-9][a-z0-9_-]{0,29}$/;
const RESERVED_KEYS: readonly string[] = ['runtime', 'marketplace'];
const MAX_NAME_LENGTH = 100;

/**
 * The files of a new plugin that works with the demo vendor. The key is the name in lower case,
 * with hyphens for characters that a key may not have. The error says why there is no key.
 */
export function newPlugin(
  requestedName: string,
  { typescript = false }: { typescript?: boolean } = {},
): Result<NewPlugin, string> {
  const name = requestedName.trim();
  if (name === '' || [...name].length > MAX_NAME_LENGTH || hasHiddenCharacters(name)) {
    return err(`a name is one line of 1 to ${MAX_NAME_LENGTH} visible characters`);
  }
  const hyphenated = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^[-_]+/, '');
  const key = trimTrailing(hyphenated, '-');
  if (!KEY.test(key)) {
    return err(
      `${JSON.stringify(name)} gives the key ${JSON.stringify(key)}; a key has 1 to 30 of a-z, 0-9, "_" and "-" and begins with a letter or ` +
        'digit: give a name with Latin letters, and change meta.name afterwards',
    );
  }
  if (RESERVED_KEYS.includes(key)) return err(`the key "${key}" is reserved for the gateway: choose another name`);
  const quoted = name.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
  const fill = (text: string): string => text.replaceAll('plugin-key', key).replaceAll('Plugin Name', () => quoted);
  return ok({
    key,
    name,
    files: [
      typescript
        ? { name: `${key}.ts`, text: fill(TEMPLATE.typescriptPlugin), shared: false }
        : { name: `${key}.js`, text: fill(TEMPLATE.plugin), shared: false },
      { name: `${key}.fixture.json`, text: fill(TEMPLATE.fixture), shared: false },
      ...Object.entries(CONTRACT_PACKAGE).map(([name, text]) => ({
        name: `taskgate-plugin-types/${name}`,
        text,
        shared: true,
      })),
      ...(typescript
        ? [
            { name: 'tsconfig.json', text: TEMPLATE.tsconfig, shared: true },
            { name: 'package.json', text: TEMPLATE.package, shared: true },
          ]
        : [{ name: 'jsconfig.json', text: TEMPLATE.jsconfig, shared: true }]),
    ],
  });
}

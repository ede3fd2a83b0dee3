import { embedText } from './embed-text.ts' with { type: 'macro' };

/** The files of new plugins, before names are filled in. */
export const TEMPLATE = {
  plugin: embedText('template/plugin.js'),
  fixture: embedText('template/fixture.json'),
  jsconfig: embedText('template/jsconfig.json'),
  typescriptPlugin: embedText('template/plugin.ts.txt'),
  tsconfig: embedText('template/tsconfig.json'),
  package: embedText('template/package.json'),
};

/** The npm package of the contract, which templates import and editors find by their settings. */
export const CONTRACT_PACKAGE = {
  'package.json': embedText('../../../contracts/package.json'),
  'index.d.ts': embedText('../../../contracts/index.d.ts'),
  'globals.d.ts': embedText('../../../contracts/globals.d.ts'),
  'v1.schema.json': embedText('../../../contracts/v1.schema.json'),
};

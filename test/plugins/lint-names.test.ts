import { afterAll, expect, test } from 'bun:test';
import { lintPlugin } from '../../src/plugins/author/index.ts';
import { LANGUAGE } from '../../src/plugins/lint/compare-with-contract.ts';
import { createCompiler } from '../../src/plugins/worker/compile-plugin.ts';
import { hook, plugin, readResult } from '../sandbox/start-sandbox.ts';
import { pluginSource, startSandbox } from './support.ts';

const sandbox = startSandbox();
const compiler = createCompiler(sandbox);
afterAll(() => sandbox.close());

const lint = (more: string) => lintPlugin(pluginSource({}, more), sandbox, { compiler });
const messages = async (more: string): Promise<string[]> =>
  (await lint(more)).warnings.filter(({ rule }) => rule === 'name.unknown').map(({ message }) => message);

test.each([
  ['export function f() { return utils.sha25("a") }', ['utils has no "sha25"; is it "sha256"?']],
  ['const { hmacSha256 } = utils;', ['utils has no "hmacSha256"; is it "hmacSHA256"?']],
  ['export function f() { console.error("a") }', ['console has no "error"']],
  ['export function f() { return new URL("https://a.b") }', ['there is no global "URL"']],
  ['export function f() { return structuredClone({}) }', ['there is no global "structuredClone"']],
  ['export function f(order) { return ordr.id }', ['there is no global "ordr"; is it "order"?']],
])('a name that the sandbox does not have: %s', async (source, expected) => {
  expect(await messages(source)).toEqual(expected);
});

test.each([
  'export function f() { return typeof utils.other === "function" ? utils.other() : utils.sha256("a") }',
  'export function f() { return typeof URL === "undefined" ? 1 : new URL("a") }',
  'export function f() { const utils = { mine: () => 1 }; return utils.mine() }',
  'export function f({ a: [b], ...rest }) { try { rest.c(b.d) } catch (error) { return error.message } }',
  'class Own { static #x = 1; y() { return Own.z } } export const f = (g = () => arguments.length) => g(Own)',
  'export function f() { for (const [k, v] of Object.entries({})) console.log(k.x, v.y, new Uint8Array(1), JSON.parse("1")) }',
])('a name that it has, or that is tested: %s', async (source) => {
  expect(await messages(source)).toEqual([]);
});

test('the known language is what the sandbox has', async () => {
  const module = plugin('export function names() { return Object.getOwnPropertyNames(globalThis) }');
  const names = (await readResult(sandbox, module, hook('names'))) as string[];
  expect([...LANGUAGE].filter((name) => name !== 'arguments').sort()).toEqual(names.sort());
});

test('extensions of this gateway are told, unless the plugin tests for them', async () => {
  const uses = 'export const parseSubmitError = () => null; export const f = () => utils.sha256(utils.base64("a"));';
  expect((await lint(uses)).extensions).toEqual(['parseSubmitError', 'utils.sha256']);
  const fields = `export const buildContentRequest = (ctx) => {
    const request = { url: ctx.baseUrl, redirectHosts: ['cdn.example.com'] };
    request.base64 = { index: 0, mimeType: 'video/mp4' };
    return request;
  };
  export const listArtifacts = () => [];`;
  expect((await lint(fields)).extensions).toEqual(['buildContentRequest.base64', 'buildContentRequest.redirectHosts']);
  for (const [params, bytes] of [
    ['ctx, response', 'response.base64'],
    ['ctx, { base64 }', 'base64'],
  ]) {
    const source = pluginSource().replace(
      '(ctx, response) { return { taskId: response.body.id }; }',
      `(${params}) { return { taskId: ${bytes} }; }`,
    );
    expect((await lintPlugin(source, sandbox, { compiler })).extensions).toEqual(['response.base64']);
  }
  const tests = 'export const f = () => (typeof utils.sha256 === "function" ? utils.sha256("a") : "");';
  expect((await lint(tests)).extensions).toEqual([]);
});

/** What a plugin may do: by its manifest and its source, and compared with another version. */
import { describe, expect, test } from 'bun:test';
import { checkSource } from '../../src/plugins/source/check-source.ts';
import {
  comparePermissions,
  describePermissions,
  type PermissionCode,
} from '../../src/plugins/source/describe-permissions.ts';
import type { Manifest } from '../../src/plugins/types.ts';
import { baseMeta } from './support.ts';

const manifest = (change: Partial<Manifest> = {}): Manifest =>
  ({ ...baseMeta, allowedHosts: [], channelTypes: [], protocols: [], routes: [], ...change }) as unknown as Manifest;

/** The codes that the hooks of a source add. */
function codesFor(hooks: string, change: Partial<Manifest> = {}): PermissionCode[] {
  const { program } = checkSource(hooks);
  if (!program) throw new Error('the source has a fault');
  const fromManifest = describePermissions(manifest(change), undefined).map(({ code }) => code);
  return describePermissions(manifest(change), program)
    .map(({ code }) => code)
    .filter((code) => !fromManifest.includes(code));
}

test('the manifest says hosts, models, protocols, routes and channel types', () => {
  const claim = { name: 'proto_video' as const, writtenAs: 'openai_video', supports: [], models: ['acme-1'] };
  const route = {
    method: 'POST' as const,
    path: '/acme/jobs',
    type: 'submit' as const,
    render: 'a',
    taskIdParam: 'id',
    retainResult: true,
  };
  const whole = manifest({
    baseUrl: 'https://api.acme.example/v2',
    allowedHosts: ['cdn.acme.example:8443'],
    protocols: [claim],
    routes: [route],
    channelTypes: [61],
  });
  expect(describePermissions(whole, undefined)).toEqual([
    { code: 'hosts', values: ['api.acme.example', 'cdn.acme.example:8443'] },
    { code: 'redirects', values: [] },
    { code: 'models', values: ['acme-1', 'acme-2'] },
    { code: 'protocols', values: ['proto_video'] },
    { code: 'routes', values: ['POST /acme/jobs'] },
    { code: 'channel_types', values: ['61'] },
  ]);
  expect(describePermissions(manifest(), undefined).map(({ code }) => code)).toEqual(['channel_host', 'models']);
});

describe('the source says what it reads', () => {
  test.each<[source: string, codes: PermissionCode[]]>([
    ['export const f = (ctx) => ({ headers: { authorization: ctx.authHeader } });', ['channel_key']],
    ['const key = ({ apiKey }) => apiKey; export function f(ctx) { return key(ctx); }', ['channel_key']],
    ["export function f(ctx) { return ctx['apiKey']; }", ['channel_key']],
    ['export function f(ctx) { return { apiKey: 1, auth: 2 }; }', []],
    ['export function f(ctx) { return { body: ctx }; }', ['whole_context']],
    ['export function f(ctx) { return { ...ctx }; }', ['whole_context']],
    ['export function f(ctx) { return JSON.stringify(ctx); }', ['whole_context']],
    ['export function f(ctx) { const name = "api" + "Key"; return ctx[name]; }', ['whole_context']],
    ['export const native = { f(c) { return Object.entries(c); } };', ['whole_context']],
    ['export function f(ctx, body) { return JSON.stringify(body) + ctx.requestBody[0]; }', []],
    ['const table = {}; export function f(ctx) { return table[ctx.model]; }', []],
    ['export function f(ctx) { return ctx.requestHeaders.Accept + ctx.query.a; }', ['client_headers', 'client_query']],
    ['export function f(ctx) { return ctx.requestBody.query; }', []],
    [
      'export function f(ctx) { return { parts: [{ name: "image", fileRef: "request_file:image" }] }; }',
      ['client_files'],
    ],
    ['export function f(task) { return { url: task.data.url, credentialless: true }; }', ['any_host']],
  ])('%s', (source, codes) => {
    expect(codesFor(source)).toEqual(codes);
  });

  test('a service account is told as its access token', () => {
    const reads = 'export function f(ctx) { return ctx.authHeader; }';
    expect(codesFor(reads, { auth: { type: 'oauth2_jwt' } })).toEqual(['access_token']);
  });
});

test('a comparison names what is gained, lost and kept; without a former version all is gained', () => {
  const before = describePermissions(manifest({ allowedHosts: ['a.example', 'b.example'] }), undefined);
  const { program } = checkSource('export function f(ctx) { return ctx.apiKey; }');
  const after = describePermissions(
    manifest({ allowedHosts: ['b.example', 'c.example'], models: ['acme-1'] }),
    program,
  );
  expect(comparePermissions(before, after)).toEqual({
    gained: [
      { code: 'hosts', values: ['c.example'] },
      { code: 'channel_key', values: [] },
    ],
    lost: [
      { code: 'hosts', values: ['a.example'] },
      { code: 'models', values: ['acme-2'] },
    ],
    kept: [
      { code: 'hosts', values: ['b.example'] },
      { code: 'channel_host', values: [] },
      { code: 'redirects', values: [] },
      { code: 'models', values: ['acme-1'] },
    ],
  });
  expect(comparePermissions(undefined, after)).toEqual({ gained: after, lost: [], kept: [] });
});

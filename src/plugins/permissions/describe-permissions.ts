import type { Node } from 'acorn';
import { isObject } from '../../kernel/index.ts';
import type { Manifest } from '../types.ts';
import { findContextUse } from './find-context-use.ts';

/**
 * What a plugin may do, as a code and the names that it concerns. The panel and the command line
 * put it into words.
 *
 * - `hosts`: sends requests to these. `channel_host`: only to the address that the channel names.
 * - `redirects`: answers may lead from one of its hosts to another.
 * - `any_host`: downloads results from any public address, without headers.
 * - `channel_key`, `access_token`: reads the channel's key, or a token that the gateway got for it.
 * - `whole_context`: hands on all that it knows of a request, or reads it by names that are not
 *   written down: with its credentials.
 * - `client_headers`, `client_query`, `client_files`: reads these of the client's request.
 * - `models`, `protocols`, `routes`, `channel_types`: serves these.
 */
export type PermissionCode =
  | 'hosts'
  | 'channel_host'
  | 'redirects'
  | 'any_host'
  | 'channel_key'
  | 'access_token'
  | 'whole_context'
  | 'client_headers'
  | 'client_query'
  | 'client_files'
  | 'models'
  | 'protocols'
  | 'routes'
  | 'channel_types';

export type Permission = { code: PermissionCode; values: string[] };

export type PermissionChanges = { gained: Permission[]; lost: Permission[]; kept: Permission[] };

/**
 * What a plugin may do by its manifest, and by what its source says. This describes and confines
 * nothing: a source can hide what it reads.
 */
export function describePermissions(manifest: Manifest, program: Node | undefined): Permission[] {
  const { baseUrl, allowedHosts, models, protocols, routes, channelTypes } = manifest;
  const hosts = [...new Set([...(baseUrl === undefined ? [] : [new URL(baseUrl).host]), ...allowedHosts])];
  const list = (code: PermissionCode, values: string[]): Permission[] => (values.length > 0 ? [{ code, values }] : []);
  const flag = (code: PermissionCode, isSet: boolean): Permission[] => (isSet ? [{ code, values: [] }] : []);
  return [
    ...list('hosts', hosts),
    ...flag('channel_host', baseUrl === undefined),
    ...flag('redirects', allowedHosts.length > 0),
    ...(program ? readPermissions(manifest, program) : []),
    ...list('models', models),
    ...list(
      'protocols',
      protocols.map(({ name }) => name),
    ),
    ...list(
      'routes',
      routes.map(({ method, path }) => `${method} ${path}`),
    ),
    ...list('channel_types', channelTypes.map(String)),
  ];
}

function readPermissions({ auth }: Manifest, program: Node): Permission[] {
  const { read, readOfContext, written, passesWhole } = findContextUse(program);
  const usesToken = (isObject(auth) ? auth.type : auth) === 'oauth2_jwt';
  const readsKey = ['apiKey', 'authHeader'].some((name) => read.has(name)) || readOfContext.has('auth');
  const flags: [PermissionCode, boolean][] = [
    ['any_host', written.has('credentialless')],
    [usesToken ? 'access_token' : 'channel_key', readsKey],
    ['whole_context', passesWhole],
    ['client_headers', read.has('requestHeaders') || read.has('clientRequest')],
    ['client_query', readOfContext.has('query')],
    ['client_files', readOfContext.has('files') || written.has('fileRef') || written.has('__fileRef')],
  ];
  return flags.flatMap(([code, isSet]) => (isSet ? [{ code, values: [] }] : []));
}

/** `before` is `undefined` if no plugin serves: everything is gained then. */
export function comparePermissions(
  before: readonly Permission[] | undefined,
  after: readonly Permission[],
): PermissionChanges {
  return {
    gained: select(after, before, false),
    lost: select(before ?? [], after, false),
    kept: select(after, before, true),
  };
}

/** What of `list` is in `other` too, or is not. */
function select(list: readonly Permission[], other: readonly Permission[] | undefined, isIn: boolean): Permission[] {
  const known = new Map(other?.map(({ code, values }) => [code, new Set(values)]));
  return list.flatMap(({ code, values }): Permission[] => {
    const theirs = known.get(code);
    if (values.length === 0) return (theirs !== undefined) === isIn ? [{ code, values }] : [];
    const found = values.filter((value) => (theirs?.has(value) ?? false) === isIn);
    return found.length > 0 ? [{ code, values: found }] : [];
  });
}

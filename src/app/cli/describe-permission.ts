import type { Permission, PermissionCode } from '../../plugins/index.ts';

const WORDS: Record<PermissionCode, string> = {
  hosts: 'sends requests to',
  channel_host: "sends requests to the channel's own address",
  redirects: 'answers may lead from one of its hosts to another',
  any_host: 'downloads results from any public address, without headers',
  channel_key: "reads the channel's key",
  access_token: "reads an access token that the gateway gets for the channel's service account",
  whole_context: 'hands on all that it knows of a request, credentials included, or reads it by computed names',
  client_headers: "reads headers of the client's request",
  client_query: "reads the query of the client's request",
  client_files: "sends the client's files on",
  models: 'serves the models',
  protocols: 'serves the protocols',
  routes: 'answers at',
  channel_types: 'serves channels of type',
};

/** What a plugin may do, in words. */
export const describePermission = ({ code, values }: Permission): string =>
  values.length === 0 ? WORDS[code] : `${WORDS[code]} ${values.join(', ')}`;

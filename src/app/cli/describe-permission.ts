import type { Permission, PermissionCode } from '../../plugins/index.ts';

const WORDS: Record<PermissionCode, string> = {
  hosts: 'sends requests to',
  channel_host: "sends requests to the channel's base URL",
  redirects: 'allows redirects between its hosts',
  any_host: 'downloads results from any public address, without headers',
  channel_key: "reads the channel's key",
  access_token: "reads an access token of the channel's service account, not its key",
  whole_context: 'passes on the whole request context, including credentials, or reads it by computed names',
  client_headers: "reads headers of the client's request",
  client_query: "reads the query of the client's request",
  client_files: "forwards the client's files",
  models: 'offers the models',
  protocols: 'supports the protocols',
  routes: 'handles',
  channel_types: 'handles channel types',
};

/** What a plugin may do, in words. */
export const describePermission = ({ code, values }: Permission): string =>
  values.length === 0 ? WORDS[code] : `${WORDS[code]} ${values.join(', ')}`;

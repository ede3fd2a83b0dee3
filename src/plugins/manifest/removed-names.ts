/** Names of earlier contracts, with what to write instead. Without prototype, for safe lookups. */
const names = (entries: Record<string, string>): Record<string, string | undefined> =>
  Object.assign(Object.create(null), entries);

export const REMOVED_NAMES = names({
  channelType: 'Write channelTypes: [number], or leave it out and bind a channel by the plugin key.',
  compatibleChannelTypes: 'List every type in channelTypes.',
  endpoints: 'Declare native URLs in routes and host protocols in protocols.',
  submitPaths: 'Declare native URLs in routes.',
  actions: 'A decoder or a route names the action.',
  resolveRequest: 'Decode in a member of native, or in protocols.<name>.decodeRequest.',
  renderError: 'Export native.error(ctx, error).',
  renderers: 'Put presenters into native and name them in routes[].render.',
});

export const REMOVED_ROUTE_NAMES = names({ renderer: 'Name the presenter in render.' });

export const REMOVED_EXPORTS = names({
  endpoints: 'Declare native URLs in meta.routes and host protocols in meta.protocols.',
  resolveRequest: 'Decode in a member of native, or in protocols.<name>.decodeRequest.',
  renderError: 'Export native.error(ctx, error).',
  renderers: 'Put presenters into native and name them in routes[].render.',
});

import type { OfferedModel } from '../../billing/index.ts';
import { type Channels, mapModel, RELAY_TYPE } from '../../channels/index.ts';
import type { Generation, LoadedPlugin } from '../../plugins/index.ts';
import { STATUS } from '../../store/ports/index.ts';

/**
 * Every model that a plugin has or a channel lists, with who serves it: what prices are compared
 * with.
 */
export function listOfferedModels(
  plugins: { current(): Generation },
  channels: Pick<Channels, 'known'>,
): OfferedModel[] {
  const generation = plugins.current();
  const known = channels.known().map((channel) => ({
    channel,
    plugin: channel.taskPluginKey
      ? generation.plugins.get(channel.taskPluginKey)
      : generation.byChannelType(channel.type),
  }));
  const own = [...generation.plugins.values()].flatMap(({ key, manifest }) =>
    manifest.models.map((model) => ({
      pluginKey: key,
      model,
      upstreamModel: model,
      facts: Object.keys(manifest.usageSchema),
      // A channel's listing of it is an entry of its own below.
      offered: false,
    })),
  );
  // The models of a channel whose plugin is gone are nobody's.
  const served = known.filter(({ channel, plugin }) => plugin || channel.type === RELAY_TYPE);
  const listed = served.flatMap(({ channel, plugin }) =>
    channel.models.map((model) => ({
      pluginKey: plugin?.key ?? null,
      model,
      upstreamModel: mapModel(channel.modelMapping, model),
      facts: factsOf(plugin),
      offered: channel.status === STATUS.enabled,
    })),
  );
  return [...own, ...listed];
}

const factsOf = (plugin: LoadedPlugin | undefined): string[] | null =>
  plugin ? Object.keys(plugin.manifest.usageSchema) : null;

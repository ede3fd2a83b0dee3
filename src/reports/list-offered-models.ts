import type { OfferedModel } from '../billing/index.ts';
import { type Channels, mapModel, RELAY_TYPE } from '../channels/index.ts';
import { findDriver, findUsage, type Generation, type LoadedPlugin } from '../plugins/index.ts';
import { STATUS } from '../store/ports/index.ts';

/** Every model of a plugin or a channel, with the plugin that serves it; prices refer to these. */
export function listOfferedModels(
  plugins: { current(): Generation },
  channels: Pick<Channels, 'known'>,
): OfferedModel[] {
  const generation = plugins.current();
  const own = [...generation.plugins.values()].flatMap(({ key, manifest }) =>
    manifest.models.map((model) => ({
      pluginKey: key,
      model,
      upstreamModel: model,
      facts: Object.keys(findUsage(manifest, { model }).usageSchema),
      // A channel that lists it adds its own entry below.
      offered: false,
    })),
  );
  // A channel whose plugin is gone serves no models.
  const listed = channels.known().flatMap((channel) =>
    channel.models.flatMap((model) => {
      const upstreamModel = mapModel(channel.modelMapping, model);
      const plugin = findDriver(generation, channel, upstreamModel);
      if (!plugin && channel.type !== RELAY_TYPE) return [];
      return {
        pluginKey: plugin?.key ?? null,
        model,
        upstreamModel,
        facts: readFacts(plugin, { model, upstreamModel }),
        offered: channel.status === STATUS.enabled,
      };
    }),
  );
  return [...own, ...listed];
}

const readFacts = (
  plugin: LoadedPlugin | undefined,
  names: { model: string; upstreamModel: string },
): string[] | null => (plugin ? Object.keys(findUsage(plugin.manifest, names).usageSchema) : null);

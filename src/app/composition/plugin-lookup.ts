import type { DeclaredFact } from '../../billing/index.ts';
import { type PluginLookup, RELAY_TYPE } from '../../channels/index.ts';
import { findUsage, type Generation, type Manifest, NUMBER_LIMITS, type UsageField } from '../../plugins/index.ts';

/** What channels and prices may know of the plugins, without importing their room. */
export function createPluginLookup(plugins: { current(): Generation }): PluginLookup & {
  declaredFacts(pluginKey: string, model: string): Record<string, DeclaredFact> | undefined;
  /** Whether the vendor of a channel accepts more than it runs. */
  queues(channel: { type: number; taskPluginKey: string | null }): boolean;
} {
  const describe = ({ key, baseUrl, vendor, addressesGateways }: Manifest) => {
    const keyFormat = vendor?.keyFormat?.[0];
    return {
      key,
      addressesGateways,
      ...(baseUrl !== undefined && { baseUrl }),
      ...(keyFormat !== undefined && { keyFormat }),
    };
  };
  return {
    plugin(key) {
      const plugin = plugins.current().plugins.get(key);
      return plugin && describe(plugin.manifest);
    },
    byChannelType(type) {
      // A plugin that has some models of such channels says nothing about their addresses and keys.
      const plugin = type === RELAY_TYPE ? undefined : plugins.current().byChannelType(type);
      return plugin && describe(plugin.manifest);
    },
    queues({ type, taskPluginKey }) {
      const { plugins: all, byChannelType } = plugins.current();
      const plugin = taskPluginKey ? all.get(taskPluginKey) : byChannelType(type);
      return plugin?.manifest.vendor?.capacity?.queues === true;
    },
    declaredFacts(pluginKey, model) {
      const plugin = plugins.current().plugins.get(pluginKey);
      if (!plugin) return undefined;
      return Object.fromEntries(
        Object.entries(findUsage(plugin.manifest, { model }).usageSchema).map(([name, field]) => [
          name,
          declaredFact(field),
        ]),
      );
    },
  };
}

function declaredFact(field: UsageField): DeclaredFact {
  switch (field.kind) {
    case 'enum':
      return { kind: 'enum', values: field.values };
    case 'number':
      return { kind: 'number', max: NUMBER_LIMITS[field.unit] };
    case 'boolean':
      return { kind: 'boolean' };
  }
}

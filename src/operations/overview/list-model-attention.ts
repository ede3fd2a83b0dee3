import { type Billing, findProblem, findUnpriced, type OfferedModel, type PriceProblem } from '../../billing/index.ts';
import { type Channels, mapModel, RELAY_TYPE } from '../../channels/index.ts';
import { findDriver, type PluginService } from '../../plugins/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import type { AttentionItem } from './types.ts';

type ModelAttentionDeps = {
  plugins: Pick<PluginService, 'current'>;
  channels: Pick<Channels, 'known'>;
  billing: Billing;
  offeredModels: () => OfferedModel[];
};

/** Items name this many models or prices; the rest is counted. */
const NAMED = 10;

/** Models without a price or a plugin, and prices that fail or apply to nothing. */
export function listModelAttention(deps: ModelAttentionDeps): AttentionItem[] {
  const offered = deps.offeredModels();
  return [...priceItems(deps.billing, offered), ...unpricedItems(deps.billing, offered), ...unservedItems(deps)];
}

const REFUSING: readonly PriceProblem['code'][] = ['facts_gone', 'unreadable'];

/** Prices that make submissions fail, and those that apply to nothing any more. */
function priceItems({ prices }: Billing, offered: readonly OfferedModel[]): AttentionItem[] {
  const found = prices.all().flatMap((price) => {
    const problem = findProblem(price, prices, offered);
    return problem ? [{ name: `${price.pluginKey}/${price.model}`, problem }] : [];
  });
  const refusing = found.filter(({ problem }) => REFUSING.includes(problem.code));
  const unused = found.filter(({ problem }) => !REFUSING.includes(problem.code));
  const target = { kind: 'price' as const, id: null };
  const items: AttentionItem[] = refusing.slice(0, NAMED).map(({ name, problem }) => ({
    code: 'price_refuses',
    severity: 'error',
    target,
    params: { price: name },
    message: `The price ${name} refuses submissions. ${problem.message}`,
  }));
  if (unused.length > 0) {
    const prices = unused.map(({ name }) => name);
    const message = `Prices apply to no model: ${nameSome(prices)}.`;
    const params = { prices: listSome(prices) };
    items.push({ code: 'price_unused', severity: 'warning', target, message, params });
  }
  return items;
}

function unpricedItems(billing: Billing, all: readonly OfferedModel[]): AttentionItem[] {
  return findUnpriced(billing.prices, all).flatMap(({ pluginKey, models }): AttentionItem[] => {
    const offered = models.filter((model) => model.offered).map(({ model }) => model);
    if (offered.length === 0) return [];
    const refused = billing.takesUnpriced(false) ? 'are free for everybody' : 'are refused to users';
    const whose = pluginKey === '*' ? 'Relayed models' : `Models of "${pluginKey}"`;
    const message = `${whose} that channels offer have no price and ${refused}: ${nameSome(offered)}`;
    const params = { plugin: pluginKey, models: listSome(offered) };
    return [{ code: 'model_unpriced', severity: 'warning', target: { kind: 'price', id: pluginKey }, message, params }];
  });
}

/** Enabled channels that no plugin drives, or whose plugin does not have all of their models. */
function unservedItems({ plugins, channels }: ModelAttentionDeps): AttentionItem[] {
  const generation = plugins.current();
  return channels.known().flatMap((channel): AttentionItem[] => {
    if (channel.status !== STATUS.enabled || channel.type === RELAY_TYPE) return [];
    const target = { kind: 'channel' as const, id: channel.id };
    const plugin = findDriver(generation, channel);
    if (!plugin) {
      const wanted = channel.taskPluginKey ? `the plugin "${channel.taskPluginKey}"` : `the type ${channel.type}`;
      const message = `No plugin serves the channel "${channel.name}": none that is enabled has ${wanted}.`;
      return [
        { code: 'channel_unserved', severity: 'error', target, message, params: { channel: channel.name, models: '' } },
      ];
    }
    const lost = channel.models.filter((model) => {
      const upstreamModel = mapModel(channel.modelMapping, model);
      return !findDriver(generation, channel, upstreamModel)?.manifest.models.includes(upstreamModel);
    });
    if (lost.length === 0) return [];
    const message = `The channel "${channel.name}" offers models that "${plugin.key}" ${plugin.version} does not serve: ${nameSome(lost)}.`;
    const params = { channel: channel.name, models: listSome(lost) };
    return [{ code: 'channel_unserved', severity: 'warning', target, message, params }];
  });
}

/** The same without words. */
const listSome = (names: readonly string[]): string =>
  names.length > NAMED ? `${names.slice(0, NAMED).join(', ')} (+${names.length - NAMED})` : names.join(', ');

const nameSome = (names: readonly string[]): string =>
  names.length > NAMED ? `${names.slice(0, NAMED).join(', ')} and ${names.length - NAMED} more` : names.join(', ');

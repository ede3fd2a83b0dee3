import {
  type Billing,
  findProblem,
  findUnpriced,
  type OfferedModel,
  type PriceProblem,
  parsePriceExpression,
} from '../../billing/index.ts';
import { type Channels, mapModel, RELAY_TYPE } from '../../channels/index.ts';
import { sentence } from '../../kernel/index.ts';
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
    return problem ? [{ name: `${price.pluginKey}/${price.model}`, expression: price.expression, problem }] : [];
  });
  const refusing = found.filter(({ problem }) => REFUSING.includes(problem.code));
  const unused = found.filter(({ problem }) => !REFUSING.includes(problem.code));
  const target = { kind: 'price' as const, id: null };
  const items: AttentionItem[] = refusing.slice(0, NAMED).map(({ name, expression, problem: { facts } }) => {
    const parsed = parsePriceExpression(expression);
    const said = parsed.ok
      ? sentence('attention.price_facts', { price: name, facts: (facts ?? []).join(', ') })
      : sentence('attention.price_unreadable', { price: name, fault: parsed.error });
    return { code: 'price_refuses', severity: 'error', target, ...said };
  });
  if (unused.length > 0) {
    const said = sentence('attention.price_unused', { prices: listSome(unused.map(({ name }) => name)) });
    items.push({ code: 'price_unused', severity: 'warning', target, ...said });
  }
  return items;
}

function unpricedItems(billing: Billing, all: readonly OfferedModel[]): AttentionItem[] {
  return findUnpriced(billing.prices, all).flatMap(({ pluginKey, models }): AttentionItem[] => {
    const offered = models.filter((model) => model.offered).map(({ model }) => model);
    if (offered.length === 0) return [];
    const plugin = pluginKey === '*' ? sentence('attention.relayed') : pluginKey;
    const reason = billing.takesUnpriced(false) ? 'attention.model_unpriced_free' : 'attention.model_unpriced_refused';
    const said = sentence(reason, { plugin, models: listSome(offered) });
    return [{ code: 'model_unpriced', severity: 'warning', target: { kind: 'price', id: pluginKey }, ...said }];
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
      const said = channel.taskPluginKey
        ? sentence('attention.channel_no_plugin', { channel: channel.name, plugin: channel.taskPluginKey })
        : sentence('attention.channel_no_type', { channel: channel.name, type: channel.type });
      return [{ code: 'channel_unserved', severity: 'error', target, ...said }];
    }
    const lost = channel.models.filter((model) => {
      const upstreamModel = mapModel(channel.modelMapping, model);
      return !findDriver(generation, channel, upstreamModel)?.manifest.models.includes(upstreamModel);
    });
    if (lost.length === 0) return [];
    const { key, version } = plugin;
    const params = { channel: channel.name, plugin: key, version, models: listSome(lost) };
    return [
      { code: 'channel_unserved', severity: 'warning', target, ...sentence('attention.channel_lost_models', params) },
    ];
  });
}

const listSome = (names: readonly string[]): string =>
  names.length > NAMED ? `${names.slice(0, NAMED).join(', ')} (+${names.length - NAMED})` : names.join(', ');

import type { TFunction } from 'i18next';
import { type SaidSentence, translateOrQuote } from '../../api/translate-sentence.ts';
import type { AttentionItem } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { roles } from '../../session/roles.ts';

type Item = Pick<AttentionItem, 'code' | 'target'>;

/** No title: the item's own sentence says more than a name for all of its kind. */
const texts: Readonly<Record<AttentionItem['code'], { title: TextKey | null; remedy: TextKey | null }>> = {
  plugin_suspended: { title: 'home.attention.plugin_suspended', remedy: 'home.attention.plugin_suspended.remedy' },
  plugin_keeps_path: { title: 'home.attention.plugin_keeps_path', remedy: 'home.attention.plugin_keeps_path.remedy' },
  plugin_failed: { title: 'home.attention.plugin_failed', remedy: 'home.attention.plugin_failed.remedy' },
  plugin_failing: { title: 'home.attention.plugin_failing', remedy: 'home.attention.plugin_failing.remedy' },
  plugin_rolled_back: {
    title: 'home.attention.plugin_rolled_back',
    remedy: 'home.attention.plugin_rolled_back.remedy',
  },
  credential_exposed: {
    title: 'home.attention.credential_exposed',
    remedy: 'home.attention.credential_exposed.remedy',
  },
  plugin_revoked: { title: 'home.attention.plugin_revoked', remedy: 'home.attention.plugin_revoked.remedy' },
  plugin_revoked_tasks: {
    title: 'home.attention.plugin_revoked_tasks',
    remedy: 'home.attention.plugin_revoked_tasks.remedy',
  },
  channel_failing: { title: null, remedy: 'home.attention.channel_failing.remedy' },
  channel_degraded: { title: null, remedy: 'home.attention.channel_degraded.remedy' },
  channel_key_ends: { title: 'home.attention.channel_key_ends', remedy: 'home.attention.channel_key_ends.remedy' },
  channel_key_unreadable: {
    title: 'home.attention.channel_key_unreadable',
    remedy: 'home.attention.channel_key_unreadable.remedy',
  },
  channel_key_refused: {
    title: 'home.attention.channel_key_refused',
    remedy: 'home.attention.channel_key_refused.remedy',
  },
  channel_balance_empty: {
    title: 'home.attention.channel_balance_empty',
    remedy: 'home.attention.channel_balance_empty.remedy',
  },
  channel_balance_low: {
    title: 'home.attention.channel_balance_low',
    remedy: 'home.attention.channel_balance_low.remedy',
  },
  channel_resting: { title: 'home.attention.channel_resting', remedy: 'home.attention.channel_resting.remedy' },
  polls_late: { title: 'home.attention.polls_late', remedy: 'home.attention.polls_late.remedy' },
  queue_stalled: { title: 'home.attention.queue_stalled', remedy: 'home.attention.queue_stalled.remedy' },
  vendor_job_unrecorded: {
    title: 'home.attention.vendor_job_unrecorded',
    remedy: 'home.attention.vendor_job_unrecorded.remedy',
  },
  tasks_overdue: { title: 'home.attention.tasks_overdue', remedy: 'home.attention.tasks_overdue.remedy' },
  alert_webhook_failing: {
    title: 'home.attention.alert_webhook_failing',
    remedy: 'home.attention.alert_webhook_failing.remedy',
  },
  webhooks_late: { title: 'home.attention.webhooks_late', remedy: 'home.attention.webhooks_late.remedy' },
  model_unpriced: { title: 'home.attention.model_unpriced', remedy: 'home.attention.model_unpriced.remedy' },
  price_refuses: { title: 'home.attention.price_refuses', remedy: 'home.attention.price_refuses.remedy' },
  price_unused: { title: 'home.attention.price_unused', remedy: 'home.attention.price_unused.remedy' },
  channel_unserved: { title: 'home.attention.channel_unserved', remedy: 'home.attention.channel_unserved.remedy' },
  results_blocked: { title: 'home.attention.results_blocked', remedy: 'home.attention.results_blocked.remedy' },
  results_lost: { title: 'home.attention.results_lost', remedy: 'home.attention.results_lost.remedy' },
  proxy_not_listed: { title: 'home.attention.proxy_not_listed', remedy: 'home.attention.proxy_not_listed.remedy' },
  address_missing: { title: 'home.attention.address_missing', remedy: 'home.attention.address_missing.remedy' },
  setting_unsafe: { title: null, remedy: 'home.attention.setting_unsafe.remedy' },
  setting_doubtful: { title: null, remedy: null },
  certificate_fault: { title: 'home.attention.certificate_fault', remedy: 'home.attention.certificate_fault.remedy' },
  ledger_mismatch: { title: 'home.attention.ledger_mismatch', remedy: 'home.attention.ledger_mismatch.remedy' },
  data_damaged: { title: 'home.attention.data_damaged', remedy: 'home.attention.data_damaged.remedy' },
  node_gone: { title: 'home.attention.node_gone', remedy: 'home.attention.node_gone.remedy' },
  node_versions_differ: {
    title: 'home.attention.node_versions_differ',
    remedy: 'home.attention.node_versions_differ.remedy',
  },
  disk_unwritable: { title: 'home.attention.disk_unwritable', remedy: 'home.attention.disk_unwritable.remedy' },
  maintenance_on: { title: 'home.attention.maintenance_on', remedy: 'home.attention.maintenance_on.remedy' },
  retention_undecided: {
    title: 'home.attention.retention_undecided',
    remedy: 'home.attention.retention_undecided.remedy',
  },
  backup_off: { title: 'home.attention.backup_off', remedy: 'home.attention.backup_off.remedy' },
  backup_failed: { title: 'home.attention.backup_failed', remedy: 'home.attention.backup_failed.remedy' },
  backup_overdue: { title: 'home.attention.backup_overdue', remedy: 'home.attention.backup_overdue.remedy' },
  backup_unsealed: { title: 'home.attention.backup_unsealed', remedy: 'home.attention.backup_unsealed.remedy' },
  backup_not_pruned: { title: 'home.attention.backup_not_pruned', remedy: 'home.attention.backup_not_pruned.remedy' },
  disk_low: { title: 'home.attention.disk_low', remedy: 'home.attention.disk_low.remedy' },
  clock_stepped: { title: 'home.attention.clock_stepped', remedy: 'home.attention.clock_stepped.remedy' },
  clock_differs: { title: 'home.attention.clock_differs', remedy: 'home.attention.clock_differs.remedy' },
  no_master: { title: 'home.attention.no_master', remedy: 'home.attention.no_master.remedy' },
};

/** The words of an item: its title, further facts, and what to do. */
export function attentionWords(
  item: AttentionItem,
  t: TFunction,
): { title: string; facts: string; remedy: TextKey | null } {
  const { title } = texts[item.code];
  const remedy = isVariableRisk(item) ? null : texts[item.code].remedy;
  if (title !== null) return { title: t(title), facts: translateOrQuote(item, t), remedy };
  const [first = '', ...others] = splitFigures(item, t).flatMap(splitSentences);
  return { title: first.replace(/[.。]$/, ''), facts: others.join(' '), remedy };
}

const splitSentences = (text: string): string[] =>
  [...new Intl.Segmenter(undefined, { granularity: 'sentence' }).segment(text)].map(({ segment }) => segment.trim());

/** A sentence that begins with the figures of another, as one sentence each. */
function splitFigures(said: SaidSentence, t: TFunction): string[] {
  const figures = said.params?.figures;
  if (typeof figures !== 'object') return [translateOrQuote(said, t)];
  const rest = translateOrQuote({ ...said, params: { ...said.params, figures: '' } }, t);
  return [...splitFigures(figures, t), rest];
}

const actionTexts: Readonly<Record<string, TextKey>> = {
  plugin: 'home.attention.open.plugin',
  channel: 'home.attention.open.channel',
  price: 'home.attention.open.price',
  setting: 'home.attention.open.setting',
  tasks: 'home.attention.open.tasks',
  queue: 'home.attention.open.queue',
};

const ownActions: Readonly<Record<string, TextKey>> = {
  address_missing: 'home.attention.open.address',
  backup_off: 'home.attention.open.backups',
  setting_unsafe: 'home.attention.open.signUp',
};

/** Items whose remedy says no more than the button that leads to it. */
export const isRemedyOnButton = ({ code }: Item): boolean =>
  code === 'channel_degraded' || code === 'address_missing' || code === 'backup_off';

/** What the button that leads to the item's page says. */
export const actionText = ({ code, target: { kind } }: Item): TextKey =>
  ownActions[code] ?? actionTexts[kind] ?? 'home.attention.open.system';

/** What the settings of a channel, and not its figures, mend. */
const inChannelSettings: readonly AttentionItem['code'][] = [
  'channel_key_ends',
  'channel_key_unreadable',
  'channel_unserved',
];

/**
 * The page where the item can be changed, and the role that may open it; null for an environment
 * variable, which no page changes.
 */
export function targetPage({ code, target: { kind, id } }: Item): { to: string; role: number } | null {
  const name = encodeURIComponent(String(id ?? ''));
  switch (kind) {
    case 'plugin':
      return { to: `/plugins/${name}`, role: roles.root };
    case 'channel':
      return { to: `/channels/${name}${inChannelSettings.includes(code) ? '?tab=settings' : ''}`, role: roles.admin };
    case 'price':
      // Relayed models have no plugin whose table could be opened.
      return { to: id === null || id === '*' ? '/prices' : `/prices/${name}`, role: roles.root };
    case 'setting':
      if (id !== null && isVariable(String(id))) return null;
      return { to: id === null ? '/settings' : `/settings?q=${name}`, role: roles.root };
    case 'tasks':
      return {
        to: `/tasks?scope=all&status=${code === 'results_lost' ? 'SUCCESS' : 'IN_PROGRESS'}`,
        role: roles.admin,
      };
    case 'queue':
      return { to: '/queue', role: roles.admin };
    default:
      return { to: '/system', role: roles.root };
  }
}

/** Whether the item is about an environment variable: its sentence says what to set it to. */
const isVariableRisk = ({ code, target: { id } }: Item): boolean =>
  (code === 'setting_unsafe' || code === 'setting_doubtful') && isVariable(String(id));

/** Whether an environment variable is meant: options have small letters in their names. */
const isVariable = (name: string): boolean => name === name.toUpperCase();

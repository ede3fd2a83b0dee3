/** Where the button of an issue leads: to the place where the thing can be changed. */
import { expect, test } from 'bun:test';
import { targetPage } from '../../src/panel/pages/home/attention-item.ts';

type Item = Parameters<typeof targetPage>[0];

test.each<[Item['code'], Item['target'], string | undefined]>([
  ['channel_failing', { kind: 'channel', id: 3 }, '/channels/3'],
  ['channel_key_unreadable', { kind: 'channel', id: 3 }, '/channels/3?tab=settings'],
  ['channel_unserved', { kind: 'channel', id: 3 }, '/channels/3?tab=settings'],
  ['model_unpriced', { kind: 'price', id: 'kling' }, '/prices/kling'],
  ['model_unpriced', { kind: 'price', id: '*' }, '/prices'],
  ['price_unused', { kind: 'price', id: null }, '/prices'],
  ['results_lost', { kind: 'tasks', id: null }, '/tasks?scope=all&status=SUCCESS'],
  ['tasks_overdue', { kind: 'tasks', id: null }, '/tasks?scope=all&status=IN_PROGRESS'],
  ['queue_stalled', { kind: 'queue', id: null }, '/queue'],
  ['setting_unsafe', { kind: 'setting', id: 'RegisterEnabled' }, '/settings?q=RegisterEnabled'],
  ['setting_unsafe', { kind: 'setting', id: 'TRUSTED_PROXIES' }, undefined],
  ['setting_doubtful', { kind: 'setting', id: 'REDIS_URL' }, undefined],
  ['certificate_fault', { kind: 'system', id: null }, '/system'],
  ['plugin_failed', { kind: 'plugin', id: 'kling' }, '/plugins/kling'],
  ['backup_failed', { kind: 'system', id: null }, '/system'],
])('%s of %o', (code, target, to) => {
  expect(targetPage({ code, target })?.to).toBe(to);
});

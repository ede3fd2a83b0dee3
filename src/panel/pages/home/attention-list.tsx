import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { AttentionItem } from '../../api/types.ts';
import { useApi } from '../../api/use-api.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useRole } from '../../session/use-role.ts';
import { roles } from '../../shell/sections.ts';
import { Section } from '../../ui/section.tsx';
import { StatusMark } from '../../ui/status-mark.tsx';
import classes from './attention-list.module.css';

const words: Readonly<Record<AttentionItem['code'], { title: TextKey; todo: TextKey }>> = {
  plugin_suspended: { title: 'home.attention.plugin_suspended', todo: 'home.attention.plugin_suspended.todo' },
  plugin_failed: { title: 'home.attention.plugin_failed', todo: 'home.attention.plugin_failed.todo' },
  channel_failing: { title: 'home.attention.channel_failing', todo: 'home.attention.channel_failing.todo' },
  channel_key_unreadable: {
    title: 'home.attention.channel_key_unreadable',
    todo: 'home.attention.channel_key_unreadable.todo',
  },
  polls_late: { title: 'home.attention.polls_late', todo: 'home.attention.polls_late.todo' },
  tasks_overdue: { title: 'home.attention.tasks_overdue', todo: 'home.attention.tasks_overdue.todo' },
  webhooks_late: { title: 'home.attention.webhooks_late', todo: 'home.attention.webhooks_late.todo' },
  model_unpriced: { title: 'home.attention.model_unpriced', todo: 'home.attention.model_unpriced.todo' },
  setting_unsafe: { title: 'home.attention.setting_unsafe', todo: 'home.attention.setting_unsafe.todo' },
  ledger_mismatch: { title: 'home.attention.ledger_mismatch', todo: 'home.attention.ledger_mismatch.todo' },
  node_gone: { title: 'home.attention.node_gone', todo: 'home.attention.node_gone.todo' },
  node_versions_differ: {
    title: 'home.attention.node_versions_differ',
    todo: 'home.attention.node_versions_differ.todo',
  },
  no_master: { title: 'home.attention.no_master', todo: 'home.attention.no_master.todo' },
};

const refreshMs = 60_000;

/** What an administrator should look at, each with what to do; nothing at all while all is well. */
export function AttentionList() {
  const { t } = useTranslation();
  const role = useRole();
  const { data = [] } = useApi<AttentionItem[]>('/api/attention', { refreshMs });
  if (data.length === 0) return null;
  return (
    <Section heading={t('home.attention')}>
      <ul className={classes.items}>
        {data.map((item) => {
          const { title, todo } = words[item.code];
          const place = placeOf(item.target);
          return (
            <li key={`${item.code} ${item.target.id} ${item.message}`} className={classes.item}>
              <div className={classes.words}>
                <h3 className={classes.title}>
                  <StatusMark tone={item.severity === 'error' ? 'bad' : 'waiting'}>{t(title)}</StatusMark>
                  <span className={classes.severity}>
                    {t(item.severity === 'error' ? 'home.attention.error' : 'home.attention.warning')}
                  </span>
                </h3>
                <p>{t(todo)}</p>
                <p className={classes.detail} lang="en">
                  {item.message}
                </p>
              </div>
              {role >= place.role && (
                <Button
                  component={Link}
                  to={place.to}
                  variant="default"
                  size="compact-md"
                  aria-label={t('home.attention.lookAt', { what: t(title) })}
                >
                  {t('home.attention.look')}
                </Button>
              )}
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

/** The page that shows it, and who may open that. */
function placeOf({ kind, id }: AttentionItem['target']): { to: string; role: number } {
  const name = encodeURIComponent(String(id ?? ''));
  switch (kind) {
    case 'plugin':
      return { to: `/plugins/${name}`, role: roles.root };
    case 'channel':
      return { to: `/channels/${name}`, role: roles.admin };
    case 'price':
      return { to: '/prices', role: roles.root };
    case 'setting':
      return { to: '/settings', role: roles.root };
    case 'tasks':
      return { to: '/tasks?scope=all&status=IN_PROGRESS', role: roles.admin };
    default:
      return { to: '/system', role: roles.root };
  }
}

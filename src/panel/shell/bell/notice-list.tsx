import { Anchor } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { AttentionItem } from '../../api/types.ts';
import { attentionWords, targetPage } from '../../pages/home/attention-item.ts';
import { BrowserNoticeSwitch } from '../../pages/notifications/browser-notices.tsx';
import { useRole } from '../../session/roles.ts';
import { VendorWords } from '../../ui/display/server-text.tsx';
import { StatusLabel, statusText } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import classes from './notice-bell.module.css';
import type { Notices } from './use-notices.ts';

/** The content of the bell. */
export function NoticeList({ attention, finished, onLeave }: Notices & { onLeave(): void }) {
  const { t } = useTranslation();
  const format = useFormat();
  const role = useRole();
  /** Home says what to do where no page of the reader's changes it. */
  const pageFor = (item: AttentionItem): string => {
    const page = targetPage(item);
    return page !== null && role >= page.role ? page.to : '/';
  };
  return (
    <div className={classes.frame}>
      <div className={classes.content}>
        {attention.length > 0 && (
          <div>
            <h2 className={classes.heading}>{t('home.attention')}</h2>
            <ul className={classes.items}>
              {attention.slice(0, 6).map((item) => (
                <li key={`${item.code} ${item.target.id} ${item.message}`}>
                  <Link to={pageFor(item)} onClick={onLeave} className={`${classes.item} ${classes.leads}`}>
                    <StatusLabel tone={item.severity === 'error' ? 'bad' : 'waiting'}>
                      {attentionWords(item, t).title}
                    </StatusLabel>
                    <IconChevronRight size={18} stroke={1.6} aria-hidden="true" />
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        )}
        <div>
          <h2 className={classes.heading}>{t('bell.finished')}</h2>
          {finished.length === 0 ? (
            <p className={classes.empty}>{t('bell.none')}</p>
          ) : (
            <ul className={classes.items}>
              {finished.map((task) => (
                <li key={task.id}>
                  <Link to={`/tasks/${encodeURIComponent(task.id)}`} onClick={onLeave} className={classes.item}>
                    <StatusLabel tone={task.status === 'FAILURE' ? 'bad' : 'good'}>{task.input || task.id}</StatusLabel>
                    <span className={classes.note}>
                      {task.status === 'FAILURE' && task.fail_reason !== '' && (
                        <span className={classes.failed}>
                          <VendorWords text={task.fail_reason} sentence={task.fail_reason_sentence} />
                        </span>
                      )}
                      {[t(statusText(task)), task.model, format.ago(task.finish_time)].join(' · ')}
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
          )}
        </div>
        <div className={classes.switch}>
          <BrowserNoticeSwitch />
        </div>
      </div>
      <div className={classes.foot}>
        <Anchor component={Link} to="/tasks" onClick={onLeave} size="sm">
          {t('task.back')}
        </Anchor>
        <Anchor component={Link} to="/notifications" onClick={onLeave} size="sm">
          {t('bell.settings')}
        </Anchor>
      </div>
    </div>
  );
}

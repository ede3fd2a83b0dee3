import { ActionIcon, Popover } from '@mantine/core';
import { IconBell } from '@tabler/icons-react';
import { lazy, Suspense, useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { TaskSummary } from '../../api/types.ts';
import { isLookedAt, readBrowserNotices, showBrowserNotice } from '../../pages/notifications/browser-notices.tsx';
import classes from './notice-bell.module.css';
import { useNotices } from './use-notices.ts';

const NoticeList = lazy(async () => ({ default: (await import('./notice-list.tsx')).NoticeList }));

/** Attention and finished tasks, behind a bell with the number of what is new. */
export function NoticeBell() {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const show = useCallback(
    (tasks: readonly TaskSummary[]) => {
      if (readBrowserNotices() !== 'on') return;
      for (const task of tasks.slice(0, 3)) {
        const path = `/tasks/${encodeURIComponent(task.id)}`;
        if (isLookedAt(path)) continue;
        showBrowserNotice({ title: t(noticeTitle(task)), body: task.input || task.model, tag: task.id, path });
      }
    },
    [t],
  );
  const notices = useNotices(show);
  const unread = notices.unread > 9 ? '9+' : String(notices.unread);
  const change = (opened: boolean): void => {
    setOpen(opened);
    if (!opened) notices.markSeen();
  };
  return (
    <Popover
      opened={isOpen}
      onChange={change}
      position="bottom-end"
      // Below the top bar.
      offset={20}
      width="min(360px, calc(100vw - 24px))"
      middlewares={{ flip: true, shift: { padding: 12 } }}
      trapFocus
      returnFocus
    >
      <Popover.Target>
        <ActionIcon
          className={classes.bell}
          variant="subtle"
          color="gray"
          size={40}
          aria-label={notices.unread === 0 ? t('bell.label') : t('bell.labelNew', { number: unread })}
          onClick={() => change(!isOpen)}
        >
          <IconBell size={20} stroke={1.6} aria-hidden="true" />
          {notices.unread > 0 && (
            <span className={classes.count} data-tone={notices.worst} aria-hidden="true">
              {unread}
            </span>
          )}
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown className={classes.dropdown} aria-label={t('bell.label')}>
        <Suspense fallback={null}>
          <NoticeList {...notices} onLeave={() => change(false)} />
        </Suspense>
      </Popover.Dropdown>
    </Popover>
  );
}

const noticeTitle = ({ status }: TaskSummary) => (status === 'FAILURE' ? 'bell.taskFailed' : 'bell.taskDone');

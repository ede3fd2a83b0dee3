import { ActionIcon } from '@mantine/core';
import { IconBaselineDensityMedium, IconBaselineDensitySmall, IconLayoutGrid, IconList } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { SavedViews } from './saved-views.tsx';
import classes from './task-filters.module.css';
import type { TaskQuery } from './use-task-query.ts';

type ListToolsProps = {
  tasks: TaskQuery;
  isCompact: boolean;
  onCompact(isCompact: boolean): void;
  /** The export of what is filtered. */
  exportMenu: ReactNode;
};

/** How a list is shown, and where it goes. */
export function ListTools({ tasks: { filters, isGallery }, isCompact, onCompact, exportMenu }: ListToolsProps) {
  const { t } = useTranslation();
  const { set } = filters;
  return (
    <>
      <SavedViews />
      {exportMenu}
      {!isGallery && (
        <ActionIcon
          variant="default"
          size={36}
          className={classes.density}
          aria-label={t('tasks.compact')}
          aria-pressed={isCompact}
          onClick={() => onCompact(!isCompact)}
        >
          {isCompact ? (
            <IconBaselineDensitySmall size={18} stroke={1.6} />
          ) : (
            <IconBaselineDensityMedium size={18} stroke={1.6} />
          )}
        </ActionIcon>
      )}
      <ActionIcon
        variant="default"
        size={36}
        aria-label={t(isGallery ? 'tasks.asList' : 'tasks.asGallery')}
        onClick={() => set('layout', isGallery ? '' : 'gallery')}
      >
        {isGallery ? <IconList size={18} stroke={1.6} /> : <IconLayoutGrid size={18} stroke={1.6} />}
      </ActionIcon>
    </>
  );
}

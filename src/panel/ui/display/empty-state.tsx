import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './empty-state.module.css';

type EmptyStateProps = {
  heading: string;
  /** Why the list is empty, and what to do next. */
  text: string;
  action?: ReactNode;
};

/** Shown instead of an empty list. */
export function EmptyState({ heading, text, action }: EmptyStateProps) {
  return (
    <div className={classes.empty}>
      <Stack gap={8} align="center" maw={460}>
        <Text fz={17} fw={620} ta="center">
          {heading}
        </Text>
        <Text c="dimmed" size="sm" ta="center" lh={1.6}>
          {text}
        </Text>
        {action !== undefined && <div className={classes.action}>{action}</div>}
      </Stack>
    </div>
  );
}

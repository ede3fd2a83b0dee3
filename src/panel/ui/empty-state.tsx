import { Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './empty-state.module.css';

type EmptyStateProps = {
  heading: string;
  /** Why there is nothing, and what to do next. */
  text: string;
  action?: ReactNode;
};

/** Instead of an empty list. */
export function EmptyState({ heading, text, action }: EmptyStateProps) {
  return (
    <div className={classes.empty}>
      <Stack gap={8} align="center" maw={460}>
        <Title order={3} fz={17} ta="center">
          {heading}
        </Title>
        <Text c="dimmed" size="sm" ta="center" lh={1.6}>
          {text}
        </Text>
        {action !== undefined && <div className={classes.action}>{action}</div>}
      </Stack>
    </div>
  );
}

import { Button, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { TextKey } from '../../i18n/texts.ts';
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

type NoMatchesProps = {
  text: string;
  onClear(): void;
  /** A button that leads to matches elsewhere. */
  others?: ReactNode;
};

/** Shown instead of a list in which search and filters leave nothing. */
export function NoMatches({ text, onClear, others }: NoMatchesProps) {
  const { t } = useTranslation();
  return (
    <EmptyState
      heading={t('list.noMatch')}
      text={text}
      action={
        <Group gap="sm" justify="center">
          {others}
          <Button variant="default" onClick={onClear}>
            {t('list.clear')}
          </Button>
        </Group>
      }
    />
  );
}

type ResourceNotFoundProps = {
  heading: string;
  /** What may have happened to it, and what to do. */
  text: string;
  /** The list it would be in. */
  list: { to: string; name: TextKey };
};

/** Shown when the resource in the URL does not exist. */
export function ResourceNotFound({ heading, text, list }: ResourceNotFoundProps) {
  const { t } = useTranslation();
  return (
    <EmptyState
      heading={heading}
      text={text}
      action={
        <Button component={Link} to={list.to} variant="default">
          {t(list.name)}
        </Button>
      }
    />
  );
}

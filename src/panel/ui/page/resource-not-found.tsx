import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { TextKey } from '../../i18n/texts.ts';
import { EmptyState } from '../display/empty-state.tsx';

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

import { Group, Text, Title } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { type ReactNode, useId } from 'react';
import { useLocation } from 'react-router';
import fold from '../display/fold.module.css';
import { HeadingContext } from '../display/query-result.tsx';
import classes from './section.module.css';

type SectionProps = {
  heading: string;
  intro?: ReactNode;
  actions?: ReactNode;
  /** What an address names behind its `#`, to lead here. */
  anchor?: string;
  children: ReactNode;
};

/** A card with a heading. */
export function Section({ heading, intro, actions, anchor, children }: SectionProps) {
  const id = useId();
  return (
    <section id={anchor} className={classes.section} aria-labelledby={id} data-card>
      <div className={classes.top}>
        <div>
          <Title order={2} fz={18} id={id}>
            {heading}
          </Title>
          {intro !== undefined && (
            <Text c="dimmed" size="sm" mt={6} lh={1.55} component="div">
              {intro}
            </Text>
          )}
        </div>
        {actions !== undefined && <Group gap="sm">{actions}</Group>}
      </div>
      <HeadingContext value={heading}>{children}</HeadingContext>
    </section>
  );
}

/** A card that a phone shows folded: its heading unfolds it. */
export function FoldedSection({ children, ...props }: Omit<SectionProps, 'actions'>) {
  const isPhone = useIsPhone();
  const id = useId();
  if (!isPhone) return <Section {...props}>{children}</Section>;
  const { heading, intro, anchor } = props;
  return (
    <section id={anchor} className={classes.section} aria-labelledby={id} data-card>
      <Fold heading={heading} id={id} anchor={anchor}>
        {intro !== undefined && (
          <Text c="dimmed" size="sm" lh={1.55} mb="md">
            {intro}
          </Text>
        )}
        <HeadingContext value={heading}>{children}</HeadingContext>
      </Fold>
    </section>
  );
}

export const useIsPhone = (): boolean =>
  useMediaQuery('(max-width: 639px)', undefined, { getInitialValueInEffect: false }) === true;

type FoldProps = { heading: string; id: string; anchor: string | undefined; children: ReactNode };

/** What its heading unfolds, and an address that leads to it. `id` is the heading's. */
export function Fold({ heading, id, anchor, children }: FoldProps) {
  const { hash } = useLocation();
  return (
    <details
      className={`${fold.fold} ${classes.folded}`}
      open={(anchor !== undefined && hash === `#${anchor}`) || undefined}
    >
      <summary>
        <Title order={2} fz={18} id={id}>
          {heading}
        </Title>
      </summary>
      <div className={classes.unfolded}>{children}</div>
    </details>
  );
}

type SettingsBlockProps = {
  heading: string;
  /** What it is for, in a sentence or two. */
  intro?: ReactNode;
  children: ReactNode;
};

/**
 * One subject of a settings page: its description at the left, its state and actions at the right.
 */
export function SettingsBlock({ heading, intro, children }: SettingsBlockProps) {
  const id = useId();
  return (
    <section className={classes.block} aria-labelledby={id}>
      <div>
        <Title order={2} fz={17} id={id}>
          {heading}
        </Title>
        {intro !== undefined && (
          <Text c="dimmed" size="sm" mt={6} lh={1.6} component="div">
            {intro}
          </Text>
        )}
      </div>
      <div className={classes.content}>
        <HeadingContext value={heading}>{children}</HeadingContext>
      </div>
    </section>
  );
}

/** What a page is about at the left, the facts about it at the right. */
export const Columns = ({ main, side }: { main: ReactNode; side: ReactNode }) => (
  <div className={classes.columns}>
    <div className={classes.column}>{main}</div>
    <div className={classes.column}>{side}</div>
  </div>
);

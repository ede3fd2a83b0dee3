import { Text, Title } from '@mantine/core';
import { type ReactNode, useId } from 'react';
import classes from './settings-block.module.css';

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
      <div className={classes.content}>{children}</div>
    </section>
  );
}

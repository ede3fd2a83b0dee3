import { Group, Text, Title } from '@mantine/core';
import { type ReactNode, useId } from 'react';
import classes from './section.module.css';

type SectionProps = { heading: string; intro?: ReactNode; actions?: ReactNode; children: ReactNode };

/** A card with a heading. */
export function Section({ heading, intro, actions, children }: SectionProps) {
  const id = useId();
  return (
    <section className={classes.section} aria-labelledby={id}>
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
      {children}
    </section>
  );
}

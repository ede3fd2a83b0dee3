import { Group, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { useGatewayName } from '../../session/session-context.tsx';

type PageHeadingProps = {
  /** Title of the browser tab. */
  title: string;
  heading: string;
  intro?: ReactNode;
  /** Before the heading, such as a vendor's logo. */
  icon?: ReactNode;
  /** Beside the heading, such as a status. */
  mark?: ReactNode;
  /** Focuses the heading, for pages whose first field should not take the focus. */
  focus?: boolean;
};

/** Words with a hyphen, such as names of models. */
const hyphenated = /(\S+-\S+)/;

/** A page's main heading, and the title of the browser tab. */
export function PageHeading({ title, heading, intro, icon, mark, focus = false }: PageHeadingProps) {
  const gateway = useGatewayName();
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${gateway}`;
  }, [title, gateway]);
  useEffect(() => {
    if (focus) ref.current?.focus();
  }, [focus]);
  const named = (
    <Title order={1} fz={30} lh={1.2} tabIndex={-1} ref={ref} style={{ overflowWrap: 'anywhere' }}>
      {heading.split(hyphenated).map((part, index) =>
        // A name is not broken at its hyphens, unless it is wider than the page.
        index % 2 === 0 ? (
          part
        ) : (
          <span key={index} style={{ display: 'inline-block' }}>
            {part}
          </span>
        ),
      )}
    </Title>
  );
  return (
    <div>
      <Group gap="md" align={icon === undefined ? 'baseline' : 'center'}>
        {icon === undefined ? (
          named
        ) : (
          <Group gap={14} wrap="nowrap">
            {icon}
            {named}
          </Group>
        )}
        {mark}
      </Group>
      {intro !== undefined && (
        <Text c="dimmed" mt={10} lh={1.55}>
          {intro}
        </Text>
      )}
    </div>
  );
}

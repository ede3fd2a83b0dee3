import { Text, Title } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { useGatewayName } from '../../session/use-gateway-status.ts';

type PageHeadingProps = {
  /** Title of the browser tab. */
  title: string;
  heading: string;
  intro?: string;
  /** Focuses the heading, for pages whose first field should not take the focus. */
  focus?: boolean;
};

/** A page's main heading, and the title of the browser tab. */
export function PageHeading({ title, heading, intro, focus = false }: PageHeadingProps) {
  const gateway = useGatewayName();
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${gateway}`;
  }, [title, gateway]);
  useEffect(() => {
    if (focus) ref.current?.focus();
  }, [focus]);
  return (
    <div>
      <Title order={1} fz={30} lh={1.2} tabIndex={-1} ref={ref}>
        {heading}
      </Title>
      {intro !== undefined && (
        <Text c="dimmed" mt={10} lh={1.55}>
          {intro}
        </Text>
      )}
    </div>
  );
}

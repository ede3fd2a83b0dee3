import { Group, Stack, Tabs, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { useSearchParams } from 'react-router';
import classes from './page.module.css';
import { PageHeading } from './page-heading.tsx';

type PageProps = {
  /** The heading, and the browser tab's title unless `title` is given. */
  heading: string;
  title?: string;
  intro?: string;
  /** Beside the heading, such as a status. */
  mark?: ReactNode;
  /** The page's main actions, to the right of the heading. */
  actions?: ReactNode;
  /** A link above the heading, back to the list. */
  back?: ReactNode;
  /** The heading is a sentence. */
  longHeading?: boolean;
  /** A narrow column for forms and texts. */
  narrow?: boolean;
  children: ReactNode;
};

/** The layout of every page inside the app frame. */
export function Page({ heading, title = heading, intro, mark, children, ...props }: PageProps) {
  const { actions, back, longHeading = false, narrow = false } = props;
  return (
    <div className={classes.page} data-narrow={narrow || undefined}>
      <Stack gap={10}>
        {back}
        <div className={classes.top} data-long={longHeading || undefined}>
          <PageHeading title={title} heading={heading} mark={mark} focus />
          {intro !== undefined && (
            <Text c="dimmed" lh={1.55} className={classes.intro}>
              {intro}
            </Text>
          )}
          {actions !== undefined && (
            <Group gap="sm" className={classes.actions} data-page-actions>
              {actions}
            </Group>
          )}
        </div>
      </Stack>
      {children}
    </div>
  );
}

type PageTabsProps<Name extends string> = {
  /** The tab without a name in the address. */
  first: Name;
  /** `keep`: it has a form, whose input stays while another tab is shown. */
  tabs: readonly { name: Name; text: string; panel: ReactNode; keep?: boolean }[];
};

/** Parts of a page, of which one is shown. It stands in the address as `tab`. */
export function PageTabs<Name extends string>({ first, tabs }: PageTabsProps<Name>) {
  const [params, setParams] = useSearchParams();
  const asked = params.get('tab');
  const shown = tabs.find(({ name }) => name === asked)?.name ?? first;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const tab = list.current?.querySelector(`[role="tab"][aria-selected="true"]`);
    // On a phone the tabs scroll.
    if (shown !== first) tab?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [shown, first]);
  return (
    <Tabs
      value={shown}
      // What narrows one tab means nothing to the others.
      onChange={(next) => setParams(next === null || next === first ? {} : { tab: next }, { replace: true })}
      keepMounted={false}
    >
      <Tabs.List mb="xl" ref={list}>
        {tabs.map(({ name, text }) => (
          <Tabs.Tab key={name} value={name}>
            {text}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(({ name, panel, keep = false }) => (
        <Tabs.Panel key={name} value={name} keepMounted={keep}>
          {panel}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

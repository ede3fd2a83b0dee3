import { Tabs } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { useSearchParams } from 'react-router';

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

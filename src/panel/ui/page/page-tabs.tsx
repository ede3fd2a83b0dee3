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
  // On a phone the tabs scroll.
  useEffect(() => (list.current === null ? undefined : showChosen(list.current)), [shown]);
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

/** Keeps the chosen tab in view, and marks the sides at which more tabs follow. */
function showChosen(list: HTMLElement): () => void {
  const mark = (): void => {
    const rest = list.scrollWidth - list.clientWidth - Math.abs(list.scrollLeft);
    list.toggleAttribute('data-more-before', Math.abs(list.scrollLeft) > 1);
    list.toggleAttribute('data-more-after', rest > 1);
  };
  const scroll = (): void => {
    const tab = list.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]');
    if (tab !== null) list.scrollLeft = tab.offsetLeft - (list.clientWidth - tab.offsetWidth) / 2;
    mark();
  };
  const resizes = new ResizeObserver(scroll);
  resizes.observe(list);
  list.addEventListener('scroll', mark, { passive: true });
  return () => {
    resizes.disconnect();
    list.removeEventListener('scroll', mark);
  };
}

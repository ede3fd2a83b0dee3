import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';

/** The parser is loaded when there is something to parse. */
const MarkdownView = lazy(async () => ({ default: (await import('./markdown-view.tsx')).MarkdownView }));

/** A text of the operator: Markdown without HTML. */
export const Markdown = ({ source }: { source: string }) => (
  <Suspense fallback={<Skeleton h={24} maw={420} />}>
    <MarkdownView source={source} />
  </Suspense>
);

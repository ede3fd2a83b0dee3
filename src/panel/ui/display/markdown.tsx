import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { MarkdownProps } from './markdown-view.tsx';

/** The parser is loaded when there is something to parse. */
const MarkdownView = lazy(async () => ({ default: (await import('./markdown-view.tsx')).MarkdownView }));

/** A text of the operator: Markdown without HTML. */
export const Markdown = (props: MarkdownProps) => (
  <Suspense fallback={<Skeleton h={24} maw={420} />}>
    <MarkdownView {...props} />
  </Suspense>
);

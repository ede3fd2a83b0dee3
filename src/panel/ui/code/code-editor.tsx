import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { CodeDiffProps } from './code-diff-view.tsx';
import type { CodeEditorProps } from './code-editor-view.tsx';

// The editor is as large as the rest of the panel: it comes when one is shown.
const EditorView = lazy(async () => ({ default: (await import('./code-editor-view.tsx')).CodeEditorView }));
const DiffView = lazy(async () => ({ default: (await import('./code-diff-view.tsx')).CodeDiffView }));

/** Source text to be read, or written where `onChange` is given. */
export function CodeEditor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<Skeleton h={Math.min(props.height ?? 420, 240)} />}>
      <EditorView {...props} />
    </Suspense>
  );
}

/** Two texts: side by side where there is room, one below the other on a phone. */
export function CodeDiff(props: CodeDiffProps) {
  return (
    <Suspense fallback={<Skeleton h={240} />}>
      <DiffView {...props} />
    </Suspense>
  );
}

import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { CodeDiffProps } from './code-diff-view.tsx';
import type { CodeEditorProps } from './code-editor-view.tsx';

// Loaded on demand: the editor is as large as the rest of the panel.
const EditorView = lazy(async () => ({ default: (await import('./code-editor-view.tsx')).CodeEditorView }));
const DiffView = lazy(async () => ({ default: (await import('./code-diff-view.tsx')).CodeDiffView }));

/** A code editor; read-only without `onChange`. */
export function CodeEditor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<Skeleton h={Math.min(props.height ?? 420, 240)} />}>
      <EditorView {...props} />
    </Suspense>
  );
}

/** Compares two texts: side by side, or unified on narrow screens. */
export function CodeDiff(props: CodeDiffProps) {
  return (
    <Suspense fallback={<Skeleton h={240} />}>
      <DiffView {...props} />
    </Suspense>
  );
}

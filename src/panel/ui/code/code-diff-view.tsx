import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { useMediaQuery } from '@mantine/hooks';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './code-editor.module.css';
import { type CodeLanguage, codeSetup } from './code-setup.ts';

export type CodeDiffProps = {
  before: { label: string; text: string };
  after: { label: string; text: string };
  language: CodeLanguage;
  height?: number;
};

/** Folds longer unchanged stretches. */
const collapseUnchanged = { margin: 3, minSize: 6 };

export function CodeDiffView({ before, after, language, height = 560 }: CodeDiffProps) {
  const { t } = useTranslation();
  const foldedText = t('code.unchanged');
  const container = useRef<HTMLDivElement>(null);
  const isWide = useMediaQuery('(min-width: 900px)', true, { getInitialValueInEffect: false });

  useEffect(() => {
    const parent = container.current;
    if (parent === null) return;
    const setup = (label: string) => [
      lineNumbers(),
      codeSetup({ language, label, editable: false }),
      EditorState.phrases.of({ '$ unchanged lines': foldedText }),
    ];
    if (isWide) {
      const view = new MergeView({
        parent,
        a: { doc: before.text, extensions: setup(before.label) },
        b: { doc: after.text, extensions: setup(after.label) },
        gutter: true,
        collapseUnchanged,
      });
      return () => view.destroy();
    }
    const view = new EditorView({
      parent,
      state: EditorState.create({
        doc: after.text,
        extensions: [
          ...setup(after.label),
          unifiedMergeView({ original: before.text, mergeControls: false, gutter: true, collapseUnchanged }),
        ],
      }),
    });
    return () => view.destroy();
  }, [before.text, before.label, after.text, after.label, language, isWide, foldedText]);

  return (
    <div>
      {isWide && (
        <div className={classes.sides} aria-hidden="true">
          <span>{before.label}</span>
          <span>{after.label}</span>
        </div>
      )}
      <div ref={container} className={classes.editor} style={{ maxHeight: height }} />
    </div>
  );
}

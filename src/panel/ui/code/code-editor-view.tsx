import { EditorState } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { minimalSetup } from 'codemirror';
import { useEffect, useRef } from 'react';
import classes from './code-editor.module.css';
import { type CodeLanguage, codeSetup } from './code-setup.ts';

export type CodeEditorProps = {
  /** For screen readers. */
  label: string;
  value: string;
  language: CodeLanguage;
  /** Without it the text can only be read. */
  onChange?: (value: string) => void;
  /** The greatest height, in px. */
  height?: number;
};

export function CodeEditorView({ label, value, language, onChange, height = 420 }: CodeEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const editable = onChange !== undefined;

  // Later values go into the living editor, below.
  useEffect(() => {
    if (place.current === null) return;
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          minimalSetup,
          lineNumbers(),
          codeSetup({ language, label, editable }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [language, label, editable]);

  useEffect(() => {
    const living = view.current;
    if (living === null || living.state.doc.toString() === value) return;
    living.dispatch({ changes: { from: 0, to: living.state.doc.length, insert: value } });
  }, [value]);

  return <div ref={place} className={classes.editor} style={{ maxHeight: height }} />;
}

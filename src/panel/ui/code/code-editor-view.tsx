import { EditorState } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { minimalSetup } from 'codemirror';
import { useEffect, useRef } from 'react';
import classes from './code-editor.module.css';
import { type CodeLanguage, codeSetup } from './code-setup.ts';

export type CodeEditorProps = {
  /** Name for screen readers. */
  label: string;
  value: string;
  language: CodeLanguage;
  /** Without it the editor is read-only. */
  onChange?: (value: string) => void;
  /** Maximum height in px. */
  height?: number;
};

export function CodeEditorView({ label, value, language, onChange, height = 420 }: CodeEditorProps) {
  const container = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latestOnChange = useRef(onChange);
  latestOnChange.current = onChange;
  const editable = onChange !== undefined;

  // `value` only initialises the editor; the next effect applies later values.
  useEffect(() => {
    if (container.current === null) return;
    const editor = new EditorView({
      parent: container.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          minimalSetup,
          lineNumbers(),
          codeSetup({ language, label, editable }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latestOnChange.current?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, [language, label, editable]);

  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  return <div ref={container} className={classes.editor} style={{ maxHeight: height }} />;
}

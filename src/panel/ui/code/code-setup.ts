import { javascript } from '@codemirror/lang-javascript';
import { json } from '@codemirror/lang-json';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export type CodeLanguage = 'javascript' | 'json' | 'text';

const added = (percent: number): string => `color-mix(in srgb, var(--tg-signal) ${percent}%, transparent)`;
const removed = (percent: number): string => `color-mix(in srgb, var(--mantine-color-error) ${percent}%, transparent)`;

const frame = EditorView.theme({
  '&': { backgroundColor: 'transparent', color: 'var(--mantine-color-text)', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--mantine-primary-color-filled)', outlineOffset: '1px' },
  // Numbers of lines stand on the same baseline as their lines.
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)' },
  '.cm-content': { padding: '12px 0', caretColor: 'currentColor' },
  '.cm-line': { paddingInlineEnd: '12px' },
  '.cm-lineNumbers .cm-gutterElement': { paddingInline: '12px 8px' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--mantine-color-dimmed)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--tg-line) 35%, transparent)' },
  '.cm-collapsedLines': {
    background: 'color-mix(in srgb, var(--tg-line) 45%, transparent)',
    color: 'var(--mantine-color-dimmed)',
  },
  '.cm-collapsedLines::before, .cm-collapsedLines::after': { content: '""' },
  '.cm-cursor': { borderLeftColor: 'currentColor' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground, .cm-content ::selection': {
    backgroundColor: 'color-mix(in srgb, var(--mantine-primary-color-filled) 28%, transparent) !important',
  },
  // Lines keep the colours of their language, which can be read on their tints.
  '.cm-changedLine, .cm-changedLineGutter': { background: `${added(14)} !important` },
  '.cm-deletedChunk, .cm-deletedLineGutter, &.cm-merge-a :is(.cm-changedLine, .cm-changedLineGutter)': {
    background: `${removed(10)} !important`,
  },
  // Changed characters have one look on both sides, unless they are the whole line.
  '.cm-changedText': { background: `${added(30)} !important` },
  '.cm-deletedText, &.cm-merge-a .cm-changedText': { background: `${removed(24)} !important` },
  ':is(ins, del) > .cm-changedText:only-child': { background: 'none !important' },
  '.cm-deletedText, .cm-changedText:not(:only-child), .cm-changedText:not(:only-child) *': {
    color: 'var(--mantine-color-text)',
  },
  '.cm-changeGutter': { width: '16px', paddingLeft: '0', textAlign: 'center' },
  '.cm-changedLineGutter::before': { color: 'var(--mantine-primary-color-filled)', content: '"+"' },
  '.cm-deletedLineGutter::before, &.cm-merge-a .cm-changedLineGutter::before': {
    color: 'var(--mantine-color-error)',
    content: '"−"',
  },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--tg-code-keyword)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--tg-code-string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--tg-code-number)' },
  { tag: [tags.comment], color: 'var(--mantine-color-dimmed)', fontStyle: 'italic' },
  { tag: [tags.propertyName, tags.definition(tags.variableName)], color: 'var(--tg-code-name)' },
]);

/**
 * Extensions of every editor: colours, line wrapping, the nonce for style tags, and a name for
 * screen readers.
 */
export function codeSetup(options: { language: CodeLanguage; label: string; editable: boolean }): Extension {
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
  const languages = { javascript: () => javascript(), json: () => json(), text: () => [] };
  return [
    EditorView.cspNonce.of(nonce),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': options.label }),
    languages[options.language](),
    syntaxHighlighting(colours),
    frame,
    ...(options.editable ? [] : [EditorState.readOnly.of(true)]),
  ];
}

import { useState } from 'react';
import type { AttachedFiles, RequestBody } from './attached-files.ts';

export type JsonFault = { kind: 'broken'; message: string } | { kind: 'noObject' };

export type RequestDraft = {
  body: RequestBody;
  /** The body as JSON, or what is being typed there. */
  text: string;
  /** What is wrong with the text; the body is the last good one then. */
  fault: JsonFault | null;
  files: AttachedFiles;
  /** undefined takes the field out. */
  setField(name: string, value: unknown): void;
  setText(text: string): void;
  replace(body: RequestBody): void;
  attach(mark: string, file: AttachedFiles[string], field: string): void;
};

type Written = Pick<RequestDraft, 'body' | 'text' | 'fault'>;

const write = (body: RequestBody): Written => ({ body, text: JSON.stringify(body, null, 2), fault: null });

/** One request that a form and a JSON text show: a change in either is one in both. */
export function useRequestBody(initial: RequestBody): RequestDraft {
  const [written, setWritten] = useState(() => write(initial));
  const [files, setFiles] = useState<AttachedFiles>({});

  // Of the request as it is by then: while a file is being read, more is typed.
  const setField = (name: string, value: unknown): void =>
    setWritten(({ body }) => {
      const { [name]: _, ...others } = body;
      // A field that is changed keeps its place.
      return write(value === undefined ? others : { ...body, [name]: value });
    });
  return {
    ...written,
    files,
    setField,
    replace: (body) => setWritten(write(body)),
    setText: (text) =>
      setWritten((before) => {
        if (text === before.text) return before;
        const { body, fault } = readBody(text);
        return { text, fault, body: body ?? before.body };
      }),
    attach: (mark, file, field) => {
      setFiles((before) => ({ ...before, [mark]: file }));
      setField(field, mark);
    },
  };
}

function readBody(text: string): { body: RequestBody; fault: null } | { body: null; fault: JsonFault } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { body: null, fault: { kind: 'noObject' } };
    }
    return { body: value as RequestBody, fault: null };
  } catch (error) {
    return { body: null, fault: { kind: 'broken', message: error instanceof Error ? error.message : '' } };
  }
}

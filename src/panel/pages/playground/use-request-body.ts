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

const write = (body: RequestBody): string => JSON.stringify(body, null, 2);

/** One request that a form and a JSON text show: a change in either is one in both. */
export function useRequestBody(initial: RequestBody): RequestDraft {
  const [body, setBody] = useState(initial);
  const [text, setText] = useState(() => write(initial));
  const [fault, setFault] = useState<JsonFault | null>(null);
  const [files, setFiles] = useState<AttachedFiles>({});

  const replace = (next: RequestBody): void => {
    setBody(next);
    setText(write(next));
    setFault(null);
  };
  const setField = (name: string, value: unknown): void => {
    const { [name]: _, ...others } = body;
    // A field that is changed keeps its place.
    replace(value === undefined ? others : { ...body, [name]: value });
  };
  return {
    body,
    text,
    fault,
    files,
    setField,
    replace,
    setText: (next) => {
      if (next === text) return;
      setText(next);
      const read = readBody(next);
      setFault(read.fault);
      if (read.body !== null) setBody(read.body);
    },
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

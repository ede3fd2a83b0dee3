import { useState } from 'react';
import { type AttachedFiles, markFile, type RequestBody, readDataUrl } from './attached-files.ts';

export type JsonFault = { kind: 'broken'; message: string } | { kind: 'noObject' };

export type RequestDraft = {
  body: RequestBody;
  /** The body as JSON, or what is being typed there. */
  text: string;
  /** What is wrong with the text; the body is the last good one then. */
  fault: JsonFault | null;
  files: AttachedFiles;
  /** By the field that they are for. */
  reading: Readonly<Record<string, File>>;
  /** undefined takes the field out. */
  setField(name: string, value: unknown): void;
  setFields(values: RequestBody): void;
  setText(text: string): void;
  /** With another request, which no file that is being read is meant for. */
  replace(body: RequestBody): void;
  /** Of two files for a field the later one wins. Rejects when the browser cannot read it. */
  attach(file: File, field: string): Promise<void>;
};

type Written = Pick<RequestDraft, 'body' | 'text' | 'fault'>;
type State = Written & Pick<RequestDraft, 'files' | 'reading'>;

const write = (body: RequestBody): Written => ({ body, text: JSON.stringify(body, null, 2), fault: null });

/** One request that a form and a JSON text show: a change in either is one in both. */
export function useRequestBody(initial: RequestBody): RequestDraft {
  const [state, setState] = useState<State>(() => ({ ...write(initial), files: {}, reading: {} }));
  return {
    ...state,
    setField: (name, value) => setState((before) => ({ ...before, ...write(putField(before.body, name, value)) })),
    setFields: (values) => setState((before) => ({ ...before, ...write({ ...before.body, ...values }) })),
    replace: (body) => setState((before) => ({ ...before, ...write(body), reading: {} })),
    setText: (text) =>
      setState((before) => {
        if (text === before.text) return before;
        const { body, fault } = readBody(text);
        return { ...before, text, fault, body: body ?? before.body };
      }),
    attach: async (file, field) => {
      setState((before) => ({ ...before, reading: { ...before.reading, [field]: file } }));
      try {
        const dataUrl = await readDataUrl(file);
        setState((before) =>
          before.reading[field] === file ? putFile(endReading(before, field), file, field, dataUrl) : before,
        );
      } catch (error) {
        setState((before) => (before.reading[field] === file ? endReading(before, field) : before));
        throw error;
      }
    },
  };
}

function putField(body: RequestBody, name: string, value: unknown): RequestBody {
  const { [name]: _, ...others } = body;
  // A field that is changed keeps its place.
  return value === undefined ? others : { ...body, [name]: value };
}

/** Into the request as it is by then: while a file is being read, more is typed. */
function putFile(state: State, { name, type }: File, field: string, dataUrl: string): State {
  const mark = markFile(state.files, name, dataUrl);
  const files = { ...state.files, [mark]: { type: type || 'application/octet-stream', dataUrl } };
  return { ...state, ...write(putField(state.body, field, mark)), files };
}

function endReading(state: State, field: string): State {
  const { [field]: _, ...reading } = state.reading;
  return { ...state, reading };
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

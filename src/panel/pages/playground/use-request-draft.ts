import { useState } from 'react';
import { type AttachedFiles, filePlaceholder, type RequestBody, readDataUrl } from './attached-files.ts';

export type JsonError = { kind: 'broken'; message: string } | { kind: 'noObject' };

export type RequestDraft = {
  body: RequestBody;
  /** The body as JSON, or the text being typed. */
  text: string;
  /** What is wrong with the text; `body` is then the last valid one. */
  error: JsonError | null;
  files: AttachedFiles;
  /** Files being read, by their field. */
  reading: Readonly<Record<string, File>>;
  /** undefined removes the field. */
  setField(name: string, value: unknown): void;
  setFields(values: RequestBody): void;
  setText(text: string): void;
  /** Replaces the request and drops files that are still being read. */
  replace(body: RequestBody): void;
  /**
   * If two files are attached to a field, the later one wins. Rejects if the browser cannot read
   * the file.
   */
  attach(file: File, field: string): Promise<void>;
};

type RequestText = Pick<RequestDraft, 'body' | 'text' | 'error'>;
type State = RequestText & Pick<RequestDraft, 'files' | 'reading'>;

const fromBody = (body: RequestBody): RequestText => ({ body, text: JSON.stringify(body, null, 2), error: null });

/** One request edited as a form and as JSON; each shows changes of the other. */
export function useRequestDraft(initial: RequestBody): RequestDraft {
  const [state, setState] = useState<State>(() => ({ ...fromBody(initial), files: {}, reading: {} }));
  return {
    ...state,
    setField: (name, value) => setState((before) => ({ ...before, ...fromBody(withField(before.body, name, value)) })),
    setFields: (values) => setState((before) => ({ ...before, ...fromBody({ ...before.body, ...values }) })),
    replace: (body) => setState((before) => ({ ...before, ...fromBody(body), reading: {} })),
    setText: (text) =>
      setState((before) => {
        if (text === before.text) return before;
        const { body, error } = readBody(text);
        return { ...before, text, error, body: body ?? before.body };
      }),
    attach: async (file, field) => {
      setState((before) => ({ ...before, reading: { ...before.reading, [field]: file } }));
      try {
        const dataUrl = await readDataUrl(file);
        setState((before) =>
          before.reading[field] === file ? withFile(withoutReading(before, field), { file, field, dataUrl }) : before,
        );
      } catch (error) {
        setState((before) => (before.reading[field] === file ? withoutReading(before, field) : before));
        throw error;
      }
    },
  };
}

function withField(body: RequestBody, name: string, value: unknown): RequestBody {
  const { [name]: _, ...others } = body;
  // A changed field keeps its position.
  return value === undefined ? others : { ...body, [name]: value };
}

type ReadFile = { file: File; field: string; dataUrl: string };

/** Puts a file that was read into the current state: more may have been typed meanwhile. */
function withFile(state: State, { file: { name, type }, field, dataUrl }: ReadFile): State {
  const placeholder = filePlaceholder(state.files, name, dataUrl);
  const files = { ...state.files, [placeholder]: { type: type || 'application/octet-stream', dataUrl } };
  return { ...state, ...fromBody(withField(state.body, field, placeholder)), files };
}

function withoutReading(state: State, field: string): State {
  const { [field]: _, ...reading } = state.reading;
  return { ...state, reading };
}

function readBody(text: string): { body: RequestBody; error: null } | { body: null; error: JsonError } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { body: null, error: { kind: 'noObject' } };
    }
    return { body: value as RequestBody, error: null };
  } catch (error) {
    return { body: null, error: { kind: 'broken', message: error instanceof Error ? error.message : '' } };
  }
}

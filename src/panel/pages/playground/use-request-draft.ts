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

/** Puts a file that was read into the current state: more may have been typed since. */
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

/** `session.ts` removes it at sign-out. */
const storageKey = 'taskgate.drafts';
const maxDrafts = 20;
/** Longer requests are not kept: the storage of a browser is small. */
const maxLength = 20_000;

/** Requests by their model, the latest last, of the user who typed them. */
type Drafts = { user: number; bodies: Record<string, RequestBody> };

function readAll(user: number): Drafts {
  try {
    const stored = JSON.parse(localStorage.getItem(storageKey) ?? 'null') as Drafts | null;
    if (stored?.user === user && typeof stored.bodies === 'object') return stored;
  } catch {
    // Blocked or broken: there are no drafts.
  }
  return { user, bodies: {} };
}

/** The request that the user last typed for a model. */
export function readDraft(user: number, model: string): RequestBody | null {
  const { bodies } = readAll(user);
  return Object.hasOwn(bodies, model) ? (bodies[model] ?? null) : null;
}

/** Keeps a request for its model. Files are left out. */
export function keepDraft(user: number, model: string, body: RequestBody): void {
  const kept = Object.fromEntries(Object.entries(body).filter(([, value]) => !holdsFile(value)));
  if (JSON.stringify(kept).length > maxLength) return;
  const { [model]: _, ...others } = readAll(user).bodies;
  const bodies = Object.fromEntries([...Object.entries(others), [model, kept] as const].slice(-maxDrafts));
  try {
    localStorage.setItem(storageKey, JSON.stringify({ user, bodies }));
  } catch {
    // Blocked or full: the draft lives as long as the page.
  }
}

const holdsFile = (value: unknown): boolean => (JSON.stringify(value) ?? '').includes('"<file: ');

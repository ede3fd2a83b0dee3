import type { RequestBody } from './attached-files.ts';

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

import type { TaskShown } from '../../store/ports/index.ts';

/** Memory of all renderings together: of some ten thousand videos. */
const MAX_BYTES = 16 * 1024 * 1024;
/** A longer one would evict many. */
const MAX_ENTRY_BYTES = 64 * 1024;
/** Memory of an entry without its texts (measured). */
const ENTRY_BYTES = 450;

/** What a rendering depends on besides its task: the serving plugins, the address, the link. */
type Origin = { generation: number; url: string; link: string | undefined };
type Entry = { task: TaskShown; url: string; link: string | undefined; json: string; bytes: number };

/**
 * Keeps renderings of videos that depend on task and address alone. The task is read for each
 * request: a rendering is used again only while everything that it was made of is the same.
 */
export interface RenderedVideoCache {
  /** The rendering as JSON; `undefined` where there is none of exactly this. */
  find(task: TaskShown, origin: Origin): string | undefined;
  keep(task: TaskShown, origin: Origin, json: string): void;
  size(): number;
  heldBytes(): number;
}

/** The longest unused is dropped first. */
export function createRenderedVideoCache(maxBytes: number = MAX_BYTES): RenderedVideoCache {
  // By the task's id, least recently used first.
  const entries = new Map<string, Entry>();
  let generation = 0;
  let held = 0;

  const drop = (id: string): void => {
    held -= entries.get(id)?.bytes ?? 0;
    entries.delete(id);
  };
  /** No plugin of an earlier generation is needed any more. */
  const enter = (current: number): void => {
    if (current === generation) return;
    generation = current;
    entries.clear();
    held = 0;
  };

  return {
    find(task, origin) {
      enter(origin.generation);
      const entry = entries.get(task.taskId);
      if (!entry || entry.url !== origin.url || entry.link !== origin.link || !isSame(entry.task, task))
        return undefined;
      entries.delete(task.taskId);
      entries.set(task.taskId, entry);
      return entry.json;
    },
    keep(task, origin, json) {
      // The plugins may have changed while this was rendered.
      if (origin.generation !== generation) return;
      drop(task.taskId);
      const { url, link } = origin;
      const bytes = ENTRY_BYTES + 2 * (json.length + url.length + (link?.length ?? 0) + countChars(task));
      if (bytes > MAX_ENTRY_BYTES) return;
      entries.set(task.taskId, { task, url, link, json, bytes });
      held += bytes;
      for (const id of entries.keys()) {
        if (held <= maxBytes) return;
        drop(id);
      }
    },
    size: () => entries.size,
    heldBytes: () => held,
  };
}

function isSame(one: TaskShown, other: TaskShown): boolean {
  for (const name in one) {
    if (one[name as keyof TaskShown] !== other[name as keyof TaskShown]) return false;
  }
  return true;
}

function countChars(task: TaskShown): number {
  let chars = 0;
  for (const value of Object.values(task)) if (typeof value === 'string') chars += value.length;
  return chars;
}

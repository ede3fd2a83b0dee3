/** Waiting jobs, first come first served within a plugin, and plugin after plugin among them. */
export interface CallQueue<J extends { key: string }> {
  readonly size: number;
  /** Plugins that wait. */
  readonly plugins: number;
  push(job: J): void;
  /** Puts back what had been taken already. */
  pushFront(job: J): void;
  remove(job: J): boolean;
  /** Takes the first job, plugin after plugin, that `place` finds a place for. */
  take<P>(place: (job: J) => P | undefined): { job: J; place: P } | undefined;
  /** Takes the first jobs of a plugin as long as `accept` says so. */
  takeWhile(key: string, accept: (job: J) => boolean): J[];
  /** The first job of each plugin. */
  heads(): J[];
  /** Removes and returns the jobs of one plugin, or all of them. */
  drain(key?: string): J[];
}

export function createCallQueue<J extends { key: string }>(): CallQueue<J> {
  // In the order of the next turn; a plugin without waiting jobs is not in it.
  const waiting = new Map<string, J[]>();
  let size = 0;

  const shift = (key: string, jobs: J[]): void => {
    jobs.shift();
    size--;
    waiting.delete(key);
    if (jobs.length > 0) waiting.set(key, jobs);
  };
  const listOf = (key: string): J[] => {
    const jobs = waiting.get(key) ?? [];
    waiting.set(key, jobs);
    return jobs;
  };

  return {
    get size() {
      return size;
    },
    get plugins() {
      return waiting.size;
    },
    push(job) {
      listOf(job.key).push(job);
      size++;
    },
    pushFront(job) {
      listOf(job.key).unshift(job);
      size++;
    },
    remove(job) {
      const jobs = waiting.get(job.key);
      const at = jobs?.indexOf(job) ?? -1;
      if (!jobs || at < 0) return false;
      jobs.splice(at, 1);
      size--;
      if (jobs.length === 0) waiting.delete(job.key);
      return true;
    },
    take(place) {
      for (const [key, jobs] of waiting) {
        const job = jobs[0];
        const found = job && place(job);
        if (job && found !== undefined) {
          shift(key, jobs);
          return { job, place: found };
        }
      }
      return undefined;
    },
    takeWhile(key, accept) {
      const jobs = waiting.get(key) ?? [];
      const end = jobs.findIndex((job) => !accept(job));
      const taken = jobs.splice(0, end < 0 ? jobs.length : end);
      size -= taken.length;
      if (jobs.length === 0) waiting.delete(key);
      return taken;
    },
    heads: () => [...waiting.values()].flatMap((jobs) => jobs.slice(0, 1)),
    drain(key) {
      const drained = key === undefined ? [...waiting.values()].flat() : (waiting.get(key) ?? []);
      if (key === undefined) waiting.clear();
      else waiting.delete(key);
      size -= drained.length;
      return drained;
    },
  };
}

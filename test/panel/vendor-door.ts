/** A door before the demo vendor: a test opens it when it has seen what is to be seen before. */
export type VendorDoor = {
  url: string;
  /**
   * `orders`: whoever orders a job gets no answer yet. `results`: jobs that are done are said to be
   * running.
   */
  shut(what: 'orders' | 'results'): void;
  open(): void;
  stop(): Promise<void>;
};

type Job = { status: string; progress: number };

const stillRunning = (job: Job): Job => ({ ...job, status: 'running', progress: Math.min(job.progress, 50) });

export function startVendorDoor(vendor: { url: string }): VendorDoor {
  let shut: 'orders' | 'results' | undefined;
  let opened = Promise.withResolvers<void>();
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    // An order waits for as long as the test needs.
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const isOrder = request.method === 'POST';
      if (isOrder && shut === 'orders') await opened.promise;
      const answer = await fetch(`${vendor.url}${pathname}${search}`, {
        method: request.method,
        headers: request.headers,
        ...(isOrder ? { body: await request.arrayBuffer() } : {}),
      });
      if (shut !== 'results' || !answer.ok || pathname.endsWith('/content')) return answer;
      const told = (await answer.json()) as Job | { jobs: Job[] };
      return Response.json('jobs' in told ? { ...told, jobs: told.jobs.map(stillRunning) } : stillRunning(told));
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    shut(what) {
      shut = what;
    },
    open() {
      shut = undefined;
      opened.resolve();
      opened = Promise.withResolvers();
    },
    stop: () => server.stop(true),
  };
}

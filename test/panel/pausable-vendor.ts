/** A proxy in front of the demo vendor that a test can pause. */
export type PausableVendor = {
  url: string;
  /**
   * `submissions`: they get no answer until `resume`. `results`: finished jobs are reported as
   * running.
   */
  pause(what: 'submissions' | 'results'): void;
  resume(): void;
  stop(): Promise<void>;
};

type Job = { status: string; progress: number };

const stillRunning = (job: Job): Job => ({ ...job, status: 'running', progress: Math.min(job.progress, 50) });

export function startPausableVendor(vendor: { url: string }): PausableVendor {
  let paused: 'submissions' | 'results' | undefined;
  let resumed = Promise.withResolvers<void>();
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    // A submission may wait as long as the test needs.
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const isSubmission = request.method === 'POST';
      if (isSubmission && paused === 'submissions') await resumed.promise;
      const answer = await fetch(`${vendor.url}${pathname}${search}`, {
        method: request.method,
        headers: request.headers,
        ...(isSubmission ? { body: await request.arrayBuffer() } : {}),
      });
      if (paused !== 'results' || !answer.ok || pathname.endsWith('/content')) return answer;
      const body = (await answer.json()) as Job | { jobs: Job[] };
      return Response.json('jobs' in body ? { ...body, jobs: body.jobs.map(stillRunning) } : stillRunning(body));
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    pause(what) {
      paused = what;
    },
    resume() {
      paused = undefined;
      resumed.resolve();
      resumed = Promise.withResolvers();
    },
    stop: () => server.stop(true),
  };
}

/**
 * A vendor that costs little, as a process of its own: it speaks the demo vendor's API to the
 * gateway, keeps no jobs, and is the same for every build that is compared. Prints its port.
 *
 * An id says what the job is: `run-N` stays queued, `new-N` is a little further at each poll,
 * `done-N-BYTES` ended at once with a file of that size, `soon-N-UNTIL` ends at that time, between
 * half and one and a half times as long after its start as asked for, `poll-N-MS` ends so long
 * after its first poll. The prompts `[moving]`, `[file=BYTES]`, `[soon=MS]` and `[polled=MS]` ask
 * for them.
 *
 * `/gaps` lists and forgets, in milliseconds, how long after a job had been seen to end the next
 * one of the same key arrived.
 */
const counts = { creates: 0, polls: 0, batch_polls: 0, downloads: 0 };
const files = new Map<number, Uint8Array<ArrayBuffer>>();
/** When jobs end that began with their first poll. */
const ends = new Map<string, number>();

/** When jobs were seen to end whose place nobody has taken yet, by key, the oldest first. */
const freed = new Map<string, number[]>();
let gaps: number[] = [];

const headers = { 'content-type': 'application/json' };
const answer = (text: string) => new Response(text, { headers });

/** As long as the demo vendor's own answer. */
function show(id: string): string {
  const kind = id.slice(0, id.indexOf('-'));
  const hasEnded = kind === 'done' || ((kind === 'soon' || kind === 'poll') && performance.now() >= readEnd(id));
  const [status, progress] = hasEnded
    ? ['succeeded', 100]
    : kind === 'new'
      ? ['running', counts.polls % 100]
      : ['queued', 0];
  const ended = hasEnded ? `,"content_path":"/v1/jobs/${id}/content","usage":{"seconds":4,"resolution":"720p"}` : '';
  return `{"id":"${id}","object":"video.job","status":"${status}","progress":${progress},"model":"demo-video","prompt":"a lighthouse in the fog","seconds":4,"resolution":"720p","reference_id":"","created_at":1700000000${ended}}`;
}

function readEnd(id: string): number {
  const ms = Number(id.slice(id.lastIndexOf('-') + 1));
  if (!id.startsWith('poll-')) return ms;
  const end = ends.get(id) ?? performance.now() + ms;
  ends.set(id, end);
  return end;
}

const readKey = (request: Request): string => request.headers.get('authorization') ?? '';

async function create(request: Request): Promise<Response> {
  const freedMs = freed.get(readKey(request))?.shift();
  if (freedMs !== undefined) gaps.push(performance.now() - freedMs);
  const { prompt } = (await request.json()) as { prompt: string };
  counts.creates += 1;
  const bytes = /\[file=(\d+)\]/.exec(prompt)?.[1];
  const number = counts.creates.toString(36).padStart(8, '0');
  if (bytes !== undefined) return answer(show(`done-${number}-${bytes}`));
  const [, from, ms] = /\[(soon|polled)=(\d+)\]/.exec(prompt) ?? [];
  if (from !== undefined) {
    const after = Number(ms) * (0.5 + Math.random());
    const id =
      from === 'soon'
        ? `soon-${number}-${Math.round(performance.now() + after)}`
        : `poll-${number}-${Math.round(after)}`;
    const text = show(id);
    ends.delete(id);
    return answer(text);
  }
  return answer(show(`${prompt.includes('[moving]') ? 'new' : 'run'}-${number}`));
}

function download(id: string): Response {
  counts.downloads += 1;
  const size = Number(id.slice(id.lastIndexOf('-') + 1));
  const file = files.get(size) ?? new Uint8Array(size).fill(99);
  files.set(size, file);
  return new Response(file, { headers: { 'content-type': 'video/mp4' } });
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  // The gateway keeps idle connections for some seconds; the vendor must keep them longer.
  idleTimeout: 60,
  fetch(request) {
    const path = request.url.slice(request.url.indexOf('/', 'http://'.length));
    if (path.startsWith('/v1/jobs/')) {
      const [id = '', content] = path.slice('/v1/jobs/'.length).split('/');
      if (content !== undefined) return download(id);
      counts.polls += 1;
      const text = show(id);
      if (id.startsWith('soon-') && text.includes('succeeded')) {
        const key = readKey(request);
        freed.set(key, [...(freed.get(key) ?? []), performance.now()]);
      }
      return answer(text);
    }
    if (path.startsWith('/v1/jobs?ids=')) {
      const ids = path.slice('/v1/jobs?ids='.length).split(',');
      counts.batch_polls += 1;
      counts.polls += ids.length;
      return answer(`{"jobs":[${ids.map(show).join()}]}`);
    }
    if (path === '/v1/jobs') return create(request);
    if (path === '/gaps') {
      const found = gaps;
      gaps = [];
      return Response.json(found);
    }
    return Response.json(counts);
  },
});
process.stdout.write(`${server.port}\n`);

export {};

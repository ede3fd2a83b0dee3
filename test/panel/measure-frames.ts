import type { Page } from 'playwright-core';

type TraceEvent = {
  name: string;
  pid: number;
  tid: number;
  /** Microseconds on the clock. */
  ts: number;
  /** Microseconds of processor time. */
  tdur?: number;
  args?: { name?: string };
};

/**
 * Processor time of the page's main thread for each frame while `work` runs, in milliseconds, the
 * longest first: scripts, style, layout and paint. Unlike time on the clock it stays the same on a
 * busy machine.
 */
export async function measureFrames(page: Page, work: () => Promise<unknown>): Promise<number[]> {
  const browser = page.context().browser();
  if (browser === null) throw new Error('the page has no browser of its own');
  await browser.startTracing(page, {
    categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline', '__metadata'],
  });
  let trace: Buffer;
  try {
    await work();
  } finally {
    // Also after a failure: a browser traces one page at a time.
    trace = await browser.stopTracing();
  }
  return readFrames((JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] }).traceEvents);
}

function readFrames(events: readonly TraceEvent[]): number[] {
  const readThread = ({ pid, tid }: TraceEvent): string => `${pid}/${tid}`;
  const mains = new Set(
    events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain').map(readThread),
  );
  const own = events.filter((event) => mains.has(readThread(event))).sort((a, b) => a.ts - b.ts);
  const frames: number[] = [0];
  for (const { name, tdur = 0 } of own) {
    // A frame ends when it is handed to the compositor.
    if (name === 'Commit') frames.push(0);
    if (name === 'RunTask') frames[frames.length - 1] = (frames.at(-1) ?? 0) + tdur / 1000;
  }
  return frames.sort((a, b) => b - a);
}

/** The time that all but the slowest twentieth of the frames keep. */
export const usualFrame = (frames: readonly number[]): number => frames[Math.floor(frames.length / 20)] ?? 0;

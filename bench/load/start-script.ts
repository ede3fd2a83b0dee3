/** A script of the bench as a process of its own, which prints its port when it serves. */
export type Script = { port: number; pid: number; url: string; stop(): Promise<void> };

/** `file` is relative to `bench/`. */
export async function startScript(file: string, args: readonly string[] = []): Promise<Script> {
  const path = new URL(`../${file}`, import.meta.url).pathname;
  const child = Bun.spawn([process.execPath, path, ...args], { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
  const { value } = await child.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(value));
  if (!port) throw new Error(`${file} ended with ${await child.exited}`);
  return {
    port,
    pid: child.pid,
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

export type Vendor = Script & {
  counts(): Promise<Record<'creates' | 'polls' | 'batch_polls' | 'downloads', number>>;
  /** Milliseconds from the ends of jobs to those that took their places, since the last call. */
  gaps(): Promise<number[]>;
};

export async function startBenchVendor(): Promise<Vendor> {
  const script = await startScript('load/serve-vendor.ts');
  return {
    ...script,
    counts: async () => (await (await fetch(`${script.url}/counts`)).json()) as Awaited<ReturnType<Vendor['counts']>>,
    gaps: async () => (await (await fetch(`${script.url}/gaps`)).json()) as number[],
  };
}

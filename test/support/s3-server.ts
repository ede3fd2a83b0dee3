import { mkdir, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from './find-program.ts';
import { freePort } from './free-port.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

/** A real server that speaks S3, of one test alone, with the bucket `results`. */
export type S3Server = {
  url: string;
  /** The files of the bucket. */
  folder: string;
  kill(): Promise<void>;
  start(): Promise<void>;
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
};

export const S3_KEYS = { accessKeyId: 'test-access-key', secretAccessKey: 'test-secret-0123456789' };

/** Started and answering. Throws, saying what to install, when no server is there. */
export async function startS3Server(): Promise<S3Server> {
  const binary = findProgram(['versitygw'], [join(homedir(), 'go', 'bin')]);
  if (!binary) {
    throw new Error('this test needs versitygw: go install github.com/versity/versitygw/cmd/versitygw@latest');
  }
  const data = join(temporaryFolder(), 'buckets');
  const folder = join(data, 'results');
  await mkdir(folder, { recursive: true });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let child: Bun.Subprocess | undefined;
  async function start(): Promise<void> {
    const keys = ['--access', S3_KEYS.accessKeyId, '--secret', S3_KEYS.secretAccessKey];
    const command = [binary ?? '', ...keys, '--port', `127.0.0.1:${port}`, '--quiet', 'posix', data];
    child = Bun.spawn(command, { stdout: 'ignore', stderr: 'ignore' });
    await until('the S3 server answers', () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    );
  }
  async function kill(): Promise<void> {
    child?.kill('SIGKILL');
    await child?.exited;
  }
  await start();
  return {
    url,
    folder,
    kill,
    start,
    pause: () => child?.kill('SIGSTOP'),
    resume: () => child?.kill('SIGCONT'),
    async stop() {
      await kill();
      await rm(data, { recursive: true, force: true });
    },
  };
}

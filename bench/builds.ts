import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildExecutable } from '../scripts/build.ts';
import { root } from '../scripts/hash-inputs.ts';

/** An executable under measurement. */
export type Build = {
  binary: string;
  /** What is started in its place; default: the executable. */
  program?: readonly string[];
  /** The checkout that it was built from, where there is one. */
  source: string | undefined;
  /** The commit of the checkout, or the name of the file. */
  name: string;
};

/** This checkout, built where that is stale, or the executable of `TASKGATE_BINARY`. */
export async function prepareThisBuild(): Promise<Build> {
  const binary = process.env.TASKGATE_BINARY ?? join(root, (await buildExecutable({ forSpeed: true })).path);
  return { binary, source: root, name: await describeCommit(root) };
}

/**
 * A checkout is built by its own `npm run build`; an executable is taken as it is.
 *
 * @throws where there is neither, or the build fails.
 */
export async function prepareOtherBuild(path: string): Promise<Build> {
  const full = resolve(process.env.INIT_CWD ?? process.cwd(), path);
  if (!existsSync(full)) throw new Error(`${full} does not exist.`);
  if (!statSync(full).isDirectory()) {
    try {
      accessSync(full, constants.X_OK);
    } catch {
      throw new Error(`${full} is not executable.`);
    }
    return { binary: full, source: undefined, name: full };
  }
  if (!existsSync(join(full, 'package.json'))) throw new Error(`${full} is not a checkout: it has no package.json.`);
  const child = Bun.spawn(['npm', 'run', '--silent', 'build'], {
    cwd: full,
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'inherit',
  });
  if ((await child.exited) !== 0) throw new Error(`npm run build failed in ${full}.`);
  const binary = join(full, 'dist/taskgate');
  if (!existsSync(binary)) throw new Error(`npm run build made no ${binary}.`);
  return { binary, source: full, name: await describeCommit(full) };
}

async function describeCommit(folder: string): Promise<string> {
  const child = Bun.spawn(['git', 'describe', '--tags', '--always', '--dirty'], {
    cwd: folder,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  return code === 0 ? text.trim() : folder;
}

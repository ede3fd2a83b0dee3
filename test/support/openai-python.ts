import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from './find-program.ts';
import { canInstallPackages, installPackages } from './install-packages.ts';

const VERSION = '2.54.0';
/** Kept between runs; a clean `npm ci` removes it. */
const FOLDER = fileURLToPath(new URL(`../../node_modules/.cache/openai-python-${VERSION}`, import.meta.url));

/** Runs a script of Python with the official client; its standard output. */
export type OpenaiPython = (script: string, args: readonly string[]) => Promise<string>;

/**
 * Python with OpenAI's official client, which pip installs once. Says why not where the machine has
 * no Python 3.9 with pip or reaches no package index.
 */
export async function provideOpenaiPython(): Promise<OpenaiPython | { missing: string }> {
  if (findProgram(['python3']) === null || !(await succeeds(['python3', '-m', 'pip', '--version']))) {
    if (canInstallPackages()) await installPackages([['python3-pip']]);
  }
  const python = findProgram(['python3']);
  if (python === null) return { missing: 'there is no python3' };
  if (!existsSync(FOLDER)) {
    const unfinished = `${FOLDER}.${process.pid}`;
    mkdirSync(dirname(FOLDER), { recursive: true });
    const install = [python, '-m', 'pip', 'install', '--quiet', '--target', unfinished, `openai==${VERSION}`];
    if (!(await succeeds(install))) {
      rmSync(unfinished, { recursive: true, force: true });
      return { missing: `pip could not install openai ${VERSION}` };
    }
    if (existsSync(FOLDER)) rmSync(unfinished, { recursive: true, force: true });
    else renameSync(unfinished, FOLDER);
  }
  return async (script, args) => {
    const child = Bun.spawn([python, '-c', script, ...args], {
      env: { ...process.env, PYTHONPATH: FOLDER },
      stdin: 'ignore',
      stderr: 'pipe',
    });
    const [output, complaint] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    if ((await child.exited) !== 0) throw new Error(`python3 failed:\n${complaint}`);
    return output;
  };
}

async function succeeds(command: string[]): Promise<boolean> {
  const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'inherit' });
  return (await child.exited) === 0;
}

import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from './find-program.ts';
import { canInstallPackages, installPackages } from './install-packages.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Runs `python3`, and imports from `folder`, its working directory; its standard output. */
export type Python = ((args: readonly string[], folder?: string) => Promise<string>) & {
  /** For processes that stay: `packages` belongs into their PYTHONPATH. */
  program: string;
  packages: string;
};

/**
 * Python with one package of the index (`name==version`), which pip installs once. Gives the reason
 * if the machine has no Python 3.9 with pip or reaches no package index.
 */
export async function providePythonPackage(requirement: string): Promise<Python | { missing: string }> {
  if (findProgram(['python3']) === null || !(await succeeds(['python3', '-m', 'pip', '--version']))) {
    if (canInstallPackages()) await installPackages([['python3-pip']]);
  }
  const python = findProgram(['python3']);
  if (python === null) return { missing: 'there is no python3' };
  // Kept between runs; a clean `npm ci` removes it.
  const folder = fileURLToPath(new URL(`../../node_modules/.cache/${requirement}`, import.meta.url));
  if (!existsSync(folder)) {
    const unfinished = `${folder}.${process.pid}`;
    mkdirSync(dirname(folder), { recursive: true });
    const install = [python, '-m', 'pip', 'install', '--quiet', '--target', unfinished, requirement];
    if (!(await succeeds(install))) {
      rmSync(unfinished, { recursive: true, force: true });
      return { missing: `pip could not install ${requirement}` };
    }
    if (existsSync(folder)) rmSync(unfinished, { recursive: true, force: true });
    else renameSync(unfinished, folder);
  }
  const run = async (args: readonly string[], cwd = temporaryFolder()): Promise<string> => {
    const child = Bun.spawn([python, ...args], {
      cwd,
      env: { ...process.env, PYTHONPATH: [folder, cwd].join(delimiter) },
      stdin: 'ignore',
      stderr: 'pipe',
    });
    const [output, complaint] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    if ((await child.exited) !== 0) throw new Error(`python3 failed:\n${output}\n${complaint}`);
    return output;
  };
  return Object.assign(run, { program: python, packages: folder });
}

async function succeeds(command: string[]): Promise<boolean> {
  const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'inherit' });
  return (await child.exited) === 0;
}

import { findChromium, findProgram, postgresFolders } from './find-program.ts';
import { canInstallPackages, installPackages } from './install-packages.ts';
import { type StartedService, startPostgres, startRedis } from './start-services.ts';

/** What the tests find in their environment, and the end of what was started for them. */
export type ProvidedServices = { environment: Record<string, string>; stop(): Promise<void> };

type Need = { variable: string; what: string; packages: readonly string[]; find(): string | null };

const needs: readonly Need[] = [
  {
    variable: 'TEST_DATABASE_URL',
    what: 'PostgreSQL',
    packages: ['postgresql'],
    find: () => findProgram(['postgres'], postgresFolders())?.replace(/\/postgres$/, '') ?? null,
  },
  {
    variable: 'TEST_REDIS_URL',
    what: 'Redis or Valkey',
    packages: ['redis-server', 'valkey-server', 'valkey'],
    find: () => findProgram(['redis-server', 'valkey-server']),
  },
  {
    variable: 'CHROMIUM_PATH',
    what: 'Chromium',
    packages: ['chromium-headless-shell', 'chromium'],
    find: findChromium,
  },
];

/**
 * Gives the tests a real PostgreSQL, a real Redis or Valkey and a Chromium: each from its variable
 * when that is set, else found on the machine, else installed (Debian and Ubuntu, as root). Throws
 * and says what to install when one cannot be had.
 */
export async function provideServices(environment: NodeJS.ProcessEnv): Promise<ProvidedServices> {
  const open = needs.filter((need) => !environment[need.variable]);
  const toInstall = open.filter((need) => need.find() === null);
  if (toInstall.length > 0 && canInstallPackages()) {
    console.error(`Installing ${toInstall.map((need) => need.what).join(', ')}`);
    await installPackages(toInstall.map((need) => need.packages));
  }
  const missing = open.filter((need) => need.find() === null);
  if (missing.length > 0) throw new Error(missing.map(describeMissing).join('\n'));

  const started: StartedService[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(started.map((service) => service.stop()));
  };
  const provided: Record<string, string> = {};
  try {
    for (const need of needs) {
      const given = environment[need.variable];
      const found = given ? null : need.find();
      if (found === null) {
        provided[need.variable] = given ?? '';
      } else if (need.variable === 'CHROMIUM_PATH') {
        provided[need.variable] = found;
      } else {
        const service = await (need.variable === 'TEST_REDIS_URL' ? startRedis(found) : startPostgres(found));
        started.push(service);
        provided[need.variable] = service.url;
      }
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { environment: provided, stop };
}

function describeMissing({ what, variable, packages }: Need): string {
  const [first, ...others] = packages;
  const alternative = others.length > 0 ? ` (or ${others.join(', ')})` : '';
  return `The tests need ${what}: install the package ${first}${alternative}, or set ${variable}.`;
}

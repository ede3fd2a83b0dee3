import { pluralize, silentLogger, systemClock } from '../../../kernel/index.ts';
import { openStoreBesideGateway } from '../../../operations/storage/open-store-beside-gateway.ts';
import { acceptResultFiles } from '../../../operations/storage/result-files.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { readSettings } from '../read-settings.ts';
import { requireDatabase } from '../require-database.ts';

/**
 * Makes the configured folder or bucket the one in which the database expects its kept results,
 * also if it is empty. Running nodes notice at their next copy or download.
 */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { config } = readSettings(input);
  await requireDatabase(config);
  const store = await openStoreBesideGateway(config);
  try {
    const deps = { clock: systemClock, logger: silentLogger, store };
    const { name, missing } = await acceptResultFiles(config, deps);
    const rest =
      missing === 0
        ? 'it has every kept file'
        : `${pluralize(missing, 'kept file is', 'kept files are')} not in it: downloads of them ask the vendor`;
    const { kind } = config.resultsLocation;
    const place = kind === 'folder' ? { folder: name } : { bucket: name };
    const noun = kind === 'folder' ? 'folder' : 'bucket';
    answer(input, { ok: true, ...place, missing }, `${name} is the ${noun} of results now; ${rest}`);
    return EXIT.ok;
  } finally {
    await store.close();
  }
}

import { acceptFolder, createFolderFiles } from '../../../store/index.ts';
import { resultsFolder } from '../../config/result-files.ts';
import { answer, CommandError, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { openBeside } from '../open-beside.ts';
import { readSettings } from '../read-settings.ts';
import { requireDatabase } from '../require-database.ts';

/**
 * Makes the configured folder the one in which the database expects its kept results, also if it is
 * empty. Running nodes notice at their next copy or download.
 */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { config } = readSettings(input);
  const folder = resultsFolder(config);
  if (folder === undefined) throw new CommandError('RESULTS_URL names a bucket; only folders are marked.');
  await requireDatabase(config);
  const store = await openBeside(config);
  try {
    const { missing } = await acceptFolder(createFolderFiles({ folder, minFreeBytes: 0 }), { folder, store });
    const rest =
      missing === 0
        ? 'it has every kept file'
        : `${missing} kept files are not in it: downloads of them ask the vendor`;
    answer(input, { ok: true, folder, missing }, `${folder} is the folder of results now; ${rest}`);
    return EXIT.ok;
  } finally {
    await store.close();
  }
}

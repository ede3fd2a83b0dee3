import { isObject } from '../../kernel/index.ts';
import type { Config } from '../config/config-variables.ts';
import { listeningAddress } from '../config/node-address.ts';
import { askLocalGateway } from './ask-local-gateway.ts';
import { readAddress } from './record-address.ts';

export type RunningGateway = {
  address: string;
  /** Where a browser should begin: the set-up page while there is no administrator. */
  link: string;
};

/**
 * The running gateway of this configuration. On SQLite it has recorded its address in the data
 * directory; on PostgreSQL it is the one at the configured address.
 */
export async function findRunning(config: Config): Promise<RunningGateway | undefined> {
  const recorded =
    config.databaseUrl === ''
      ? readAddress(config.dataDir)
      : { address: listeningAddress(config, config.port), setupLink: undefined };
  if (recorded === undefined) return undefined;
  const { body } = await askLocalGateway(recorded.address, '/api/status');
  const data = isObject(body) ? body.data : undefined;
  // Another program may have taken the port of a gateway that crashed.
  if (!isObject(data) || typeof data.setup !== 'boolean') return undefined;
  const { address, setupLink } = recorded;
  return { address, link: data.setup ? address : (setupLink ?? address) };
}

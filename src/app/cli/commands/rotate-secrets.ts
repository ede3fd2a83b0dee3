import { createSecretBox, OperatorError, systemClock } from '../../../kernel/index.ts';
import {
  fingerprintSecrets,
  generateSecrets,
  hasSecrets,
  loadSecrets,
  refuseLostSecrets,
} from '../../../operations/secrets/load-secrets.ts';
import { type ResealCount, resealSecrets } from '../../../operations/secrets/reseal-secrets.ts';
import { openStoreBesideGateway } from '../../../operations/storage/open-store-beside-gateway.ts';
import { lockDataDir } from '../../../store/index.ts';
import { NODE_ALIVE_SECONDS, type Store } from '../../../store/ports/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { readSettings } from '../read-settings.ts';
import { requireDatabase } from '../require-database.ts';

/**
 * Seals stored secrets under the current CRYPTO_SECRET, beside running nodes that know it. With
 * `--generate` it makes new secrets first, where they are in `secrets.json`. Exit 1 when a value
 * cannot be read.
 */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { config } = readSettings(input);
  await requireDatabase(config);
  const store = await openStoreBesideGateway(config);
  let release = () => {};
  try {
    if (!hasSecrets(config, config.dataDir)) {
      await refuseLostSecrets(config, { store, dataDir: config.dataDir });
      throw new OperatorError('there are no secrets yet: nothing to rotate');
    }
    const generate = input.values.generate === true;
    if (generate) {
      await requireStopped(store);
      // A gateway that is starting has no heartbeat yet, and may have read the former secrets.
      if (store.dialect === 'sqlite') release = lockDataDir(config.dataDir);
      generateSecrets(config, config.dataDir);
    }
    const secrets = loadSecrets(config, config.dataDir);
    await requireKnown(
      store,
      fingerprintSecrets({ ...secrets, session: secrets.session, crypto: [secrets.crypto[0]] }),
    );
    const counts = await resealSecrets({ store, secretBox: createSecretBox(secrets.crypto), clock: systemClock });
    await writeAudit(store, counts, generate);
    const lost = counts.filter((count) => count.lost > 0);
    answer(input, { ok: lost.length === 0, generated: generate, columns: counts }, describe(counts, generate));
    return lost.length === 0 ? EXIT.ok : EXIT.failed;
  } finally {
    release();
    await store.close();
  }
}

async function requireStopped(store: Store): Promise<void> {
  const [node] = await store.nodes.alive(NODE_ALIVE_SECONDS);
  if (!node) return;
  throw new OperatorError(
    `the node ${node.id} is running and does not know secrets that are made now: stop it, run this again, then start it. A node that was killed counts as running for ${NODE_ALIVE_SECONDS} seconds`,
  );
}

/** A node that does not know the secret could not read what is sealed under it. */
async function requireKnown(store: Store, prints: readonly string[]): Promise<void> {
  const wanted = prints.find((print) => print.startsWith('crypto:')) ?? '';
  for (const node of await store.nodes.alive(NODE_ALIVE_SECONDS)) {
    if (node.fingerprints.includes(wanted)) continue;
    throw new OperatorError(
      `the node ${node.id} is running and does not know this CRYPTO_SECRET: name it there in CRYPTO_SECRET or CRYPTO_SECRET_PREVIOUS, restart the node, then run this again`,
    );
  }
}

async function writeAudit(store: Store, counts: readonly ResealCount[], generated: boolean): Promise<void> {
  const resealed = counts.reduce((sum, count) => sum + count.resealed, 0);
  const actor = { userId: null, username: '', authMethod: 'cli', ip: '' };
  const createdAt = systemClock.unix();
  await store.logs.addAudit({
    ...actor,
    action: 'secrets.rotate',
    target: 'secrets',
    detail: { resealed, generated },
    createdAt,
  });
}

function describe(counts: readonly ResealCount[], generated: boolean): string {
  const lines = generated ? ['new secrets are in secrets.json; the former ones still verify and decrypt'] : [];
  for (const { column, resealed, current, lost } of counts) {
    if (resealed + current + lost === 0) continue;
    lines.push(`${column}: ${resealed} resealed, ${current} already${lost > 0 ? `, ${lost} CANNOT BE READ` : ''}`);
  }
  if (counts.some(({ lost }) => lost > 0)) {
    lines.push(
      'no secret decrypts some values: name the one that does in CRYPTO_SECRET_PREVIOUS, or enter them again ("taskgate doctor" names them)',
    );
  } else lines.push('no stored value needs a former secret any more; links and backup codes from before still do');
  return lines.join('\n');
}

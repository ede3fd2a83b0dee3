import { AppError } from '../../kernel/index.ts';
import type { ActivationRecord, FailureVerdict, NewAuditRow } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import { type ActivationContext, activateVersion } from './activate-version.ts';
import { FACTORY } from './find-version.ts';

/**
 * Goes back to the version before a failing one, once for each activated source, on one of several
 * nodes. Does nothing if another version serves now, or if the former one is gone or cannot
 * serve. Call it inside the mutex of plugin changes.
 */
export async function rollBack(
  ctx: ActivationContext,
  activation: ActivationRecord,
  verdict: FailureVerdict,
): Promise<void> {
  const { store, clock, logger, registry } = ctx;
  const { key, sourceHash, version, formerHash, formerVersion } = activation;
  const fields = { task_plugin: 'rollback', plugin: key, version, former: formerVersion };
  if (registry.current().plugins.get(key)?.sourceHash !== sourceHash) return;
  const isFactory = activation.formerLayer === 'factory';
  const former = isFactory ? registry.factory().get(key) : await store.plugins.byVersion(key, formerVersion);
  if (former?.sourceHash !== formerHash) {
    logger.warn(fields, 'a failing version was not rolled back: the version before it is gone');
    return;
  }
  try {
    await activateVersion(ctx, {
      key,
      version: isFactory ? FACTORY : formerVersion,
      async claim(tx) {
        if (!(await tx.pluginOutcomes.takeRollback(activation, clock.unix()))) throw pluginErrors.not_found();
      },
    });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    logger.warn({ ...fields, err: error }, 'a failing version was not rolled back');
    return;
  }
  logger.warn({ ...fields, ...verdict }, 'a failing version was rolled back');
  const row: NewAuditRow = {
    ...{ userId: null, username: '', authMethod: 'gateway', ip: '' },
    ...{ action: 'plugin.rollback', target: `plugin:${key}`, createdAt: clock.unix() },
    detail: {
      before: { version, source_hash: sourceHash },
      after: { version: formerVersion, source_hash: formerHash, layer: activation.formerLayer },
      failures: { stage: verdict.stage, now: verdict.now, before: verdict.before },
    },
  };
  await store.logs
    .addAudit(row)
    .catch((error: unknown) =>
      logger.error({ err: error, audit: row }, 'audit row could not be stored; this line has its content'),
    );
}

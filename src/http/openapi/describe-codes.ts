import { authErrors, proofErrors } from '../../auth/index.ts';
import { billingErrors } from '../../billing/index.ts';
import { channelErrors } from '../../channels/index.ts';
import { fileErrors } from '../../files/index.ts';
import { AppError } from '../../kernel/index.ts';
import { notificationErrors } from '../../notifications/index.ts';
import { operationErrors } from '../../operations/index.ts';
import { pluginErrors } from '../../plugins/index.ts';
import { relayErrors } from '../../relay/index.ts';
import { caseErrors, replayErrors } from '../../reports/index.ts';
import { resultErrors } from '../../results/index.ts';
import { surfaceErrors } from '../../surfaces/index.ts';
import { taskErrors } from '../../tasks/index.ts';
import { vendorErrors } from '../../vendors/index.ts';
import { httpErrors, openAiCode, panelCode, toStatus } from '../responses/errors.ts';
import type { PublishedCode } from './types.ts';

/** Every error of the rooms' catalogues, sorted by panel code. */
export function describeCodes(): PublishedCode[] {
  const ofTasks = [vendorErrors, fileErrors, notificationErrors, taskErrors, relayErrors, resultErrors, surfaceErrors];
  const catalogues = [
    authErrors,
    proofErrors,
    billingErrors,
    channelErrors,
    pluginErrors,
    ...ofTasks,
    caseErrors,
    replayErrors,
    operationErrors,
    httpErrors,
  ];
  const errors = catalogues.flatMap((catalogue) => Object.values(catalogue).map((make) => make()));
  // Failures of the database reach callers through every room.
  errors.push(
    new AppError('store.unavailable', 'unavailable', { message: 'The database is not responding. Try again later.' }),
    new AppError('store.locked', 'unavailable', {
      message: 'Another change holds what you want to change. Try again later.',
    }),
    new AppError('store.outcome_unknown', 'unavailable', {
      message:
        'The connection to the database was lost while saving. Check whether your change was made before you repeat it.',
    }),
    new AppError('store.broken_invariant', 'internal', {
      message: 'The database refused a statement that breaks a rule of the data model.',
    }),
    new AppError('store.misused', 'internal', {
      message: 'The store was used in a way that its contract forbids.',
    }),
  );
  const codes = new Map<string, PublishedCode>();
  for (const error of errors) {
    const panel = panelCode(error.code);
    if (codes.has(panel)) continue;
    codes.set(panel, { panel, openai: openAiCode(error.code), status: toStatus(error), message: error.message });
  }
  return [...codes.values()].sort((a, b) => (a.panel < b.panel ? -1 : 1));
}

/**
 * Every reason that the gateway gives to people, with its English text; `{{name}}` stands for a
 * parameter. Rows and answers hold reasons, and other languages are found by them: a reason is only
 * added, and neither it nor its parameters are ever renamed.
 */

import { attentionReasons } from './attention.ts';
import { authReasons } from './auth.ts';
import { billingReasons, casesReasons } from './billing.ts';
import { httpReasons } from './http.ts';
import { identityReasons } from './identity.ts';
import { configReasons, operationsReasons } from './operations.ts';
import { pluginHintsReasons } from './plugin-hints.ts';
import { pluginHooksReasons } from './plugin-hooks.ts';
import { pluginRulesReasons } from './plugin-rules.ts';
import { pluginsReasons } from './plugins.ts';
import { settingsReasons } from './settings.ts';
import { tasksReasons } from './tasks.ts';
import { vendorsReasons } from './vendors.ts';

export const reasons = {
  ...tasksReasons,
  ...vendorsReasons,
  ...pluginsReasons,
  ...pluginRulesReasons,
  ...pluginHooksReasons,
  ...pluginHintsReasons,
  ...attentionReasons,
  ...authReasons,
  ...identityReasons,
  ...billingReasons,
  ...casesReasons,
  ...settingsReasons,
  ...operationsReasons,
  ...configReasons,
  ...httpReasons,
} as const;

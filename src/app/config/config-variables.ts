import type { Variable } from './define-variable.ts';
import { GATEWAY_VARIABLES } from './gateway-variables.ts';
import { NETWORK_VARIABLES } from './network-variables.ts';
import { ACME_VARIABLES, BACKUP_VARIABLES, UPGRADE_VARIABLES } from './operation-variables.ts';
import { SANDBOX_VARIABLES } from './sandbox-variables.ts';
import { TASK_VARIABLES } from './task-variables.ts';
import { TRACE_VARIABLES } from './trace-variables.ts';

/** Every environment variable, by the name of its value in `Config`. */
export const VARIABLES = {
  ...GATEWAY_VARIABLES,
  ...NETWORK_VARIABLES,
  ...ACME_VARIABLES,
  ...UPGRADE_VARIABLES,
  ...TASK_VARIABLES,
  ...SANDBOX_VARIABLES,
  ...BACKUP_VARIABLES,
  ...TRACE_VARIABLES,
};

export type VariableName = keyof typeof VARIABLES;

/** The checked values of all variables. */
export type Config = {
  readonly [K in VariableName]: (typeof VARIABLES)[K] extends Variable<infer T> ? T : never;
};

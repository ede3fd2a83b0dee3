import type { AttentionItem } from '../../api/types.ts';

/** Which figures of the page need attention. */
export type HealthProblems = {
  versions: boolean;
  lateness: boolean;
  webhooks: boolean;
  suspended: boolean;
};

/** The server alone decides what is unhealthy: the figures here show what Home lists. */
export function findHealthProblems(items: readonly AttentionItem[]): HealthProblems {
  const codes = new Set(items.map(({ code }) => code));
  return {
    versions: codes.has('node_versions_differ'),
    lateness: codes.has('polls_late'),
    webhooks: codes.has('webhooks_late'),
    suspended: codes.has('plugin_suspended'),
  };
}

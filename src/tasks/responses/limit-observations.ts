import { taskErrors } from '../errors.ts';

/** Most clients of a node that wait for tasks or stream them at the same time: in all, for tasks of one plugin, of one user, by one API key. */
export type ObservationLimits = { node: number; plugin: number; user: number; key: number };

export type Observer = { pluginKey: string; userId: number; apiKeyId: number | null };

export type Observations = {
  /**
   * Counts one observation; the function returned ends it, once however often it is called.
   * @throws tasks.rate_limit_exceeded
   */
  admit(observer: Observer): () => void;
};

export function createObservations(limits: ObservationLimits): Observations {
  const active = new Map<string, number>();
  return {
    admit({ pluginKey, userId, apiKeyId }) {
      const counted: [name: string, limit: number, scope: string][] = [
        ['', limits.node, 'on this node'],
        [`plugin ${pluginKey}`, limits.plugin, 'for tasks of this plugin'],
        [`user ${userId}`, limits.user, 'by you'],
        ...(apiKeyId === null
          ? []
          : [[`key ${apiKeyId}`, limits.key, 'with this API key'] as [string, number, string]]),
      ];
      for (const [name, limit, scope] of counted) {
        if ((active.get(name) ?? 0) < limit) continue;
        const message = `Too many active task observations ${scope}: at most ${limit} at once. End one, or poll the task instead.`;
        throw taskErrors.rate_limit_exceeded({ message, retryAfterSeconds: 5 });
      }
      for (const [name] of counted) active.set(name, (active.get(name) ?? 0) + 1);
      let over = false;
      return () => {
        if (over) return;
        over = true;
        for (const [name] of counted) {
          const left = (active.get(name) ?? 1) - 1;
          if (left > 0) active.set(name, left);
          else active.delete(name);
        }
      };
    },
  };
}

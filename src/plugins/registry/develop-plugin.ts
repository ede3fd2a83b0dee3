import { err, ok, type Result, sentence, toSentence } from '../../kernel/index.ts';
import { pluginErrors } from '../errors.ts';
import type { Manifest, PluginFault } from '../types.ts';
import type { CompiledPlugin, Compiler } from '../worker/compile-plugin.ts';
import type { Registry } from './create-registry.ts';

/** Serves the plugin that an author is working on. */
export interface Development {
  /**
   * Serves `source` for its key above every other layer, in memory, whatever its version. It
   * replaces the source of the last call. If it is broken, or in conflict with another plugin, its
   * faults are returned and the serving plugin stays.
   *
   * @throws `plugins.unavailable` when the sandbox or the database is not available
   */
  develop(source: string): Promise<Result<Manifest, PluginFault[]>>;
}

export function createDevelopment({ compiler, registry }: { compiler: Compiler; registry: Registry }): Development {
  let last: CompiledPlugin | undefined;
  return {
    async develop(source) {
      const compiled = await compiler.compile(source);
      if (!compiled.ok) {
        if (compiled.error.kind === 'faults') return err(compiled.error.faults);
        throw pluginErrors.unavailable({ message: sentence('plugins.down', { fault: toSentence(compiled.error) }) });
      }
      const plugin = compiled.value;
      const { key } = plugin.manifest;
      await registry.develop(plugin);
      const serving = registry.current().plugins.get(key);
      if (serving?.layer === 'development' && serving.sourceHash === plugin.sourceHash) {
        last = plugin;
        return ok(plugin.manifest);
      }
      const { databaseError, pluginErrors: errors } = registry.status();
      await registry.develop(last);
      const conflict = errors[key];
      if (databaseError === undefined && conflict !== undefined)
        return err([{ path: '', rule: 'conflict', ...conflict }]);
      throw pluginErrors.unavailable({
        message: sentence('plugins.not_served', { fault: databaseError ?? sentence('plugins.internal') }),
      });
    },
  };
}

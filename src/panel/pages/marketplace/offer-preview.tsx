import { useQuery } from '@tanstack/react-query';
import type { PluginPreview } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { PreviewChanges } from '../plugins/preview-changes.tsx';
import { PreviewReplay } from '../plugins/preview-replay.tsx';

const path = '/api/plugin/task/marketplace/preview';

/** What an activation of an offered version would change, before it is installed. */
export function OfferPreview({ source, pluginKey, version }: { source: string; pluginKey: string; version: string }) {
  const session = useSession();
  const body = { source, key: pluginKey, version };
  const preview = useQuery({
    queryKey: ['api', path, source, pluginKey, version],
    queryFn: () => session.send<PluginPreview>({ method: 'POST', path, body, timeoutMs: 60_000 }),
  });
  return (
    <QueryResult query={preview}>
      {(data) => (
        <>
          <PreviewChanges preview={data} />
          <PreviewReplay preview={data} />
        </>
      )}
    </QueryResult>
  );
}

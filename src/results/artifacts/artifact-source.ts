import type { LoadedPlugin } from '../../plugins/index.ts';
import type { ChannelRecord, TaskRecord } from '../../store/ports/index.ts';
import type { ContentRequest, Credential } from '../../vendors/index.ts';

/** An artifact that a client downloads, and what leads to it. */
export type ArtifactSource = {
  plugin: LoadedPlugin;
  channel: ChannelRecord;
  credential: Credential;
  task: TaskRecord;
  artifactKey: string;
  client: ContentRequest;
};

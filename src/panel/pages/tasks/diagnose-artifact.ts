import type { TextKey } from '../../i18n/texts.ts';

/** Texts for the error codes of the content endpoint. */
const codeTexts: Readonly<Record<string, TextKey>> = {
  artifact_gone: 'task.artifact.gone',
  artifact_upstream_auth_failed: 'task.artifact.auth',
  artifact_upstream_busy: 'task.artifact.busy',
  artifact_access_limited: 'task.artifact.busy',
  artifact_upstream_timeout: 'task.artifact.busy',
  artifact_plugin_unavailable: 'task.artifact.plugin',
};

/**
 * Media elements do not say why loading failed, so this requests the first byte to get the error.
 */
export async function diagnoseArtifact(path: string): Promise<TextKey> {
  try {
    const response = await fetch(path, { headers: { range: 'bytes=0-0' }, cache: 'no-store' });
    if (response.ok) {
      await response.body?.cancel();
      return 'task.artifact.unplayable';
    }
    const answer = (await response.json()) as { error?: { code?: unknown } };
    return codeTexts[String(answer.error?.code)] ?? 'task.artifact.failed';
  } catch {
    return 'task.artifact.failed';
  }
}

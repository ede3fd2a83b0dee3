import { Code, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { PluginSummary } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { ServerText } from '../../ui/display/server-text.tsx';
import { StatusLabel, type Tone } from '../../ui/display/status-label.tsx';
import { RuleText } from './plugin-errors.tsx';
import { readPlacedFaults } from './say-plugin-rule.ts';
import { usePluginRules } from './use-plugin-rules.ts';

const states: Record<PluginSummary['runtime_status'], { text: TextKey; tone: Tone }> = {
  registered: { text: 'plugins.state.registered', tone: 'good' },
  not_registered: { text: 'plugins.state.not_registered', tone: 'bad' },
  compile_failed: { text: 'plugins.state.compile_failed', tone: 'bad' },
  disabled: { text: 'plugins.state.disabled', tone: 'quiet' },
  disabled_fallback: { text: 'plugins.state.disabled_fallback', tone: 'waiting' },
};

/** Whether a plugin is registered. */
export function PluginStateWord({ plugin }: { plugin: Pick<PluginSummary, 'runtime_status'> }) {
  const { t } = useTranslation();
  const { text, tone } = states[plugin.runtime_status];
  return <StatusLabel tone={tone}>{t(text)}</StatusLabel>;
}

/** The same, and why not. */
export function PluginState({ plugin }: { plugin: Pick<PluginSummary, 'runtime_status' | 'runtime_error'> }) {
  return (
    <>
      <PluginStateWord plugin={plugin} />
      {plugin.runtime_error !== undefined && (
        <Text size="xs" c="dimmed" mt={2} maw={280}>
          <RuntimeError text={plugin.runtime_error} />
        </Text>
      )}
    </>
  );
}

/** Why a plugin is not active; the rules that its source breaks are in one line. */
function RuntimeError({ text }: { text: string }) {
  const say = usePluginRules();
  const faults = readPlacedFaults(text);
  if (faults === null) return <ServerText text={text} />;
  if (say === null) return null;
  return faults.map(({ place, message }) => (
    <span key={`${place} ${message}`} style={{ display: 'block' }}>
      <Code>{place}</Code> <RuleText say={say} text={message} />
    </span>
  ));
}

import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { loadPluginRules } from '../../i18n/create-i18n.ts';
import { createRuleSpeaker, type SayRule } from './say-plugin-rule.ts';

/** If the texts cannot be loaded, the sentences stay as the gateway says them. */
const sayNothing: SayRule = () => null;

/** Says the gateway's rules for plugins in the user's language; null until its texts are loaded. */
export function usePluginRules(): SayRule | null {
  const { i18n } = useTranslation();
  const { language } = i18n;
  const { data, isError } = useQuery({
    queryKey: ['plugin-rules', language],
    queryFn: async () => {
      const { sentences, texts } = await loadPluginRules(language);
      return createRuleSpeaker(sentences, texts);
    },
    staleTime: Infinity,
  });
  return isError ? sayNothing : (data ?? null);
}

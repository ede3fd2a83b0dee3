import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { loadPluginRules } from '../../i18n/create-i18n.ts';

/**
 * Loads what the gateway says about faulty plugins in the user's language. True once the texts are
 * there, or cannot be loaded: then the rules are in English.
 */
export function usePluginRules(): boolean {
  const { i18n } = useTranslation();
  const { isPending } = useQuery({
    queryKey: ['plugin-rules', i18n.language],
    queryFn: async () => {
      await loadPluginRules(i18n);
      return true;
    },
    staleTime: Infinity,
  });
  return !isPending;
}

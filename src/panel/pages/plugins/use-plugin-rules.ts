import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { loadPluginRules } from '../../i18n/create-i18n.ts';
import { createRuleSpeaker, type SayRule } from './say-plugin-rule.ts';

/** If the texts cannot be loaded, the sentences stay as the gateway says them. */
const sayNothing: SayRule = () => null;

/** Says the gateway's rules for plugins in the user's language; null until its texts are loaded. */
export function usePluginRules(): SayRule | null {
  const { i18n } = useTranslation();
  const { language } = i18n;
  const [loaded, setLoaded] = useState<{ language: string; say: SayRule } | null>(null);
  useEffect(() => {
    let isCurrent = true;
    const load = async () => {
      const say = await loadPluginRules(language).then(
        ({ sentences, texts }) => createRuleSpeaker(sentences, texts),
        () => sayNothing,
      );
      if (isCurrent) setLoaded({ language, say });
    };
    void load();
    return () => {
      isCurrent = false;
    };
  }, [language]);
  return loaded?.language === language ? loaded.say : null;
}

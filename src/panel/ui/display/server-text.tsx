import { useTranslation } from 'react-i18next';
import { sayServerText } from '../../api/say-server-text.ts';

/**
 * A reason that the gateway stored or reported, in the user's language. Words of a vendor, a
 * plugin's author or another server stay as they are, in the quotation marks of the language.
 */
export function ServerText({ text }: { text: string }) {
  const { t } = useTranslation();
  const said = sayServerText(text, t);
  return said ?? <q data-quoted="">{text.trim()}</q>;
}

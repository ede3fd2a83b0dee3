import { useTranslation } from 'react-i18next';
import { type SaidSentence, translateSentence } from '../../api/translate-sentence.ts';

type ServerTextProps = {
  text: string;
  /** The reason of the text, and its values; none for a row of an earlier version. */
  sentence?: Omit<SaidSentence, 'message'> | null | undefined;
};

/**
 * A reason that the gateway stored or reported, in the user's language. Words of a vendor, a
 * plugin's author or another server stay as they are, in the quotation marks of the language.
 */
export function ServerText({ text, sentence }: ServerTextProps) {
  const { t } = useTranslation();
  const said = translateSentence({ ...sentence, message: text }, t);
  return said ?? <q data-quoted="">{text.trim()}</q>;
}

/** Why a task failed: of a vendor's answer its own words alone. */
export function VendorWords({ text, sentence }: ServerTextProps) {
  const words = sentence?.params?.words;
  return typeof words === 'string' ? <ServerText text={words} /> : <ServerText text={text} sentence={sentence} />;
}

import { Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { CallableModel } from '../../api/types.ts';
import { localise } from '../../i18n/localise.ts';
import type { TextKey } from '../../i18n/texts.ts';
import type { RequestBody } from './attached-files.ts';
import { findMedium, type Medium } from './find-medium.ts';
import classes from './request-form.module.css';
import { usableFacts } from './usable-facts.ts';
import type { RequestDraft } from './use-request-draft.ts';

type Sample = { label: string; fields: RequestBody };

/** Prompts for plugins that give no requests of their own, by what they make. */
const prompts = {
  video: [
    ['play.sample.boat', 'play.sample.boatPrompt'],
    ['play.sample.city', 'play.sample.cityPrompt'],
  ],
  image: [
    ['play.sample.still', 'play.sample.stillPrompt'],
    ['play.sample.poster', 'play.sample.posterPrompt'],
  ],
  music: [
    ['play.sample.folk', 'play.sample.folkPrompt'],
    ['play.sample.piano', 'play.sample.pianoPrompt'],
  ],
  speech: [
    ['play.sample.platform', 'play.sample.platformPrompt'],
    ['play.sample.story', 'play.sample.storyPrompt'],
  ],
  sound: [['play.sample.thunder', 'play.sample.thunderPrompt']],
  lyrics: [['play.sample.harbor', 'play.sample.harborPrompt']],
} as const satisfies Record<Medium, readonly (readonly [label: TextKey, prompt: TextKey])[]>;

/** Requests to begin with: the plugin's own, else prompts, and the facts that it bills. */
export function SampleRequests({ offer, draft }: { offer: CallableModel; draft: RequestDraft }) {
  const { t, i18n } = useTranslation();
  const own = offer.requests.map(
    ({ label, request }): Sample => ({ label: localise(label, i18n.language), fields: request }),
  );
  const written = prompts[findMedium(offer)].map(
    ([label, prompt]): Sample => ({ label: t(label), fields: { prompt: t(prompt) } }),
  );
  const priced = offer.examples.flatMap(({ label, facts }): Sample[] => {
    const fields = usableFacts(offer, facts);
    return fields === null ? [] : [{ label, fields }];
  });
  return (
    <fieldset className={classes.examples}>
      <legend>{t('play.examples')}</legend>
      <Group gap={8}>
        {[...(own.length > 0 ? own : written), ...priced].map(({ label, fields }) => (
          <Button key={label} size="xs" variant="default" onClick={() => draft.setFields(fields)}>
            {label}
          </Button>
        ))}
      </Group>
    </fieldset>
  );
}

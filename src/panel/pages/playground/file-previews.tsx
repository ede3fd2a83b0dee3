import { CloseButton, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import classes from './file-previews.module.css';
import type { RequestDraft } from './use-request-draft.ts';

/** The files of the request, images as pictures. */
export function FilePreviews({ draft }: { draft: RequestDraft }) {
  const { t } = useTranslation();
  const attached = Object.entries(draft.body).flatMap(([field, value]) => {
    const file = typeof value === 'string' && Object.hasOwn(draft.files, value) ? draft.files[value] : undefined;
    return file === undefined ? [] : [{ field, name: String(value).slice('<file: '.length, -1), file }];
  });
  if (attached.length === 0) return null;
  return (
    <ul className={classes.files}>
      {attached.map(({ field, name, file }) => (
        <li key={field} className={classes.file}>
          {file.type.startsWith('image/') && <img src={file.dataUrl} alt={name} />}
          <div className={classes.name}>
            <Text size="sm" truncate title={name}>
              {name}
            </Text>
            <Text size="xs" c="dimmed">
              {field}
            </Text>
          </div>
          <CloseButton
            size="sm"
            aria-label={t('play.file.remove', { name })}
            onClick={() => draft.setField(field, undefined)}
          />
        </li>
      ))}
    </ul>
  );
}

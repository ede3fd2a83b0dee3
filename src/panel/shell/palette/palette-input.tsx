import type { ComponentProps } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './palette-input.module.css';

/** The field of the palette, before and after its list is loaded. */
export function PaletteInput({ onCancel, ...props }: ComponentProps<'input'> & { onCancel(): void }) {
  const { t } = useTranslation();
  return (
    <div className={classes.row}>
      <input
        className={classes.input}
        // biome-ignore lint/a11y/noAutofocus: the palette is for typing
        autoFocus
        data-autofocus
        type="text"
        aria-label={t('palette.search')}
        placeholder={t('palette.placeholder')}
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        {...props}
      />
      <button type="button" className={classes.cancel} onClick={onCancel}>
        {t('app.cancel')}
      </button>
    </div>
  );
}

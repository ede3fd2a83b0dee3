import { Button, FileButton, Group, Input, Text } from '@mantine/core';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OptionInputProps } from './option-input-props.ts';

/** The gateway draws the logo small; the server takes at most 64 KiB and 512 pixels. */
const maxSide = 256;

/** Chooses the logo. Any image that the browser can draw becomes a PNG of a fitting size. */
export function LogoInput({ value, label, help, error, onChange }: OptionInputProps) {
  const { t } = useTranslation();
  const [isUnreadable, setUnreadable] = useState(false);
  const reset = useRef<() => void>(null);
  const choose = async (file: File | null): Promise<void> => {
    // Without a reset, choosing the same file again raises no event.
    reset.current?.();
    if (file === null) return;
    try {
      onChange(await drawPng(file));
      setUnreadable(false);
    } catch {
      setUnreadable(true);
    }
  };
  return (
    <Input.Wrapper label={label} description={help} error={isUnreadable ? t('settings.logo.unreadable') : error}>
      <Group gap="md" mt={8}>
        {value !== '' && <img src={value} alt={t('settings.logo.preview')} width={48} height={48} />}
        <FileButton
          resetRef={reset}
          accept="image/png,image/jpeg,image/webp,image/svg+xml"
          inputProps={{ 'aria-label': t('settings.logo.choose') }}
          onChange={(file) => void choose(file)}
        >
          {(props) => (
            <Button {...props} variant="default">
              {t('settings.logo.choose')}
            </Button>
          )}
        </FileButton>
        {value === '' ? (
          <Text size="sm" c="dimmed">
            {t('settings.logo.none')}
          </Text>
        ) : (
          <Button variant="subtle" color="gray" onClick={() => onChange('')}>
            {t('settings.logo.remove')}
          </Button>
        )}
      </Group>
    </Input.Wrapper>
  );
}

/** As a square PNG, the picture whole and in the middle. */
async function drawPng(file: File): Promise<string> {
  const url = URL.createObjectURL(file);
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement('canvas');
    const context = canvas.getContext('2d');
    if (context === null) throw new Error('no canvas');
    canvas.width = maxSide;
    canvas.height = maxSide;
    const [width, height] = [image.naturalWidth || maxSide, image.naturalHeight || maxSide];
    const scale = maxSide / Math.max(width, height);
    const [across, down] = [width * scale, height * scale];
    context.drawImage(image, (maxSide - across) / 2, (maxSide - down) / 2, across, down);
    return canvas.toDataURL('image/png');
  } finally {
    URL.revokeObjectURL(url);
  }
}

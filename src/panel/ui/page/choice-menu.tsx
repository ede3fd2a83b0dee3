import { ActionIcon, type ActionIconProps, Menu } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';

type ChoiceMenuProps = {
  label: string;
  /** What the button shows, and how wide it is. */
  face: Pick<ActionIconProps, 'children' | 'w' | 'px'>;
  value: string;
  choices: readonly MenuChoice[];
  onChoose(value: string): void;
};

/**
 * A menu with one choice, behind a button. It replaces the button that loaded it, takes its focus
 * and opens at once.
 */
export function ChoiceMenu({ label, face, value, choices, onChoose }: ChoiceMenuProps) {
  const [isOpen, setOpen] = useState(false);
  const target = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    target.current?.focus();
    setOpen(true);
  }, []);
  return (
    <Menu width={176} opened={isOpen} onChange={setOpen}>
      <Menu.Target>
        <ActionIcon ref={target} variant="subtle" color="gray" size={40} aria-label={label} {...face} />
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.RadioGroup value={value} onChange={onChoose}>
          {choices.map(({ value: choice, text, lang }) => (
            <Menu.RadioItem key={choice} value={choice} lang={lang}>
              {text}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
      </Menu.Dropdown>
    </Menu>
  );
}

/** One entry of a choice menu; `lang` is set if the text is in another language. */
export type MenuChoice = { value: string; text: string; lang?: string };

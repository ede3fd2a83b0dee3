import { Collapse, UnstyledButton } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { type ReactNode, useEffect, useId, useState } from 'react';
import classes from './collapsible.module.css';

type CollapsibleProps = {
  label: string;
  /** Shown beside the label: what is inside. */
  note?: string;
  /** Opens it, for example when a field inside has an error. */
  forceOpen?: boolean;
  /** Called when the reader opens it, for content that is loaded only then. */
  onOpen?(): void;
  children: ReactNode;
};

/** Rarely needed content behind a button. */
export function Collapsible({ label, note, forceOpen = false, onOpen, children }: CollapsibleProps) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const isShown = isOpen || forceOpen;
  // It stays open when `forceOpen` ends: somebody may be working inside.
  useEffect(() => {
    if (forceOpen) setOpen(true);
  }, [forceOpen]);
  return (
    <div>
      <UnstyledButton
        className={classes.button}
        aria-expanded={isShown}
        aria-controls={id}
        onClick={() => {
          setOpen(!isShown);
          if (!isShown) onOpen?.();
        }}
      >
        <IconChevronRight size={18} stroke={1.6} aria-hidden="true" data-open={isShown || undefined} />
        <span>{label}</span>
        {note !== undefined && <span className={classes.note}>{note}</span>}
      </UnstyledButton>
      <div id={id}>
        <Collapse expanded={isShown}>
          <div className={classes.content}>{children}</div>
        </Collapse>
      </div>
    </div>
  );
}

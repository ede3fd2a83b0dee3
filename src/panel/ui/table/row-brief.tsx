import { IconChevronDown } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { RowButton, RowLink } from './data-table.tsx';
import classes from './row-brief.module.css';

type RowBriefProps = {
  /** A picture at the start. */
  icon?: ReactNode;
  name: string;
  /** The row's most important figure, beside its name. */
  figure?: ReactNode;
  /** The figure stands beside the state, and the name has the whole line. */
  isFigureBelow?: boolean;
  state?: ReactNode;
  /** What follows the state; empty ones are left out. Where they do not fit, the end is cut. */
  facts: readonly string[];
  /** The name has two lines where it needs them. */
  wrapsName?: boolean;
  /** The state and the facts take lines of their own where they need them, and are not cut. */
  wraps?: boolean;
  /** A line of its own below the others, or facts, which may take several lines. */
  detail?: ReactNode | readonly ReactNode[];
  /** What can be done without opening the row. */
  actions?: ReactNode;
  /** Where a touch of the row leads. */
  to?: string;
  /** What a touch does instead. */
  onPress?(): void;
  /** Says whether `children` are shown, which a touch shows and hides. */
  isOpen?: boolean;
  children?: ReactNode;
};

/** A row of a table in two lines, for a phone. */
export function RowBrief({ icon, name, figure, state, facts, detail, actions, ...row }: RowBriefProps) {
  const { to, onPress, isOpen, children, wraps, wrapsName, isFigureBelow = false } = row;
  const shown = facts.filter((fact) => fact !== '').join(' · ');
  const shownFigure = figure !== undefined && <span className={classes.figure}>{figure}</span>;
  return (
    <>
      <div className={classes.row}>
        {icon}
        <div className={classes.lines} data-wraps={wrapsName || undefined}>
          <div className={classes.line}>
            {to !== undefined ? (
              <RowLink to={to} className={classes.name ?? ''}>
                {name}
              </RowLink>
            ) : onPress ? (
              <RowButton className={classes.name ?? ''} onPress={onPress} {...(isOpen === undefined ? {} : { isOpen })}>
                {name}
              </RowButton>
            ) : (
              <span className={classes.name}>{name}</span>
            )}
            {!isFigureBelow && shownFigure}
            {isOpen !== undefined && (
              <IconChevronDown
                size={18}
                stroke={1.6}
                aria-hidden="true"
                className={classes.chevron}
                data-open={isOpen || undefined}
              />
            )}
          </div>
          {(state !== undefined || shown !== '') && (
            <div className={classes.facts} data-wraps={wraps || undefined}>
              {state !== undefined && <span className={classes.state}>{state}</span>}
              {shown !== '' && <span className={classes.end}>{wraps ? <BriefFacts facts={facts} /> : shown}</span>}
              {isFigureBelow && shownFigure}
            </div>
          )}
          {detail !== undefined && (
            <span className={classes.detail}>{isFacts(detail) ? <BriefFacts facts={detail} /> : detail}</span>
          )}
        </div>
        {actions !== undefined && <div className={classes.actions}>{actions}</div>}
      </div>
      {isOpen && <div className={classes.more}>{children}</div>}
    </>
  );
}

const isFacts = (detail: ReactNode | readonly ReactNode[]): detail is readonly ReactNode[] => Array.isArray(detail);

/** Lines break between facts rather than inside of names, and neither begin nor end with a dot. */
export const BriefFacts = ({ facts }: { facts: readonly ReactNode[] }) => (
  <span className={classes.dotted}>
    <span>
      {facts
        .filter((fact) => fact !== '' && fact !== undefined)
        .map((fact, index) => (
          <span key={typeof fact === 'string' ? fact : 'element'} className={classes.fact}>
            {index > 0 && <span className={classes.dot}> · </span>}
            {fact}
          </span>
        ))}
    </span>
  </span>
);

/** A text in place of the state, which gives way first. */
export function BriefText({ isBad = false, children }: { isBad?: boolean; children: ReactNode }) {
  return (
    <span className={classes.text} data-bad={isBad || undefined}>
      {children}
    </span>
  );
}

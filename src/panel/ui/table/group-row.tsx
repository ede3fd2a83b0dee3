import type { ReactNode } from 'react';
import classes from './group-row.module.css';

type GroupRowProps = { name: string | undefined; figure: ReactNode; span: number };

/**
 * A heading above the rows of a table that share it, with their figure at its end; nothing without
 * a name.
 */
export function GroupRow({ name, figure, span }: GroupRowProps) {
  if (name === undefined) return null;
  return (
    // In cards it is displayed as a block and loses its table semantics, so the roles are explicit.
    // biome-ignore lint/a11y/noRedundantRoles: see above
    <tr role="row" className={classes.group} data-group>
      {/* biome-ignore lint/a11y/useSemanticElements: see above */}
      {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
      <th scope="rowgroup" role="rowheader" colSpan={span}>
        <div>
          {name}
          <span>{figure}</span>
        </div>
      </th>
    </tr>
  );
}

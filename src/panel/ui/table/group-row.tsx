import classes from './group-row.module.css';

/** A heading above the rows of a table that share it; nothing where there is none. */
export function GroupRow({ name, span }: { name: string | undefined; span: number }) {
  if (name === undefined) return null;
  return (
    // In cards it is displayed as a block and loses its table semantics, so the roles are explicit.
    // biome-ignore lint/a11y/noRedundantRoles: see above
    <tr role="row" className={classes.group} data-group>
      {/* biome-ignore lint/a11y/useSemanticElements: see above */}
      {/* biome-ignore lint/a11y/noRedundantRoles: see above */}
      <th scope="rowgroup" role="rowheader" colSpan={span}>
        {name}
      </th>
    </tr>
  );
}

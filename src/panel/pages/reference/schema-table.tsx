import { Fragment, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { WithCode } from '../../ui/display/with-code.tsx';
import { internalNames, isSchema, type Parameter, readName, type Schema, toList } from './read-document.ts';
import classes from './reference.module.css';

/** Deeper members are left to the document. */
const maxDepth = 4;

type Field = { name: string; place?: string; schema: Schema; isRequired: boolean };

/** A JSON Schema: its members, or its type in words. */
export function SchemaTable({ schema }: { schema: Schema }) {
  const fields = listFields(schema, '', 0);
  if (fields.length > 0) return <FieldList fields={fields} />;
  return (
    <p className={classes.type}>
      <SchemaType schema={schema} />
    </p>
  );
}

/** The parameters of an operation. */
export function ParameterTable({ parameters }: { parameters: readonly Parameter[] }) {
  const fields = parameters.map(({ name, in: place, required = false, description, schema = {} }) => ({
    ...{ name, place, schema: { ...schema, description }, isRequired: required },
  }));
  return <FieldList fields={fields} />;
}

function FieldList({ fields }: { fields: readonly Field[] }) {
  const { t } = useTranslation();
  return (
    <ul className={classes.fields}>
      {fields.map(({ name, place, schema, isRequired }) => {
        const [example] = toList(schema.examples);
        return (
          <li key={`${place} ${name}`}>
            <div className={classes.fieldTop}>
              <code className={classes.name}>{name}</code>
              <span>
                <SchemaType schema={schema} />
                {describeBounds(schema)}
              </span>
              {place !== undefined && place !== 'path' && <span>{place}</span>}
              {isRequired && <span className={classes.required}>{t('reference.required')}</span>}
            </div>
            {typeof schema.description === 'string' && schema.description !== '' && (
              <p lang="en" className={classes.says}>
                <WithCode text={schema.description} />
              </p>
            )}
            {example !== undefined && (
              <p className={classes.says}>
                {t('reference.example')} <code>{JSON.stringify(example)}</code>
              </p>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** Members of members follow their owner, as `error.code` and `data[].id`. */
function listFields(schema: Schema, prefix: string, depth: number): Field[] {
  if (depth > maxDepth) return [];
  if (isSchema(schema.items)) return listFields(schema.items, `${prefix}[]`, depth + 1);
  if (!isSchema(schema.properties)) return [];
  const required = toList(schema.required);
  return Object.entries(schema.properties).flatMap(([member, value]) => {
    if (!isSchema(value)) return [];
    const name = prefix === '' ? member : `${prefix}.${member}`;
    return [{ name, schema: value, isRequired: required.includes(member) }, ...listFields(value, name, depth + 1)];
  });
}

/** The type in the words of JSON Schema. */
function SchemaType({ schema }: { schema: Schema }): ReactNode {
  if (typeof schema.$ref === 'string') {
    const name = readName(schema.$ref);
    if (internalNames.has(name)) return 'object';
    return <a href={`#object-${name}`}>{name}</a>;
  }
  const options = [...toList(schema.anyOf), ...toList(schema.oneOf)].filter(isSchema);
  if (options.length > 0) {
    const known = new Map(options.map((option) => [JSON.stringify([option.$ref, option.type, option.const]), option]));
    return join(
      [...known].map(([key, option]) => [key, <SchemaType key={key} schema={option} />]),
      ' or ',
    );
  }
  if ('const' in schema) return <code>{JSON.stringify(schema.const)}</code>;
  if (Array.isArray(schema.enum)) {
    return join(schema.enum.map((value) => [String(value), <code key={String(value)}>{JSON.stringify(value)}</code>]));
  }
  const types = typeof schema.type === 'string' ? [schema.type] : toList(schema.type);
  if (types.includes('array') && isSchema(schema.items)) {
    return (
      <>
        array of <SchemaType schema={schema.items} />
      </>
    );
  }
  return types.length > 0 ? types.join(' or ') : 'any';
}

const join = (parts: readonly (readonly [key: string, part: ReactNode])[], between = ' | '): ReactNode =>
  parts.map(([key, part], at) => (
    <Fragment key={key}>
      {at > 0 && between}
      {part}
    </Fragment>
  ));

const bounds = [
  ['minimum', 'maximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
] as const;

/** As `1–60` and `≤ 255`. */
function describeBounds(schema: Schema): string {
  return bounds
    .map(([lowest, highest]) => {
      const [low, high] = [readBound(schema[lowest]), readBound(schema[highest])];
      if (low !== undefined && high !== undefined) return `, ${low}–${high}`;
      if (high !== undefined) return `, ≤ ${high}`;
      return low === undefined ? '' : `, ≥ ${low}`;
    })
    .join('');
}

/** Schemas of whole numbers name the largest safe one, which tells a reader nothing. */
const readBound = (bound: unknown): number | undefined =>
  typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined;

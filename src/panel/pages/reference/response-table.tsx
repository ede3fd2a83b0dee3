import { useTranslation } from 'react-i18next';
import { WithCode } from '../../ui/display/with-code.tsx';
import type { Operation } from './read-document.ts';
import classes from './response-table.module.css';

/** Each status with what it means, and what comes then where that is no JSON. */
export function ResponseTable({ responses }: Pick<Operation, 'responses'>) {
  const { t } = useTranslation();
  return (
    <table className={classes.table}>
      <thead>
        <tr>
          <th scope="col">{t('reference.status')}</th>
          <th scope="col">{t('reference.meaning')}</th>
        </tr>
      </thead>
      <tbody>
        {responses.map(({ status, description, bodies }) => (
          <tr key={status}>
            <th scope="row" data-success={status < '4' || undefined}>
              {status}
            </th>
            <td lang="en">
              <WithCode text={description} />
              {bodies
                .filter(({ type }) => status < '4' && type !== 'application/json')
                .map(({ type }) => (
                  <div key={type}>
                    <code>{type}</code>
                  </div>
                ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

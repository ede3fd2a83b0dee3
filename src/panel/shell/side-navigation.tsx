import { useTranslation } from 'react-i18next';
import { NavLink } from 'react-router';
import { useRole } from '../session/roles.ts';
import { sections } from './navigation-sections.ts';
import classes from './side-navigation.module.css';

export function SideNavigation() {
  const { t } = useTranslation();
  const role = useRole();
  const offered = sections
    .map(({ text, entries }) => ({ text, entries: entries.filter((entry) => role >= entry.role) }))
    .filter(({ entries }) => entries.length > 0);
  return (
    <nav aria-label={t('nav.label')} className={classes.nav}>
      {offered.map(({ text, entries }) => (
        <div key={entries[0]?.path}>
          {text !== null && <p className={classes.heading}>{t(text)}</p>}
          <ul className={classes.list}>
            {entries.map(({ path, text: label, icon: Icon }) => (
              <li key={path}>
                <NavLink to={path} end={path === '/'} className={classes.link}>
                  <Icon size={19} stroke={1.6} aria-hidden="true" />
                  {t(label)}
                </NavLink>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

import type { MailWords } from './english.ts';

/** The emails in German. */
export const german: MailWords = {
  'verify.subject': 'Bestätigen Sie Ihre E-Mail-Adresse für {{system}}',
  'verify.line':
    'Jemand hat sich mit dieser Adresse bei {{system}} registriert. Wenn Sie das waren, geben Sie diesen Code ein:',
  'bind.line':
    'Jemand hat diese Adresse zu einem Konto bei {{system}} hinzugefügt. Wenn Sie das waren, geben Sie diesen Code ein:',
  'code.valid':
    'Der Code gilt einmal und läuft nach {{minutes}} Minuten ab. Niemand von {{system}} wird Sie je danach fragen.',
  'code.ignore': 'Wenn Sie das nicht waren, ignorieren Sie diese E-Mail. Ohne den Code passiert nichts.',
  'exists.subject': 'Sie haben schon ein Konto bei {{system}}',
  'exists.line':
    'Jemand wollte sich mit dieser Adresse bei {{system}} registrieren. Sie hat bereits ein Konto, deshalb wurde kein Code erstellt.',
  'exists.signIn': 'Wenn Sie das waren, melden Sie sich an: {{url}}',
  'exists.ignore': 'Wenn Sie das nicht waren, ignorieren Sie diese E-Mail. Es hat sich nichts geändert.',
  'reset.subject': 'Neues Passwort für {{system}} wählen',
  'reset.line': 'Jemand hat ein neues Passwort für Ihr Konto {{username}} bei {{system}} angefordert.',
  'reset.label': 'Neues Passwort wählen',
  'reset.valid':
    'Der Link gilt einmal und läuft nach {{minutes}} Minuten ab. Ein neues Passwort beendet alle Sitzungen des Kontos.',
  'reset.ignore': 'Wenn Sie das nicht waren, ignorieren Sie diese E-Mail. Ihr Passwort bleibt gleich.',
  'backup_failed.subject': 'Sicherung von {{system}} fehlgeschlagen',
  'backup_failed.line': 'Die tägliche Sicherung von {{system}} ist fehlgeschlagen.',
  'backup_failed.detail': 'Technische Meldung des Servers (Englisch): „{{reason}}“',
  'backup_failed.after':
    'Das Gateway versucht es in einer Stunde noch einmal. Alle Sicherungen stehen im Panel unter System.',
  'backup_overdue.subject': 'Sicherung von {{system}} überfällig',
  'backup_overdue.line':
    '{{system}} wurde seit {{hours}} Stunden nicht gesichert, obwohl die tägliche Sicherung eingeschaltet ist.',
  'backup_overdue.after':
    'Prüfen Sie, ob das Gateway zu dieser Stunde läuft und den Speicherort erreicht. Alle Sicherungen stehen im Panel unter System.',
  'balance_low.subject': 'Ihr Guthaben bei {{system}} ist niedrig',
  'balance_low.line':
    'Ihr verfügbares Guthaben bei {{system}} beträgt {{balance}} und liegt unter der Warngrenze von {{threshold}}. (Konto: {{username}}.) Was laufende Aufgaben kosten können, ist schon abgezogen.',
  'balance_low.label': 'Warnung ändern oder abschalten',
  'balance_low.after':
    'Sie erhalten die nächste Nachricht erst, wenn das Guthaben nach einer Aufladung erneut unter die Grenze fällt.',
  'channel_failing.subject': 'Kanal {{channel}} von {{system}} fällt aus',
  'channel_failing.line':
    '{{failed}} von {{ended}} Aufgaben des Kanals {{channel}} schlugen in den letzten 24 Stunden fehl.',
  'channel_failing.after': 'Öffnen Sie den Kanal im Panel, um die Gründe zu sehen und ihn zu testen.',
  'test.subject': 'Test-E-Mail von {{system}}',
  'test.line': 'E-Mails von {{system}} kommen an. Diese Nachricht wurde gesendet, um die Einstellungen zu testen.',
  'notice.account': 'Konto: {{username}}',
  'notice.when': 'Zeit: {{time}}',
  'notice.device': 'Gerät: {{device}}',
  'notice.unknownDevice': 'unbekannt',
  'notice.address': 'IP-Adresse: {{ip}}',
  'notice.proxy': '{{ip}} (laut {{proxy}}, möglicherweise falsch)',
  'notice.byAdministrator': 'Das hat ein Administrator getan.',
  'notice.byOperator': 'Das geschah direkt auf dem Server.',
  'notice.last':
    'Sie haben viele dieser Nachrichten erhalten. Eine Stunde lang werden keine weiteren gesendet; prüfen Sie Ihre Sitzungen.',
  'advice.owner':
    'Wenn Sie das nicht waren, ändern Sie sofort Ihr Passwort, beenden Sie im Panel Ihre anderen Sitzungen und informieren Sie den Administrator.',
  'advice.password':
    'Wenn Sie das nicht waren, fordern Sie sofort per E-Mail ein neues Passwort an und informieren Sie den Administrator.',
  'advice.others': 'Wenn Sie das nicht erwartet haben, fragen Sie den Administrator.',
  'new_device.subject': 'Neue Anmeldung bei {{system}}',
  new_device: 'Ein neues Gerät hat sich bei Ihrem Konto angemeldet.',
  'password_changed.subject': 'Ihr Passwort für {{system}} wurde geändert',
  password_changed: 'Ihr Passwort wurde geändert. Alle anderen Sitzungen sind beendet.',
  'password_reset.subject': 'Ihr Passwort für {{system}} wurde geändert',
  password_reset:
    'Ihr Passwort wurde über einen Link geändert, der an diese Adresse ging. Alle Sitzungen sind beendet.',
  'two_factor_enabled.subject': 'Zwei-Faktor-Authentifizierung bei {{system}} eingeschaltet',
  two_factor_enabled: 'Bei der Anmeldung wird jetzt ein Code aus Ihrer Authentifizierungs-App verlangt.',
  'two_factor_disabled.subject': 'Zwei-Faktor-Authentifizierung bei {{system}} ausgeschaltet',
  two_factor_disabled: 'Bei der Anmeldung wird kein Code aus Ihrer Authentifizierungs-App mehr verlangt.',
  'backup_codes_replaced.subject': 'Ihre Backup-Codes für {{system}} wurden ersetzt',
  backup_codes_replaced: 'Es wurden neue Backup-Codes erstellt. Die alten gelten nicht mehr.',
  'passkey_added.subject': 'Passkey bei {{system}} hinzugefügt',
  passkey_added: 'Ihrem Konto wurde ein Passkey hinzugefügt.',
  'passkey_removed.subject': 'Passkey bei {{system}} entfernt',
  passkey_removed: 'Aus Ihrem Konto wurden ein oder mehrere Passkeys entfernt.',
  'identity_bound.subject': 'Anmeldeweg bei {{system}} hinzugefügt',
  identity_bound: 'Sie können sich jetzt mit {{provider}} bei Ihrem Konto anmelden.',
  'identity_unbound.subject': 'Anmeldeweg bei {{system}} entfernt',
  identity_unbound: '{{provider}} wurde von Ihrem Konto getrennt.',
  'address_changed.subject': 'Ihre E-Mail-Adresse bei {{system}} wurde geändert',
  address_changed: 'Ihr Konto hat jetzt eine andere E-Mail-Adresse. Diese gehört nicht mehr dazu.',
  'address_removed.subject': 'Ihre E-Mail-Adresse bei {{system}} wurde geändert',
  address_removed: 'Diese Adresse wurde aus Ihrem Konto entfernt.',
  'personal_token_made.subject': 'Persönliches Zugriffstoken bei {{system}} erstellt',
  personal_token_made:
    'Für Ihr Konto wurde ein persönliches Zugriffstoken erstellt. Wer es hat, kann in Ihrem Namen handeln.',
  'personal_token_removed.subject': 'Persönliches Zugriffstoken bei {{system}} gelöscht',
  personal_token_removed: 'Das persönliche Zugriffstoken Ihres Kontos wurde gelöscht.',
  'factors_removed.subject': 'Ihr Passwort für {{system}} wurde geändert',
  factors_removed:
    'Ihr Passwort wurde geändert. Zweiter Faktor, Passkeys, Zugriffstoken, verbundene Konten und diese E-Mail-Adresse wurden entfernt, und alle Sitzungen sind beendet.',
};

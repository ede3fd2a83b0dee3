import { escapeXml } from './escape-xml.ts';
import type { ServiceInput } from './types.ts';

export const LAUNCHD_LABEL = 'org.taskgate.taskgate';

/** The property list of a launchd job that starts with the user's session, or with the system. */
export function launchdPlist({ executable, dataDir, args }: ServiceInput): string {
  const strings = [executable, 'serve', '--data-dir', dataDir, ...args].map(
    (word) => `    <string>${escapeXml(word)}</string>`,
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    '<dict>',
    `  <key>Label</key><string>${LAUNCHD_LABEL}</string>`,
    '  <key>ProgramArguments</key>',
    '  <array>',
    ...strings,
    '  </array>',
    '  <key>RunAtLoad</key><true/>',
    // Not after a stop that was asked for.
    '  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>',
    // 0077, which a property list has in decimal.
    '  <key>Umask</key><integer>63</integer>',
    '  <key>ExitTimeOut</key><integer>40</integer>',
    `  <key>StandardErrorPath</key><string>${escapeXml(`${dataDir}/taskgate.log`)}</string>`,
    '</dict>',
    '</plist>',
    '',
  ].join('\n');
}

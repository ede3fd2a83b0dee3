import { escapeXml } from './escape-xml.ts';
import type { ServiceInput } from './types.ts';

export const TASK_NAME = 'Taskgate';

/** LocalService: an account of Windows with few rights. */
const LOCAL_SERVICE = 'S-1-5-19';

/**
 * A task of the Task Scheduler that starts when the user signs in, or when Windows starts. A
 * service in the narrow sense would have to speak with Windows' service manager. UTF-16 with a byte
 * order mark, as `schtasks` reads it.
 */
export function windowsTask({ scope, executable, dataDir, args }: ServiceInput): Uint8Array {
  const trigger = scope === 'system' ? 'BootTrigger' : 'LogonTrigger';
  const principal =
    scope === 'system' ? `<UserId>${LOCAL_SERVICE}</UserId>` : '<LogonType>InteractiveToken</LogonType>';
  const words = ['serve', '--data-dir', dataDir, ...args].map(quoteArgument).join(' ');
  const text = [
    '<?xml version="1.0" encoding="UTF-16"?>',
    '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
    `  <RegistrationInfo><Description>Taskgate</Description></RegistrationInfo>`,
    `  <Triggers><${trigger}><Enabled>true</Enabled></${trigger}></Triggers>`,
    `  <Principals><Principal id="Author">${principal}<RunLevel>LeastPrivilege</RunLevel></Principal></Principals>`,
    '  <Settings>',
    '    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>',
    '    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>',
    '    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>',
    // No limit; the default ends a task after three days.
    '    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>',
    '    <RestartOnFailure><Interval>PT1M</Interval><Count>255</Count></RestartOnFailure>',
    '  </Settings>',
    '  <Actions Context="Author"><Exec>',
    `    <Command>${escapeXml(executable)}</Command>`,
    `    <Arguments>${escapeXml(words)}</Arguments>`,
    '  </Exec></Actions>',
    '</Task>',
    '',
  ].join('\r\n');
  return Buffer.from(`\ufeff${text}`, 'utf16le');
}

/** By the rules of `CommandLineToArgvW`; a path has no quotation marks. */
const quoteArgument = (word: string): string =>
  /[\s]/.test(word) ? `"${word.endsWith('\\') ? `${word}\\` : word}"` : word;

/** The blocks of a guide, and terminals that run its commands word for word. */
import { expect } from 'bun:test';
import { type ChildProcess, spawn } from 'node:child_process';
import { until } from './until.ts';

const WAIT_MS = 60_000;
/** What `script` says of the program that it ended. */
const ENDED = /^\s*Session terminated, killing shell\.\.\.\s*\.\.\.killed\.\n/;

type Command = { line: string; prints: string };
type Block = { terminal: 'first' | 'second' | 'third'; running: boolean; commands: Command[]; says: string };

/**
 * `console` is the first terminal, `console second` and `console third` are the others; the last
 * command of a block that is `running` goes on. Without `$` it is what appears.
 */
export function readBlocks(guide: string): Block[] {
  return [...guide.matchAll(/^```console((?: \w+)*)\n([\s\S]*?)^```$/gm)].map(([, kind = '', text = '']) => {
    const commands: { line: string; prints: string }[] = [];
    let says = '';
    let open = false;
    for (const line of text.split('\n')) {
      const last = commands.at(-1);
      if (line.startsWith('$ ')) commands.push({ line: line.slice(2), prints: '' });
      else if (last && open) last.line += `\n${line}`;
      else if (last) last.prints += `${line}\n`;
      else says += `${line}\n`;
      open = /[\\|]$/.test(line);
    }
    const words = kind.split(' ');
    const terminal = words.includes('third') ? 'third' : words.includes('second') ? 'second' : 'first';
    return { terminal, running: words.includes('running'), commands, says };
  });
}

/** `…` stands for anything. */
const pattern = (text: string, end: string): RegExp =>
  new RegExp(`^\\s*${text.trim().split('…').map(RegExp.escape).join('[\\s\\S]*?')}${end}`);

export class Terminal {
  private readonly shell: ChildProcess;
  private output = '';
  private commands = 0;
  private busy: { from: number; mark: string } | undefined;

  constructor(folder: string, path: string, env: Record<string, string> = {}) {
    // A group of its own: Ctrl-C reaches all that runs in a terminal.
    this.shell = spawn('bash', [], { cwd: folder, env: { PATH: path, HOME: folder, ...env }, detached: true });
    for (const stream of [this.shell.stdout, this.shell.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.output += chunk.toString('utf8').replaceAll('\r', '');
      });
  }

  /** Starts a command that prints for people because it sees a terminal. */
  startForPerson(line: string): { from: number; mark: string } {
    return this.start(`script -qefc '${line.replaceAll("'", `'\\''`)}' /dev/null`);
  }

  /** Types a command; gives where its output begins and what comes after it. */
  start(line: string): { from: number; mark: string } {
    this.commands += 1;
    const mark = `[command ${this.commands} has ended]`;
    const from = this.output.length;
    this.shell.stdin?.write(`${line}\necho '${mark}'\n`);
    this.busy = { from, mark };
    return this.busy;
  }

  async run({ line, prints }: Command): Promise<void> {
    const { from, mark } = this.start(line);
    await until(`this has ended: ${line}\n${this.output.slice(from)}`, () => this.output.includes(mark), WAIT_MS);
    this.busy = undefined;
    const printed = this.output.slice(from, this.output.indexOf(mark)).replace(ENDED, '');
    if (prints.trim() !== '') expect(printed.trimEnd()).toMatch(pattern(prints, '$'));
  }

  async shows(text: string, from = 0): Promise<void> {
    await until(
      `the terminal shows ${text}`,
      () => pattern(`…${text}`, '').test(this.output.slice(from)),
      WAIT_MS,
    ).catch((error) => {
      throw new Error(`${String(error)}\n${this.output}`);
    });
  }

  /** Ctrl-C for what still runs. */
  async interrupt(): Promise<void> {
    const { busy } = this;
    if (!busy || !this.shell.pid) return;
    process.kill(-this.shell.pid, 'SIGINT');
    await until('what was interrupted has ended', () => this.output.includes(busy.mark), WAIT_MS);
    this.busy = undefined;
  }

  close(): void {
    if (this.shell.pid && this.shell.exitCode === null) process.kill(-this.shell.pid, 'SIGKILL');
  }
}

/** The blocks of a guide, and terminals that run its commands word for word. */
import { expect } from 'bun:test';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describeProcesses } from './child-processes.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';

/** What Ctrl-C sends. */
const INTERRUPT = '\x03';

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
  private running: { mark: string; keyboard: number } | undefined;

  constructor(folder: string, path: string, env: Record<string, string> = {}) {
    // `script` runs commands in this shell: unlike others, bash outlives Ctrl-C until all of a
    // pipeline has ended.
    const SHELL = Bun.which('bash') ?? '/bin/bash';
    // A group of its own, which `close` ends as a whole.
    this.shell = spawn(SHELL, [], { cwd: folder, env: { PATH: path, HOME: folder, SHELL, ...env }, detached: true });
    for (const stream of [this.shell.stdout, this.shell.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.output += chunk.toString('utf8').replaceAll('\r', '');
      });
  }

  /** Starts a command that prints for people, as it sees a terminal; gives where that begins. */
  startForPerson(line: string): number {
    const keys = join(temporaryFolder(), 'keys');
    execFileSync('mkfifo', [keys]);
    const keyboard = openSync(keys, 'r+');
    // Its input is not the shell's: it would read the commands that follow.
    const { from, mark } = this.type(`script -qefc '${line.replaceAll("'", `'\\''`)}' /dev/null < '${keys}'`);
    this.running = { mark, keyboard };
    return from;
  }

  async run({ line, prints }: Command): Promise<void> {
    const { from, mark } = this.type(`{ ${line}\n} < /dev/null`);
    await this.wait(`this has ended: ${line}`, from, () => this.output.includes(mark, from));
    const printed = this.output.slice(from, this.output.indexOf(mark, from));
    if (prints.trim() !== '') expect(printed.trimEnd()).toMatch(pattern(prints, '$'));
  }

  shows(text: string, from = 0): Promise<void> {
    return this.wait(`the terminal shows ${text}`, from, () => pattern(`…${text}`, '').test(this.output.slice(from)));
  }

  /** Ctrl-C for what `startForPerson` started; resolves when it has ended. */
  async interrupt(): Promise<void> {
    if (!this.running) return;
    const { mark, keyboard } = this.running;
    const from = this.output.length;
    writeSync(keyboard, INTERRUPT);
    await this.wait('what was interrupted has ended', from, () => this.output.includes(mark));
    closeSync(keyboard);
    this.running = undefined;
  }

  close(): void {
    if (this.running) closeSync(this.running.keyboard);
    if (this.shell.pid && this.shell.exitCode === null) process.kill(-this.shell.pid, 'SIGKILL');
  }

  /** Gives where the output of these lines begins and what the shell prints after them. */
  private type(lines: string): { from: number; mark: string } {
    this.commands += 1;
    const mark = `[command ${this.commands} has ended]`;
    const from = this.output.length;
    this.shell.stdin?.write(`${lines}\necho '${mark}'\n`);
    return { from, mark };
  }

  /**
   * A wait that times out says what the terminal shows by then, and what its processes are doing.
   */
  private async wait(what: string, from: number, check: () => boolean): Promise<void> {
    await until(what, check).catch((error) => {
      const processes = this.shell.pid ? describeProcesses(this.shell.pid) : '';
      throw new Error(`${String(error)}\nThe terminal shows:\n${this.output.slice(from)}\n${processes}`);
    });
  }
}

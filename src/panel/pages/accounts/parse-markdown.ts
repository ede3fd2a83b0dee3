/**
 * Parses the part of Markdown that terms and policies use: headings, paragraphs, lists, rules,
 * bold, italics, code and links. Everything else, HTML included, is text. The result holds only
 * texts and addresses, so nothing in it can execute.
 */
export type Block =
  | { kind: 'heading'; level: number; text: Inline[] }
  | { kind: 'list'; ordered: boolean; items: Inline[][] }
  | { kind: 'paragraph'; text: Inline[] }
  | { kind: 'rule' };

export type Inline =
  | { kind: 'text' | 'code'; text: string }
  | { kind: 'strong' | 'emphasis'; children: Inline[] }
  | { kind: 'link'; href: string; children: Inline[] };

const heading = /^(#{1,6})\s+(.*?)\s*#*$/;
const bullet = /^\s{0,3}[-*+]\s+(.*)$/;
const numbered = /^\s{0,3}\d{1,9}[.)]\s+(.*)$/;
const rule = /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/;

export function parseMarkdown(source: string): Block[] {
  const blocks: Block[] = [];
  /** The paragraph or list item being read. */
  let openBlock: { lines: string[]; close(text: string): void } | null = null;
  const close = (): void => {
    openBlock?.close(openBlock.lines.join('\n'));
    openBlock = null;
  };
  const startBlock = (line: string, onClose: (text: string) => void): void => {
    close();
    openBlock = { lines: [line], close: onClose };
  };

  for (const line of source.split(/\r\n?|\n/)) {
    const title = heading.exec(line);
    const item = rule.test(line) ? null : (bullet.exec(line) ?? numbered.exec(line));
    if (line.trim() === '') {
      close();
    } else if (title !== null) {
      close();
      blocks.push({ kind: 'heading', level: title[1]?.length ?? 1, text: parseInline(title[2] ?? '') });
    } else if (rule.test(line)) {
      close();
      blocks.push({ kind: 'rule' });
    } else if (item !== null) {
      const ordered = numbered.test(line);
      startBlock(item[1] ?? '', (text) => {
        const last = blocks.at(-1);
        if (last?.kind === 'list' && last.ordered === ordered) last.items.push(parseInline(text));
        else blocks.push({ kind: 'list', ordered, items: [parseInline(text)] });
      });
    } else if (openBlock !== null) {
      (openBlock as { lines: string[] }).lines.push(line.trim());
    } else {
      startBlock(line.trim(), (text) => blocks.push({ kind: 'paragraph', text: parseInline(text) }));
    }
  }
  close();
  return blocks;
}

/** Code, link, bold, italics or bare address, whichever comes first. No mark spans a blank line. */
const inlinePattern =
  /`([^`\n]+)`|\[([^\]\n]{1,500})\]\(([^()\s]{1,2000})\)|\*\*([^*]+)\*\*|__([^_]+)__|\*([^*\s][^*]*)\*|(?<!\w)_([^_\s][^_]*)_(?!\w)|(https?:\/\/[^\s<>()]+[^\s<>().,;:!?])/;

export function parseInline(source: string): Inline[] {
  const parts: Inline[] = [];
  let remaining = source;
  for (let match = inlinePattern.exec(remaining); match !== null; match = inlinePattern.exec(remaining)) {
    const [whole, code, label, target, strong, strong2, emphasis, emphasis2, address] = match;
    if (match.index > 0) parts.push({ kind: 'text', text: remaining.slice(0, match.index) });
    parts.push(
      code !== undefined
        ? { kind: 'code', text: code }
        : label !== undefined
          ? readLink(label, target ?? '', whole)
          : address !== undefined
            ? { kind: 'link', href: address, children: [{ kind: 'text', text: address }] }
            : (strong ?? strong2) !== undefined
              ? { kind: 'strong', children: parseInline(strong ?? strong2 ?? '') }
              : { kind: 'emphasis', children: parseInline(emphasis ?? emphasis2 ?? '') },
    );
    remaining = remaining.slice(match.index + whole.length);
  }
  return remaining === '' ? parts : [...parts, { kind: 'text', text: remaining }];
}

/** Accepts only targets that open a page or a mail; anything else stays text. */
function readLink(label: string, target: string, whole: string): Inline {
  const isSafe = /^(?:https?:\/\/|mailto:|\/(?![/\\]))/i.test(target);
  return isSafe ? { kind: 'link', href: target, children: parseInline(label) } : { kind: 'text', text: whole };
}

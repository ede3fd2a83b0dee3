import { describe, expect, test } from 'bun:test';
import { readIcon } from '../../src/plugins/icons/check-icon.ts';
import { PNG_ICON, pngBytes } from './icons.ts';

const SVG_NS = 'xmlns="http://www.w3.org/2000/svg"';
const inUrl = (mimeType: string, bytes: string | Uint8Array) =>
  `data:${mimeType};base64,${Buffer.from(bytes).toString('base64')}`;
const svg = (content: string) => inUrl('image/svg+xml', content);
/** A drawing with something inside. */
const drawing = (inside: string, attributes = '') =>
  svg(`<svg ${SVG_NS} xmlns:xlink="http://www.w3.org/1999/xlink" ${attributes}>${inside}</svg>`);

const findFault = (dataUrl: string): string => {
  const icon = readIcon(dataUrl);
  return icon.ok ? '' : icon.error.message;
};

const LEVELS = 12;

/**
 * Parts of which each draws the one before twice, so that the last one draws 2 ** LEVELS
 * elements.
 */
const tower = (
  name: string,
  property: string,
  refer = (paint: string, id: string) => `${paint}="url(#${id})"`,
): string => {
  const part = (level: number) => {
    const drawn = level === 1 ? '<path d="M0 0h1v1"/>' : `<path d="M0 0h1v1" ${refer(property, `p${level - 1}`)}/>`;
    return `<${name} id="p${level}" width="1" height="1">${drawn}${drawn}</${name}>`;
  };
  return `${Array.from({ length: LEVELS }, (_, i) => part(i + 1)).join('')}<path d="M0 0h8v8" ${refer(property, `p${LEVELS}`)}/>`;
};

describe('icons that are accepted', () => {
  test.each([
    ['PNG', PNG_ICON, 'image/png'],
    ['SVG', drawing('<rect width="8" height="8" fill="#f60"/>'), 'image/svg+xml'],
    ['SVG without namespace', svg('<svg/>'), 'image/svg+xml'],
    [
      'declaration and comment',
      svg(`<?xml version="1.0" encoding="UTF-8"?><!-- ü --><svg ${SVG_NS}/>`),
      'image/svg+xml',
    ],
    ['prefixed SVG', svg('<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:path d="M0 0h8"/></s:svg>'), 'image/svg+xml'],
    ['gradient by id', drawing('<linearGradient id="g"/><path fill="url(#g)" d="M0 0h8"/>'), 'image/svg+xml'],
    ['gradient in a style', drawing('<style>.a{fill:url("#g")} /* ok */</style>'), 'image/svg+xml'],
    [
      'use of an element',
      drawing('<g id="a"><path d="M0 0"/></g><use xlink:href="#a"/><use href="#a"/>'),
      'image/svg+xml',
    ],
    [
      'lines that say that they have no dashes',
      drawing('<path stroke-dasharray="none"/><path style="stroke-dasharray:none;fill:red"/>'),
      'image/svg+xml',
    ],
    ['a picture inside', drawing('<image href="data:image/png;base64,AAAA"/>'), 'image/svg+xml'],
    [
      'animated colour',
      drawing('<rect><animate attributeName="fill" values="red;blue" dur="1s"/></rect>'),
      'image/svg+xml',
    ],
    [
      'what Figma writes',
      drawing(
        `<g clip-path="url(#clip0_1_2)"><mask id="mask0" maskUnits="userSpaceOnUse"><path d="M0 0h8v8H0z"/></mask><g mask="url(#mask0)">${'<path d="M0 0h8" fill="url(#paint0_linear)"/>'.repeat(60)}</g><g filter="url(#filter0_d)"><path d="M0 0h2"/></g></g><defs><filter id="filter0_d"><feFlood/><feBlend in2="SourceGraphic"/></filter><linearGradient id="paint0_linear"><stop/><stop offset="1"/></linearGradient><clipPath id="clip0_1_2"><rect width="8" height="8"/></clipPath></defs>`,
      ),
      'image/svg+xml',
    ],
    [
      'what Illustrator writes',
      drawing(
        `<defs><style>.cls-1{fill:none;}.cls-2{clip-path:url(#clip-path);}.cls-3{fill:url(#g-1);}.cls-4,.cls-5{isolation:isolate;fill:url(#g-2)}</style><clipPath id="clip-path"><rect class="cls-1" width="8"/></clipPath><linearGradient id="g-1"><stop offset="0"/></linearGradient><linearGradient id="g-2" xlink:href="#g-1"/></defs><g class="cls-2">${'<path class="cls-3" d="M0 0h8"/><path class="cls-4" d="M0 0h8"/>'.repeat(80)}</g>`,
      ),
      'image/svg+xml',
    ],
    [
      'a pattern and a marker',
      drawing(
        '<pattern id="p" width="2" height="2"><path d="M0 0h1"/></pattern><marker id="m"><path d="M0 0l2 1"/></marker><rect fill="url(#p)"/><path d="M0 0L4 4" marker-end="url(#m)"/>',
      ),
      'image/svg+xml',
    ],
    ["an editor's own elements", drawing('<n:view xmlns:n="http://editor.example/n" n:zoom="1"/>'), 'image/svg+xml'],
  ] as const)('%s', (_name, url, mimeType) => {
    const icon = readIcon(url);
    expect(icon.ok ? icon.value.mimeType : icon.error).toBe(mimeType);
  });
});

describe('files that are not images', () => {
  test.each<[name: string, url: string, fault: string]>([
    ['no data URL', 'https://x.example/i.png', 'must be a base64 data URL'],
    ['another type', inUrl('image/gif', 'GIF89a'), 'must be a base64 data URL'],
    ['upper-case type', PNG_ICON.replace('image/png', 'image/PNG'), 'must be a base64 data URL'],
    ['parameters in the type', svg('<svg/>').replace('svg+xml', 'svg+xml;charset=utf-16'), 'must be a base64 data URL'],
    ['not in base64', 'data:image/svg+xml,<svg/>', 'must be a base64 data URL'],
    ['broken base64', 'data:image/png;base64,%%%%', 'not valid base64'],
    ['base64 of other letters', 'data:image/png;base64,iVBORw0K_-', 'not valid base64'],
    ['white space in base64', PNG_ICON.replace('iVBO', 'iV\nBO'), 'not valid base64'],
    ['nothing', 'data:image/png;base64,', 'not valid base64'],
    ['GIF that calls itself PNG', inUrl('image/png', 'GIF89a'), 'signature'],
    ['SVG that calls itself PNG', inUrl('image/png', `<svg ${SVG_NS}/>`), 'signature'],
    ['signature alone', inUrl('image/png', pngBytes(1, 1).subarray(0, 8)), 'header'],
    ['header cut off', inUrl('image/png', pngBytes(1, 1).subarray(0, 32)), 'header'],
    ['another chunk first', inUrl('image/png', Buffer.from(pngBytes(1, 1)).fill('tEXt', 12, 16)), 'header'],
    ['no width', inUrl('image/png', pngBytes(0, 1)), '0 × 1 pixels'],
    ['decompression bomb', inUrl('image/png', pngBytes(100_000, 100_000)), '100000 × 100000'],
    ['too large', inUrl('image/png', Buffer.concat([pngBytes(1, 1), Buffer.alloc(524_288)])), 'larger than 512 kB'],
    ['too large by one byte', inUrl('image/png', Buffer.concat([pngBytes(1, 1)], 524_289)), 'larger than 512 kB'],
    ['huge base64', `data:image/png;base64,${'A'.repeat(4_000_000)}`, 'larger than 512 kB'],
  ])('%s', (_name, url, fault) => {
    expect(findFault(url)).toContain(fault);
  });

  test('exactly 512 KiB are accepted', () => {
    expect(readIcon(inUrl('image/png', Buffer.concat([pngBytes(1, 1)], 524_288))).ok).toBe(true);
  });
});

describe('attacks with SVG', () => {
  test.each<[attack: string, url: string, fault: string]>([
    ['script element', drawing('<script>alert(1)</script>'), '<script>'],
    ['script in upper case', drawing('<SCRIPT>alert(1)</SCRIPT>'), '<SCRIPT>'],
    ['script under a prefix', drawing('<s:script xmlns:s="http://www.w3.org/2000/svg"/>'), '<s:script>'],
    ['script of HTML', drawing('<h:script xmlns:h="http://www.w3.org/1999/xhtml"/>'), 'xhtml'],
    ['HTML that refreshes', drawing('<m xmlns="http://www.w3.org/1999/xhtml" content="0"/>'), 'xhtml'],
    ['HTML in upper case', drawing('<b xmlns="HTTP://WWW.W3.ORG/1999/XHTML"/>'), 'XHTML'],
    ['MathML', drawing('<math xmlns="http://www.w3.org/1998/Math/MathML"/>'), 'MathML'],
    ['foreignObject', drawing('<foreignObject/>'), 'foreignObject'],
    ['foreignObject in another case', drawing('<x:FOREIGNobject xmlns:x="y"/>'), 'FOREIGNobject'],
    ['iframe', drawing('<iframe/>'), 'iframe'],
    ['event attribute', drawing('', 'onload="alert(1)"'), 'onload'],
    ['event attribute in another case', drawing('', 'OnLoad="alert(1)"'), 'OnLoad'],
    ['event attribute under a prefix', drawing('', 'xmlns:e="y" e:onclick="a()"'), 'e:onclick'],
    ['javascript address', drawing('<path href="javascript:alert(1)"/>'), 'javascript:'],
    ['javascript in pieces', drawing('<path href="java\n\tscript :alert(1)"/>'), 'javascript:'],
    ['javascript in character references', drawing('<path href="&#106;ava&#x0a;script&#58;alert(1)"/>'), 'javascript:'],
    ['javascript with invisible characters', drawing('<path href="java&#x200b;script:a()"/>'), 'javascript:'],
    ['javascript in another attribute', drawing('<path d="JavaScript:alert(1)"/>'), 'javascript:'],
    ['link', drawing('<a href="#x"/>'), '<a>'],
    ['external picture', drawing('<image href="https://evil.example/p.png"/>'), 'https://'],
    ['external picture without scheme', drawing('<image xlink:href="//evil.example/p.png"/>'), 'outside itself'],
    ['relative picture', drawing('<image href="p.png"/>'), 'outside itself'],
    ['use of another document', drawing('<use href="other.svg#x"/>'), 'outside itself'],
    ['base address', drawing('<g xml:base="/x/"/>'), 'outside itself'],
    ['address of the outside in an attribute', drawing('<path fill="url(http://evil.example/#g)"/>'), 'http://'],
    ['other file in an attribute', drawing('<path fill="url(evil.svg#g)"/>'), 'outside itself'],
    ['escaped address in an attribute', drawing('<path fill="url(\\2f\\2f evil.example)"/>'), 'escapes'],
    ['escaped function in an attribute', drawing('<path fill="\\75 rl(//evil.example/x#g)"/>'), 'escapes'],
    ['address in another function', drawing('<path mask="image-set(\'//evil.example/x\' 1x)"/>'), 'outside itself'],
    ['data document', drawing('<image href="data:text/html;base64,AAAA"/>'), 'outside itself'],
    ['SVG in SVG', drawing('<image href="data:image/svg+xml;base64,AAAA"/>'), 'outside itself'],
    ['data that is not base64', drawing('<image href="data:image/png,%3Cscript"/>'), 'outside itself'],
    ['animated address', drawing('<g><animate attributeName="href" to="#x"/></g>'), 'animate href'],
    ['animated address under a prefix', drawing('<g><animate attributeName="xlink:href" values="#a"/></g>'), 'animate'],
    ['set address', drawing('<g><set attributeName=" HREF " to="#x"/></g>'), 'animate HREF'],
    ['set event', drawing('<g><set attributeName="onclick" to="a()"/></g>'), 'animate onclick'],
    ['import in a style', drawing('<style>@import "x.css";</style>'), '@import'],
    ['import in pieces', drawing('<style>@im<!-- -->port "x"</style>'), '@import'],
    ['import over sections', drawing('<style>@im<![CDATA[port "x"]]></style>'), '@import'],
    ['import hidden by escapes', drawing('<style>@\\69mport "x"</style>'), 'escapes'],
    ['import over elements', drawing('<style>@im<g/>port "x"</style>'), 'nothing but text'],
    ['import in a style under a prefix', drawing('<s:STYLE xmlns:s="y">@IMPORT "x"</s:STYLE>'), '@import'],
    ['address in a style', drawing('<style>a{background:url(//evil.example/x)}</style>'), 'outside itself'],
    [
      'address in a style without url',
      drawing('<style>a{background:image-set("//evil.example/x" 1x)}</style>'),
      'outside',
    ],
    ['https in a style', drawing('<style>a{background:src("https://evil.example")}</style>'), 'https://'],
    ['style attribute', drawing('<g style="fill:url(evil.svg)"/>'), 'outside itself'],
    ['style attribute with escapes', drawing('<g style="fill:u\\72l(//evil)"/>'), 'escapes'],
    ['DOCTYPE', svg(`<!DOCTYPE svg><svg ${SVG_NS}/>`), 'DOCTYPE'],
    ['entities', svg(`<!DOCTYPE svg [<!ENTITY a "javascript:x">]><svg ${SVG_NS}><path href="&a;"/></svg>`), 'DOCTYPE'],
    [
      'external entity',
      svg(`<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg ${SVG_NS}>&x;</svg>`),
      'DOCTYPE',
    ],
    ['billion laughs', svg(`<!DOCTYPE s [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><svg ${SVG_NS}>&b;</svg>`), 'DOCTYPE'],
    ['undeclared entity', drawing('&nbsp;'), 'not well-formed'],
    ['style sheet instruction', svg(`<?xml-stylesheet href="x.xsl"?><svg ${SVG_NS}/>`), 'xml-stylesheet'],
    ['instruction inside', drawing('<?php x ?>'), 'php'],
    ['XML 1.1', svg(`<?xml version="1.1"?><svg ${SVG_NS}/>`), 'XML 1.0'],
    ['announced UTF-7', svg(`<?xml version="1.0" encoding="UTF-7"?><svg ${SVG_NS}/>`), 'UTF-7'],
    ['UTF-16', inUrl('image/svg+xml', Buffer.from(`\ufeff<svg ${SVG_NS}/>`, 'utf16le')), 'UTF-8'],
    ['another root', svg('<html xmlns="http://www.w3.org/1999/xhtml"><svg/></html>'), 'root element'],
    ['root of another namespace', svg('<svg xmlns="http://www.w3.org/1999/xhtml"/>'), 'root element'],
    ['two roots', svg(`<svg ${SVG_NS}/><svg ${SVG_NS}/>`), 'not well-formed'],
    ['open end', svg(`<svg ${SVG_NS}><g>`), 'not well-formed'],
    ['attribute without quotes', svg(`<svg ${SVG_NS} a=b/>`), 'not well-formed'],
    ['the same attribute twice', svg(`<svg ${SVG_NS} a="1" a="2"/>`), 'not well-formed'],
    ['unbound prefix', drawing('<q:g/>'), 'not well-formed'],
    ['no XML', svg('hello'), 'not well-formed'],
    ['empty', svg(' '), 'not well-formed'],
    [
      'use that multiplies',
      drawing('<g id="a"/><g id="b"><use href="#a"/></g><use href="#b"/>'),
      'contains a use element',
    ],
    ['use of itself', drawing('<use id="a" href="#a"/>'), 'contains a use element'],
    ['many uses', drawing(`<g id="a"/>${'<use href="#a"/>'.repeat(257)}`), '256 use elements'],
    [
      'use by an escaped name',
      drawing('<g id="a"/><g id="u1"><use href="#a"/></g><use href="#u%31"/>'),
      'contains a use',
    ],
    ['use by a name with spaces', drawing('<g id="b"><use href="#a"/></g><use href=" #\tb "/>'), 'contains a use'],
    ['use by a broken escape', drawing('<g id="b"/><use href="#b%"/>'), 'cannot be decoded'],
    ['patterns in patterns', drawing(tower('pattern', 'fill')), 'draws more than 10000'],
    ['masks in masks', drawing(tower('mask', 'mask')), 'draws more than 10000'],
    ['clip paths in clip paths', drawing(tower('clipPath', 'clip-path')), 'draws more than 10000'],
    ['markers in markers', drawing(tower('marker', 'marker-mid')), 'draws more than 10000'],
    ['strokes of patterns', drawing(tower('pattern', 'stroke')), 'draws more than 10000'],
    [
      'patterns in style attributes',
      drawing(tower('pattern', 'fill', (p, id) => `style="${p}:URL( '#${id}' )"`)),
      'draws more',
    ],
    [
      'patterns by escaped names',
      drawing(tower('pattern', 'fill', (p, id) => `${p}="url(#%70${id.slice(1)})"`)),
      'draws more',
    ],
    [
      'patterns by character references',
      drawing(tower('pattern', 'fill', (p, id) => `${p}="url(&#35;&#x70;${id.slice(1)})"`)),
      'draws more',
    ],
    [
      'patterns by templates',
      drawing(
        tower('pattern', 'fill')
          .replaceAll('<pattern ', '<pattern xlink:href="#p1" ')
          .replace('<pattern xlink:href="#p1" id="p1"', '<pattern id="p1"'),
      ),
      'draws more',
    ],
    ...[' ', '\u00a0', '\u2003', '\u3000', '\ufeff'].map((space): [string, string, string] => [
      `patterns by names with U+${space.codePointAt(0)?.toString(16).padStart(4, '0')} at their ends`,
      drawing(
        tower('pattern', 'fill', (p, id) => `${p}="url(#${space}${id}${space})"`).replaceAll(
          / id="(p\d+)"/g,
          ` id="${space}$1${space}"`,
        ),
      ),
      'draws more',
    ]),
    [
      'uses by names with a no-break space',
      drawing('<g id="b\u00a0"><use href="#a"/></g><use href="#b\u00a0"/>'),
      'contains a use',
    ],
    ...[
      ['@media all', ''],
      ['@media screen, all', ''],
      ['@layer x', ''],
      ['@supports (fill:red)', ''],
      ['', '\u00a0x'],
      ['', '\u3000x'],
    ].map(([rule = '', end = '']): [string, string, string] => [
      `a mask on each by a style with ${rule === '' ? `U+${end.codePointAt(0)?.toString(16)}` : `${rule} in its rule`}`,
      drawing(
        `<style>.a${end}{${rule}${rule && '{'}mask:url(#m)${rule && '}'}}</style><mask id="m">${'<path/>'.repeat(200)}</mask>${`<g class="a${end}"/>`.repeat(200)}`,
      ),
      'refer to itself',
    ]),
    [
      'a pattern that everything inherits',
      drawing(
        `<pattern id="p">${'<g/>'.repeat(200)}</pattern><g fill="url(#p)">${'<path d="M0 0h1"/>'.repeat(200)}</g>`,
      ),
      'draws more',
    ],
    [
      'a mask on each of many',
      drawing(`<mask id="m">${'<g/>'.repeat(200)}</mask>${'<g mask="url(#m)"/>'.repeat(200)}`),
      'draws more',
    ],
    [
      'a mask on each by a style',
      drawing(`<style>g{mask:url(#m)}</style><mask id="m">${'<path/>'.repeat(200)}</mask>${'<g/>'.repeat(200)}`),
      'draws more',
    ],
    ...['from', 'to', ' From , TO '].map((step): [string, string, string] => [
      `a mask on each by the step "${step}" of an animation`,
      drawing(
        `<style>g{animation:x 9s}@keyframes x{${step}{mask:url(#m)}}</style><mask id="m">${'<path/>'.repeat(200)}</mask>${'<g/>'.repeat(200)}`,
      ),
      'refer to itself',
    ]),
    ['dashes without end', drawing('<path d="M0 0H64" stroke-dasharray="0.0002"/>'), 'dashed'],
    ['dashes without end, inherited', drawing('<g stroke-dasharray="1"><path/></g>'), 'dashed'],
    ['dashes by a style', drawing('<path style="Stroke-Dasharray : 1e-4px"/>'), 'dashed'],
    ['dashes by a style sheet', drawing('<style>path{stroke-dasharray:calc(1px/9999)}</style>'), 'dashed'],
    [
      'dashes by a step of an animation',
      drawing('<style>@keyframes x{to{fill:red;stroke-dasharray:var(--d)}}</style>'),
      'dashed',
    ],
    [
      'animated dashes',
      drawing('<g><animate attributeName="stroke-dasharray" values="0.0002"/></g>'),
      'must not animate stroke-dasharray',
    ],
    ['a mask behind a text with a brace', drawing(`<style>*{x:"} .z{";mask:url(#m)}</style>`), 'two ways'],
    [
      'a mask behind a comment in a text',
      drawing(
        `<style>path{x:"/*";mask:url(#m)} i{x:"*/"}</style><mask id="m">${'<g/>'.repeat(200)}</mask>${'<path/>'.repeat(200)}`,
      ),
      'draws more',
    ],
    [
      'a mask in a rule within rules',
      drawing(
        `<style>@media all{@supports (x:y){i>path{mask:url(#m)}}}</style><mask id="m">${'<g/>'.repeat(200)}</mask>${'<path/>'.repeat(200)}`,
      ),
      'draws more',
    ],
    ['a mask whose name ends a declaration', drawing(`<g style="mask:url('#a;b')"/>`), 'two ways'],
    ['a mask in a variable', drawing('<style>g{--m:url(#m);mask:var(--m)}</style>'), 'variables'],
    ['an animated mask', drawing('<g><animate attributeName="mask" values="url(#m)"/></g>'), 'animate references'],
    ['an animated class', drawing('<g><set attributeName="class" to="m"/></g>'), 'animate class'],
    [
      'a corner with a marker, many times',
      drawing(`<marker id="m"><g/></marker><path marker-mid="url(#m)" d="M0 0${'h1'.repeat(5000)}"/>`),
      'draws more',
    ],
    ['a mask in itself', drawing('<mask id="m"><g mask="url(#m)"/></mask><g mask="url(#m)"/>'), 'itself (#m)'],
    [
      'a filter that draws what it filters',
      drawing('<filter id="f"><feImage href="#g"/></filter><g id="g" filter="url(#f)"/>'),
      'itself',
    ],
    ['itself as an image', drawing('<image href="#a"/>'), 'as an image'],
    ['image-set', drawing(`<style>g{background:image-set("data:image/png;base64,AAAA" 1x)}</style>`), 'image-set()'],
    ['prefixed image-set', drawing(`<g style="mask:-webkit-image-set('a.png' 1x)"/>`), 'image-set()'],
    ['image()', drawing(`<style>g{background:image("a.png")}</style>`), 'image()'],
    ['src()', drawing(`<style>g{background:src("a.png")}</style>`), 'src()'],
    ['element()', drawing(`<g style="mask:-moz-element(#a)"/>`), 'element()'],
    [
      'a chain of references',
      drawing(
        Array.from({ length: 3000 }, (_, i) => `<mask id="m${i}"><g mask="url(#m${i + 1})"/></mask>`).join('') +
          '<g mask="url(#m0)"/>',
      ),
      'draws more',
    ],
    ['deep nesting', drawing('<g>'.repeat(150_000)), 'nests more than 64'],
    [
      'thousands of attributes',
      drawing(`<g ${Array.from({ length: 30_000 }, (_, i) => `a${i}=""`).join(' ')}/>`),
      '128 attributes',
    ],
  ])('%s', (_attack, url, fault) => {
    expect(findFault(url)).toContain(fault);
    // The caller completes the sentence.
    expect(findFault(url)).not.toEndWith('.');
  });

  test.each([
    ['elements', '<g/>'.repeat(120_000)],
    ['prefixes', `${'<g xmlns:p="y">'.repeat(60)}${'<p:g/>'.repeat(70_000)}${'</g>'.repeat(60)}`],
    ['one long attribute', `<path d="${'url('.repeat(120_000)}"/>`],
    ['one long style', `<style>${'/* url( */'.repeat(45_000)}</style>`],
    ['character references', '&#60;'.repeat(100_000)],
    ['brackets', '<![CDATA['.repeat(50_000)],
  ])('512 KiB of %s are read quickly', (_name, inside) => {
    const url = drawing(inside);
    expect(url.length).toBeLessThan(700_000);
    const before = process.cpuUsage();
    readIcon(url);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2_000);
  });
});

// Draws docs/gate.svg, the picture of what crosses the gate: node scripts/gate-picture.mjs. It is
// readable in light and dark, by the colours of whoever looks at it.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const target = path.join(import.meta.dirname, '../docs/gate.svg');

/** What your process has, what you write for it, what the child has of it; why it is kept out. */
const GROUPS = [
  {
    title: 'descriptors',
    rows: [
      ['0, 1, 2', "stdio: ['null', 'pipe', 'pipe']", '0, 1, 2'],
      ['24  /srv/config.json', 'pass: [{ fd: 24, as: 3 }]', '3  /srv/config.json'],
      ['20  listener :8080', null, null],
      ['30  customers.csv', null, null],
    ],
  },
  {
    title: 'environment',
    rows: [
      ['PATH, LANG, TZ, TERM, …', 'the default', 'a fixed PATH, and these'],
      ['CI=1', "env: allow: ['CI']", 'CI=1'],
      ['AWS_SECRET_ACCESS_KEY=…', null, null],
      ['HOME, and ~/.aws in it', null, null],
    ],
  },
  {
    title: 'the rest',
    rows: [
      ['ignored and blocked signals', null, 'all at their default', 'always'],
      ['the session, and ^C', null, 'a session of its own', "session: 'new', the default"],
      ['setuid programs', null, 'grant nothing', 'noNewPrivileges, the default'],
    ],
  },
];

const WIDTH = 900;
const LEFT = { x: 20, width: 250 };
const GATE = { x: 322, width: 286 };
const RIGHT = { x: 660, width: 220 };
const TOP = 64;
const ROW = 30;
const GAP = 34;

const STYLE = `
  text { font: 14px ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif; fill: #1f2328; }
  .code { font: 12.5px ui-monospace, 'DejaVu Sans Mono', monospace; }
  .head { font-weight: 600; font-size: 16px; }
  .group { fill: #59636e; font-size: 12.5px; }
  .side { fill: #f6f8fa; stroke: #d1d9e0; }
  .gate { fill: #ddf4ff; stroke: #0969da; }
  .way { stroke: #1a7f37; stroke-width: 2; fill: none; }
  .tip { fill: #1a7f37; }
  .stop { stroke: #cf222e; stroke-width: 2.5; fill: none; }
  .kept { fill: #59636e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .group, .kept { fill: #9198a1; }
    .side { fill: #151b23; stroke: #3d444d; }
    .gate { fill: #0c2d4a; stroke: #4493f8; }
    .way { stroke: #3fb950; }
    .tip { fill: #3fb950; }
    .stop { stroke: #f85149; }
  }`;

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const text = (x, y, words, className) =>
  `<text x="${x}" y="${y}" class="${className}">${escape(words)}</text>`;

function arrow(from, to, y) {
  return `<path class="way" d="M${from} ${y}H${to - 8}"/><path class="tip" d="M${to} ${y}l-10 -5v10z"/>`;
}

/** It ends at the wall. */
function stop(y) {
  const x = GATE.x - 20;
  const from = LEFT.x + LEFT.width;
  return `<path class="stop" d="M${from} ${y}H${x - 8}M${x - 6} ${y - 6}l12 12m0 -12l-12 12"/>`;
}

function drawRow([ours, wish, theirs, why], y) {
  const base = y + 5;
  const parts = [text(LEFT.x + 14, base, ours, theirs === null ? 'code kept' : 'code')];
  if (why !== undefined) parts.push(text(GATE.x + 12, base, why, 'code kept'));
  if (wish === null) parts.push(stop(y));
  else {
    parts.push(arrow(LEFT.x + LEFT.width, GATE.x, y));
    parts.push(text(GATE.x + 12, base, wish, 'code'));
    parts.push(arrow(GATE.x + GATE.width, RIGHT.x, y));
  }
  if (theirs !== null) parts.push(text(RIGHT.x + 14, base, theirs, 'code'));
  return parts.join('');
}

export function drawGate() {
  const lines = [];
  let y = TOP;
  for (const { title, rows } of GROUPS) {
    for (const { x } of [LEFT, RIGHT]) lines.push(text(x + 14, y + 5, title, 'group'));
    y += ROW - 4;
    for (const row of rows) {
      lines.push(drawRow(row, y));
      y += ROW;
    }
    y += GAP - ROW + 8;
  }
  const height = y - TOP + 18;
  const box = ({ x, width }, name) =>
    `<rect class="${name}" x="${x}" y="${TOP - 20}" width="${width}" height="${height}" rx="8"/>`;
  const heads = [
    text(LEFT.x, 30, 'your process', 'head'),
    text(GATE.x, 30, 'what you write', 'head'),
    text(RIGHT.x, 30, 'the child', 'head'),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${TOP + height}" role="img" aria-labelledby="title">`,
    `<title id="title">What crosses the gate: the child gets what the launch names, and nothing else</title>`,
    `<style>${STYLE}\n</style>`,
    ...heads,
    box(LEFT, 'side'),
    box(GATE, 'gate'),
    box(RIGHT, 'side'),
    ...lines,
    '</svg>\n',
  ].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(target, drawGate());

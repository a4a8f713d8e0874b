// A process tree and the descriptors that its processes share, as one page without scripts.
import type { DescriptorRecord, ProcessAudit } from '../index.js';
import { phraseCount } from '../phrase-count.js';
import { describeNumber, describeProcess, describeTarget } from './describe-record.js';
import { STYLE } from './tree-style.js';
import { clean } from './table.js';

interface Shared {
  label: string;
  what: string;
  kind: string;
  /** By pid: the numbers. */
  numbers: Map<number, DescriptorRecord[]>;
  leaks: boolean;
}

/** Beyond 0, 1 and 2 nothing goes to a child unless somebody wants it to, or forgot. */
const isHandedDown = ({ fd, origin }: DescriptorRecord): boolean =>
  fd > 2 && origin?.inherited === true;

export function renderPage(audits: readonly ProcessAudit[]): string {
  const root = audits[0];
  const shared = findShared(audits);
  const title = root === undefined ? 'nothing' : `${root.command} (${root.pid})`;
  const leaking = audits.filter(({ descriptors }) => descriptors.some(isHandedDown));
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escape(title)}: processes and what they share</title>
<style>${STYLE}</style>
<h1>${escape(title)}</h1>
<p>${phraseCount(audits.length, 'process', 'processes')}, ${phraseCount(shared.length, 'object that', 'objects that')} more than one of them has open.
${leaking.length === 0 ? 'Nothing beyond 0, 1 and 2 was handed down.' : `<strong class="leak">${phraseCount(leaking.length, 'process has', 'processes have')} something beyond 0, 1 and 2 that was handed down.</strong>`}</p>
<ul class="legend">
<li><span class="dot">1</span> a process has this object open, as this number</li>
<li><span class="dot leak">7</span> handed down by its parent, beyond 0, 1 and 2: meant, or a leak</li>
<li><span class="dot sealed">9</span> closed when that process starts another program</li>
</ul>
${renderMatrix(audits, shared)}
<h2>What is shared</h2>
${renderShared(shared)}
<h2>All descriptors</h2>
${audits.map((audit) => renderDetails(audit, shared)).join('\n')}
</html>
`;
}

function escape(text: string): string {
  const entities: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
  };
  return clean(text).replace(/[&<>"]/g, (found) => entities[found] ?? found);
}

const keyOf = ({ dev, inode, kind, target }: DescriptorRecord): string =>
  // Anonymous inodes are one for all of a kind: only what was inherited is known to be the same.
  target.startsWith('anon_inode:') ? '' : `${dev}:${inode}:${kind}`;

function findShared(audits: readonly ProcessAudit[]): Shared[] {
  const objects = new Map<string, Shared>();
  for (const { pid, descriptors } of audits) {
    for (const record of descriptors) {
      const key = keyOf(record);
      if (key === '' || record.target === '/dev/null') continue;
      const object = objects.get(key) ?? {
        label: '',
        what: describeTarget({ ...record, locks: [] }),
        kind: record.kind,
        numbers: new Map<number, DescriptorRecord[]>(),
        leaks: false,
      };
      object.numbers.set(pid, [...(object.numbers.get(pid) ?? []), record]);
      object.leaks ||= isHandedDown(record);
      objects.set(key, object);
    }
  }
  return [...objects.values()]
    .filter(({ numbers }) => numbers.size > 1)
    .sort((a, b) => Number(b.leaks) - Number(a.leaks) || b.numbers.size - a.numbers.size)
    .map((object, index) => ({ ...object, label: nameColumn(index) }));
}

/** A … Z, AA, AB, … */
function nameColumn(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26));
  return index < 26 ? letter : nameColumn(Math.floor(index / 26) - 1) + letter;
}

function depthsOf(audits: readonly ProcessAudit[]): Map<number, number> {
  const depths = new Map<number, number>();
  for (const { pid, parentPid } of audits) depths.set(pid, (depths.get(parentPid) ?? -1) + 1);
  return depths;
}

function renderMatrix(audits: readonly ProcessAudit[], shared: readonly Shared[]): string {
  const depths = depthsOf(audits);
  const heads = shared.map(
    ({ label, what, kind, leaks }) =>
      `<th class="${leaks ? 'leak' : ''}" title="${escape(`${kind} ${what}`)}"><a href="#object-${label}">${label}</a><small>${escape(kind)}</small></th>`,
  );
  const rows = audits.map((audit, index) => {
    const { pid, command, commandLine, unreadable, descriptors, parentPid } = audit;
    const orphan = index > 0 && !depths.has(parentPid) ? ' <em>orphaned</em>' : '';
    const name = `<a href="#process-${pid}">${escape(command)}</a> <span class="pid">${pid}</span>${orphan}`;
    const note =
      unreadable === undefined
        ? `<small>${escape(shorten(commandLine.join(' ')))} · ${phraseCount(descriptors.length, 'descriptor', 'descriptors')}</small>`
        : `<small class="unknown">not readable</small>`;
    const cells = shared.map(
      (object) => `<td>${(object.numbers.get(pid) ?? []).map(renderDot).join('')}</td>`,
    );
    const depth = depths.get(pid) ?? 0;
    const branch = depth === 0 ? '' : '<span class="branch"></span>';
    return `<tr><th class="process" style="--depth:${depth}">${branch}<div>${name}${note}</div></th>${cells.join('')}</tr>`;
  });
  return `<div class="scroll"><table class="matrix"><thead><tr><th class="process">process</th>${heads.join('')}</tr></thead><tbody>\n${rows.join('\n')}\n</tbody></table></div>`;
}

const shorten = (text: string): string => (text.length > 60 ? `${text.slice(0, 59)}…` : text);

function renderDot(record: DescriptorRecord): string {
  const classes = [
    'dot',
    isHandedDown(record) ? 'leak' : '',
    record.closeOnExec === true ? 'sealed' : '',
  ];
  return `<span class="${classes.filter((name) => name !== '').join(' ')}">${describeNumber(record)}</span>`;
}

function renderShared(shared: readonly Shared[]): string {
  if (shared.length === 0) return '<p>Nothing.</p>';
  const rows = shared.map(({ label, kind, what, numbers, leaks }) => {
    const holders = [...numbers].map(
      ([pid, records]) =>
        `<a href="#process-${pid}">${pid}</a>:${records.map(describeNumber).join(',')}`,
    );
    return `<tr id="object-${label}" class="${leaks ? 'leak' : ''}"><th>${label}</th><td>${escape(kind)}</td><td class="what">${escape(what)}</td><td>${holders.join(' ')}</td></tr>`;
  });
  return `<table><thead><tr><th></th><th>kind</th><th>what</th><th>process:number</th></tr></thead><tbody>${rows.join('\n')}</tbody></table>`;
}

function renderDetails(audit: ProcessAudit, shared: readonly Shared[]): string {
  const { pid, descriptors, unreadable } = audit;
  const labels = new Map(
    shared.flatMap(({ label, numbers }) =>
      (numbers.get(pid) ?? []).map((record) => [record, label] as const),
    ),
  );
  const rows = descriptors.map((record) => {
    const { fd, thread, kind, access, closeOnExec, origin } = record;
    const came = origin === undefined ? '' : origin.inherited ? 'inherited' : 'its own';
    const stays = closeOnExec === null ? 'not known' : closeOnExec ? 'closed' : 'kept';
    const number = thread === undefined ? fd : `${fd} (thread ${thread})`;
    return `<tr class="${isHandedDown(record) ? 'leak' : ''}"><th>${number}</th><td>${labels.get(record) ?? ''}</td><td>${kind}</td><td>${access}</td><td>${stays}</td><td>${came}</td><td class="what">${escape(describeTarget(record))}</td></tr>`;
  });
  const why = unreadable === undefined ? '' : `<p class="unknown">${escape(unreadable)}</p>`;
  return `<section id="process-${pid}"><h3>${escape(describeProcess(audit))}</h3>${why}<table><thead><tr><th>number</th><th>object</th><th>kind</th><th>access</th><th>at exec</th><th>origin</th><th>what</th></tr></thead><tbody>${rows.join('\n')}</tbody></table></section>`;
}

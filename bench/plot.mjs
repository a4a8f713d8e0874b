// Draws lines over a linear x and a logarithmic y as SVG, each named at its end.

const WIDTH = 760;
const HEIGHT = 440;
const AREA = { left: 78, right: 540, top: 66, bottom: 380 };
const LABEL_HEIGHT = 17;
const INK = '#24292f';
const FAINT = '#d8dee4';
const FONT = 'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"';

function escapeText(text) {
  return String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function write(x, y, text, { size = 12, fill = INK, anchor = 'start', weight = 'normal' } = {}) {
  const style = `font-size="${size}" fill="${fill}" text-anchor="${anchor}" font-weight="${weight}"`;
  return `<text x="${at(x)}" y="${at(y)}" ${style}>${escapeText(text)}</text>`;
}

const at = (value) => Number(value.toFixed(1));

/** Moves labels apart that would lie on each other, keeping their order. */
function spread(labels) {
  const sorted = labels.toSorted((a, b) => a.y - b.y);
  for (let pass = 0; pass < 200; pass++) {
    for (let i = 1; i < sorted.length; i++) {
      const overlap = sorted[i - 1].y + LABEL_HEIGHT - sorted[i].y;
      if (overlap <= 0.01) continue;
      sorted[i - 1].y -= overlap / 2;
      sorted[i].y += overlap / 2;
    }
  }
  return sorted;
}

/**
 * `lines`: { label, color, strong, points: [[x, y], …] }, y above 0; `ticks`: [x, text] each;
 * `formatValue`: what stands for a y.
 */
export function drawPlot({ title, subtitle, xTitle, yTitle, ticks, lines, formatValue }) {
  const xs = ticks.map(([x]) => x);
  const ys = lines.flatMap(({ points }) => points.map(([, y]) => y));
  const [lowest, highest] = [Math.min(...ys), Math.max(...ys)].map(Math.log10);
  const [floor, ceiling] = [Math.floor(lowest), Math.ceil(highest)];
  const scaleX = (x) => AREA.left + (x / Math.max(...xs)) * (AREA.right - AREA.left);
  const scaleY = (y) =>
    AREA.bottom - ((Math.log10(y) - floor) / (ceiling - floor)) * (AREA.bottom - AREA.top);

  const parts = [
    write(AREA.left, 24, title, { size: 16, weight: 'bold' }),
    write(AREA.left, 44, subtitle, { fill: '#57606a' }),
    write((AREA.left + AREA.right) / 2, HEIGHT - 18, xTitle, { anchor: 'middle' }),
    `<g transform="rotate(-90 16 ${(AREA.top + AREA.bottom) / 2})">` +
      `${write(16, (AREA.top + AREA.bottom) / 2, yTitle, { anchor: 'middle' })}</g>`,
  ];
  for (let power = floor; power <= ceiling; power++) {
    const y = at(scaleY(10 ** power));
    parts.push(
      `<path d="M${AREA.left} ${y}H${AREA.right}" stroke="${FAINT}"/>`,
      write(AREA.left - 8, y + 4, formatValue(10 ** power), { anchor: 'end' }),
    );
  }
  for (const [x, text] of ticks) {
    const place = at(scaleX(x));
    parts.push(
      `<path d="M${place} ${AREA.bottom}v5" stroke="${INK}"/>`,
      write(place, AREA.bottom + 20, text, { anchor: 'middle' }),
    );
  }
  for (const { color, strong, points } of lines) {
    const path = points.map(([x, y]) => `${at(scaleX(x))} ${at(scaleY(y))}`).join('L');
    parts.push(
      `<path d="M${path}" fill="none" stroke="${color}" stroke-width="${strong ? 3 : 1.6}"/>`,
      ...points.map(
        ([x, y]) =>
          `<circle cx="${at(scaleX(x))}" cy="${at(scaleY(y))}" r="${strong ? 4 : 2.6}" fill="${color}"/>`,
      ),
    );
  }
  const labels = lines.map(({ label, color, strong, points }) => {
    const [x, y] = points.at(-1);
    return { label, color, strong, value: y, end: scaleX(x), y: scaleY(y), from: scaleY(y) };
  });
  for (const { label, color, strong, value, end, y, from } of spread(labels)) {
    parts.push(
      `<path d="M${at(end + 6)} ${at(from)}L${AREA.right + 18} ${at(y)}" stroke="${color}" stroke-width="0.8" stroke-dasharray="2 2" fill="none"/>`,
      write(AREA.right + 22, y + 4, `${label}  ${formatValue(value)}`, {
        fill: color,
        weight: strong ? 'bold' : 'normal',
      }),
    );
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" ${FONT} role="img">`,
    `<title>${escapeText(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

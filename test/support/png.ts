// Which colours a PNG has: enough of the format for what browsers write.
import { readFileSync } from 'node:fs';
import { inflateSync } from 'node:zlib';

/** How many pixels of each colour, as '#rrggbb'. */
export function countColours(file: string): Map<string, number> {
  const { width, height, channels, data } = decode(readFileSync(file));
  const counts = new Map<string, number>();
  for (let at = 0; at < width * height * channels; at += channels) {
    const colour = `#${data.toString('hex', at, at + 3)}`;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  return counts;
}

function decode(png: Buffer): { width: number; height: number; channels: number; data: Buffer } {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const [depth, type] = [png[24], png[25]];
  if (depth !== 8 || (type !== 2 && type !== 6)) throw new Error('neither RGB nor RGBA of 8 bits');
  const channels = type === 6 ? 4 : 3;
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const data = unfilter(inflateSync(Buffer.concat(parts)), width * channels, height, channels);
  return { width, height, channels, data };
}

function unfilter(raw: Buffer, stride: number, height: number, channels: number): Buffer {
  const out = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x++) {
      const value = raw[y * (stride + 1) + 1 + x] ?? 0;
      const left = x >= channels ? (out[y * stride + x - channels] ?? 0) : 0;
      const up = y > 0 ? (out[(y - 1) * stride + x] ?? 0) : 0;
      const corner = y > 0 && x >= channels ? (out[(y - 1) * stride + x - channels] ?? 0) : 0;
      out[y * stride + x] = value + predict(filter, left, up, corner);
    }
  }
  return out;
}

function predict(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

// What a 64-bit ELF file, elf(5), asks of the system that is to load it.

const SHT_DYNSYM = 11;
const SHT_GNU_VERNEED = 0x6ffffffe;
const SHT_GNU_VERSYM = 0x6fffffff;
const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const STB_WEAK = 2;
const MACHINES = { 62: 'x64', 183: 'arm64' };

/** A string that ends at its first NUL. */
function readString(bytes, offset) {
  return bytes.toString('latin1', offset, bytes.indexOf(0, offset));
}

/** A table of equal entries; `read` is given the offset of each. */
function readTable(offset, size, count, read) {
  return Array.from({ length: count }, (_, index) => read(offset + index * size));
}

function readSections(bytes) {
  const number = (at) => Number(bytes.readBigUInt64LE(at));
  return readTable(number(40), bytes.readUInt16LE(58), bytes.readUInt16LE(60), (at) => ({
    type: bytes.readUInt32LE(at + 4),
    offset: number(at + 24),
    size: number(at + 32),
    link: bytes.readUInt32LE(at + 40),
    count: bytes.readUInt32LE(at + 44),
    entrySize: number(at + 56),
  }));
}

/** Versions by the index that symbols name them by. */
function readNeededVersions(bytes, section, strings) {
  const versions = new Map();
  let entry = section.offset;
  for (let left = section.count; left > 0; left -= 1) {
    let version = entry + bytes.readUInt32LE(entry + 8);
    for (let more = bytes.readUInt16LE(entry + 2); more > 0; more -= 1) {
      const name = readString(bytes, strings.offset + bytes.readUInt32LE(version + 8));
      versions.set(bytes.readUInt16LE(version + 6), name);
      version += bytes.readUInt32LE(version + 12);
    }
    entry += bytes.readUInt32LE(entry + 12);
  }
  return versions;
}

/**
 * @param {Buffer} bytes the whole file
 * @returns {{
 *   machine: string | undefined,
 *   isDynamic: boolean,
 *   versions: string[],
 *   unversioned: string[],
 * }} `machine`: Node's name of the architecture. `isDynamic`: a loader has to find libraries for it.
 *   `versions`: of the symbols that libraries must have, such as `GLIBC_2.17`. `unversioned`: symbols
 *   that must be there in whatever version; weak ones may be absent and are not listed
 * @throws {Error} where it is no 64-bit little-endian ELF file
 */
export function readElf(bytes) {
  if (bytes.readUInt32BE(0) !== 0x7f454c46 || bytes[4] !== 2 || bytes[5] !== 1) {
    throw new Error('not a 64-bit little-endian ELF file');
  }
  const segments = readTable(
    Number(bytes.readBigUInt64LE(32)),
    bytes.readUInt16LE(54),
    bytes.readUInt16LE(56),
    (at) => bytes.readUInt32LE(at),
  );
  const sections = readSections(bytes);
  const sectionOf = (type) => sections.find((section) => section.type === type);

  const needed = sectionOf(SHT_GNU_VERNEED);
  const versions = needed ? readNeededVersions(bytes, needed, sections[needed.link]) : new Map();

  const unversioned = [];
  const symbols = sectionOf(SHT_DYNSYM);
  const versionOf = sectionOf(SHT_GNU_VERSYM);
  for (let i = 1; symbols !== undefined && i < symbols.size / symbols.entrySize; i += 1) {
    const at = symbols.offset + i * symbols.entrySize;
    const isDefined = bytes.readUInt16LE(at + 6) !== 0;
    const isWeak = bytes[at + 4] >> 4 === STB_WEAK;
    const index = versionOf ? bytes.readUInt16LE(versionOf.offset + i * 2) & 0x7fff : 0;
    if (isDefined || isWeak || versions.has(index)) continue;
    unversioned.push(readString(bytes, sections[symbols.link].offset + bytes.readUInt32LE(at)));
  }
  return {
    machine: MACHINES[bytes.readUInt16LE(18)],
    isDynamic: segments.includes(PT_DYNAMIC) || segments.includes(PT_INTERP),
    versions: [...new Set(versions.values())],
    unversioned,
  };
}

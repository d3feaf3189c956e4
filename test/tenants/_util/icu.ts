/** The zone rules that are in Node.js itself, as a file that `ICU_TIMEZONE_FILES_DIR` takes in their place. */
import fs from 'node:fs';

const itemName = /^icudt\d+l\/zoneinfo64\.res$/;

/** Undefined where this Node.js has its ICU elsewhere. */
export function readZoneRules(): Buffer | undefined {
  const program = fs.readFileSync(process.execPath);
  for (let format = program.indexOf('CmnD'); format >= 0; format = program.indexOf('CmnD', format + 1)) {
    const header = format - 12;
    if (program.readUInt16BE(header + 2) !== 0xda27) continue;
    const contents = header + program.readUInt16LE(header);
    const count = program.readUInt32LE(contents);
    const item = (index: number) => contents + 4 + index * 8;
    for (let index = 0; index + 1 < count; index++) {
      const name = contents + program.readUInt32LE(item(index));
      if (!itemName.test(program.toString('latin1', name, program.indexOf(0, name)))) continue;
      const [begin, end] = [item(index), item(index + 1)].map((at) => contents + program.readUInt32LE(at + 4));
      return Buffer.from(program.subarray(begin, end));
    }
  }
  return undefined;
}

const asIntegers = (numbers: readonly number[]) => Buffer.from(new Int32Array(numbers).buffer);

/** Of a release that there is none of: Nepal is a minute further from UTC. */
export function rewriteZoneRules(rules: Buffer, release: string): Buffer {
  const changed = Buffer.from(rules);
  // Seconds from UTC and of summer time: local time, until 1986, and since then.
  const nepal = changed.indexOf(asIntegers([20_476, 0, 19_800, 0, 20_700, 0]));
  changed.writeInt32LE(20_700 + 60, nepal + 16);
  changed.write(release, changed.indexOf(Buffer.from(process.versions.tz ?? '', 'utf16le')), 'utf16le');
  return changed;
}
